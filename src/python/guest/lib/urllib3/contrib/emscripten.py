"""How urllib3 itself reaches the network in Emscripten: it asks a module of this name for its connections."""

import urllib3.connection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from glovebox import _sockets


class _Connection:
    """Made of requests by way of the fetch capability."""

    def _new_conn(self):
        return _sockets.connect((self._dns_host, self.port), self.timeout)

    @property
    def is_connected(self):
        return self.sock is not None


class HTTPConnection(_Connection, urllib3.connection.HTTPConnection):
    pass


class HTTPSConnection(_Connection, urllib3.connection.HTTPSConnection):
    def connect(self):
        # The host encrypts, and checks who answers.
        self.sock = self._new_conn().secured()
        self._has_connected_to_proxy = bool(self.proxy)
        self.is_verified = True


def inject_into_urllib3():
    HTTPConnectionPool.ConnectionCls = urllib3.connection.HTTPConnection = HTTPConnection
    HTTPSConnectionPool.ConnectionCls = urllib3.connection.HTTPSConnection = HTTPSConnection
    urllib3.connection.VerifiedHTTPSConnection = HTTPSConnection
