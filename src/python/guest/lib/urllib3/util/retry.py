"""Which requests are made again."""

_IDEMPOTENT = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PUT", "TRACE"})
_PAUSE_MAX = 120


class Retry:
    DEFAULT_ALLOWED_METHODS = _IDEMPOTENT

    def __init__(
        self,
        total=10,
        connect=None,
        read=None,
        redirect=None,
        status=None,
        other=None,
        allowed_methods=_IDEMPOTENT,
        status_forcelist=(),
        backoff_factor=0,
        backoff_max=_PAUSE_MAX,
        raise_on_status=True,
        **ignored,
    ):
        self.total = int(total or 0) if status is None else min(int(total or 0), int(status or 0))
        self.allowed_methods = allowed_methods
        self.status_forcelist = frozenset(status_forcelist or ())
        self.backoff_factor = backoff_factor
        self.backoff_max = backoff_max
        self.raise_on_status = raise_on_status

    def is_due(self, attempt, method, status=None):
        """Whether a request that failed `attempt` times, or was answered so, is made again."""
        if attempt > self.total:
            return False
        if status is None:
            return self._allows(method)
        return status in self.status_forcelist and self._allows(method)

    def pause(self, attempt):
        """How long is waited before, in seconds."""
        return 0 if attempt <= 1 else min(self.backoff_max, self.backoff_factor * 2 ** (attempt - 1))

    def _allows(self, method):
        return not self.allowed_methods or method in self.allowed_methods
