"""What carries requests: the host's `fetch`."""

from urllib3.util.retry import Retry

from glovebox import _web

from .exceptions import of_failure
from .models import response_of

DEFAULT_POOLSIZE = 10
DEFAULT_RETRIES = 0


class BaseAdapter:
    def send(self, request, stream=False, timeout=None, verify=True, cert=None, proxies=None):
        raise NotImplementedError

    def close(self):
        pass


class HTTPAdapter(BaseAdapter):
    """`max_retries`: a number, or urllib3's `Retry`. The session heeds it."""

    def __init__(self, pool_connections=DEFAULT_POOLSIZE, pool_maxsize=DEFAULT_POOLSIZE, max_retries=0, pool_block=False):
        self.max_retries = max_retries if isinstance(max_retries, Retry) else Retry(total=max_retries, status_forcelist=())

    def send(self, request, stream=False, timeout=None, verify=True, cert=None, proxies=None):
        """One hop, as adapters of a tool's own call it."""
        hop = _web.Hop(request.method, request.url, request.headers, request.body)
        try:
            return response_of(_web.at_once(_web.Exchange(_web.blocking, hop, seconds_of(timeout)).send()), request)
        except _web.Failure as failure:
            raise of_failure(failure, request) from failure.cause


def seconds_of(timeout):
    """How long an answer is waited for: for a connection and for it."""
    if not isinstance(timeout, (tuple, list)):
        return timeout
    connect, read = timeout
    return None if read is None else (connect or 0) + read
