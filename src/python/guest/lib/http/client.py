"""The standard library's module, whose connections are requests by way of the fetch capability."""

import functools

from glovebox import _sockets, _standard

_standard.evaluate(__name__, globals())
_init, _connect = HTTPConnection.__init__, HTTPSConnection.connect  # noqa: F821


@functools.wraps(_init)
def __init__(self, *args, **named):
    _init(self, *args, **named)
    self._create_connection = _sockets.connect


@functools.wraps(_connect)
def connect(self):
    if self._create_connection is not _sockets.connect:
        return _connect(self)
    super(HTTPSConnection, self).connect()  # noqa: F821
    self.sock = self.sock.secured()


HTTPConnection.__init__ = __init__  # noqa: F821
HTTPSConnection.connect = connect  # noqa: F821
del __init__, connect
