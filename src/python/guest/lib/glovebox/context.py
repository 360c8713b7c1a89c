"""What a tool is told of its call, and what it may ask of the host."""


from . import _host


class _Capability:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, method):
        if method.startswith("_"):
            raise AttributeError(method)

        def call(*args, **named):
            """The arguments as one object, or by their names."""
            if len(args) > 1 or (args and named):
                raise TypeError(f"{self._name}.{method} takes one object, or named arguments")
            return _host.ask(self._name, method, args[0] if args else named or None)

        return call


class _Secrets:
    """`host.secrets.API_KEY`: a placeholder. The host puts the value in its place, in requests; no tool ever sees it."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return f"glovebox.secret.{name}."

    __getitem__ = __getattr__


class Host:
    """`host.<capability>.<method>(...)`: any name may be asked for; the host decides what is granted."""

    secrets = _Secrets()

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return _Capability(name)


class Context:
    """The second argument of a tool that takes one."""

    host = Host()

    @property
    def call_id(self):
        return _host.host.call_id()

    def progress(self, progress, total=None, message=None):
        """Tells whoever waits for the call how far it has come."""
        _host.host.progress(progress, total, message)
