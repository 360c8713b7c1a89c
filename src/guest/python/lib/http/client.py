"""HTTP's client over the fetch capability of the sandbox: there are no sockets."""

import io
from http import HTTPStatus

from glovebox import _bodies, _web
from glovebox._headers import Headers

HTTP_PORT = 80
HTTPS_PORT = 443
responses = {status: status.phrase for status in HTTPStatus}
globals().update(HTTPStatus.__members__)


class HTTPMessage(Headers):
    """An answer's headers."""

    def getheaders(self, name):
        return self.get_list(name)


class HTTPException(Exception):
    pass


class NotConnected(HTTPException):
    pass


class InvalidURL(HTTPException):
    pass


class UnknownProtocol(HTTPException):
    pass


class IncompleteRead(HTTPException):
    def __init__(self, partial, expected=None):
        self.args = (partial,)
        self.partial = partial
        self.expected = expected


class ImproperConnectionState(HTTPException):
    pass


class CannotSendRequest(ImproperConnectionState):
    pass


class CannotSendHeader(ImproperConnectionState):
    pass


class ResponseNotReady(ImproperConnectionState):
    pass


class BadStatusLine(HTTPException):
    pass


class RemoteDisconnected(ConnectionResetError, BadStatusLine):
    pass


class HTTPResponse(io.BufferedIOBase):
    """An answer, as a file of its body."""

    version = 11

    def __init__(self, exchange):
        self._exchange = exchange
        self._rest = b""
        self.status = self.code = exchange.status
        self.reason = self.msg = exchange.reason or responses.get(exchange.status, "")
        self.headers = HTTPMessage(exchange.headers)
        self.url = exchange.url

    def readable(self):
        return True

    def read(self, amt=None):
        if amt is None or amt < 0:
            pieces = [self._rest]
            self._rest = b""
            while chunk := self._chunk():
                pieces.append(chunk)
            return b"".join(pieces)
        pieces, size = [], 0
        while size < amt and (piece := self.read1(amt - size)):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def read1(self, n=-1):
        if not self._rest:
            self._rest = self._chunk()
        piece, self._rest = (self._rest, b"") if n is None or n < 0 else (self._rest[:n], self._rest[n:])
        return piece

    def readinto(self, buffer):
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def peek(self, n=-1):
        if not self._rest:
            self._rest = self._chunk()
        return self._rest

    def getheader(self, name, default=None):
        return self.headers.get(name, default)

    def getheaders(self):
        return self.headers.multi_items()

    def info(self):
        return self.headers

    def geturl(self):
        return self.url

    def getcode(self):
        return self.status

    def isclosed(self):
        return self.closed

    def close(self):
        if not self.closed:
            self._exchange.close()
        super().close()

    def _chunk(self):
        if self.closed:
            return b""
        try:
            return _web.at_once(self._exchange.chunk()) or b""
        except _web.Failure as failure:
            kind = TimeoutError if failure.kind in ("read", "connect") else OSError
            raise failure.as_error(kind(str(failure))) from failure.cause


class HTTPConnection:
    """A request at a time to one origin. Nothing is connected before a request is sent."""

    default_port = HTTP_PORT
    _scheme = "http"

    def __init__(self, host, port=None, timeout=None, source_address=None, blocksize=8192, **ignored):
        name, _, number = host.rpartition(":") if not host.endswith("]") else ("", "", "")
        if port is None and name and number.isdigit():
            host, port = name, int(number)
        self.host = host
        self.port = port or self.default_port
        self.timeout = timeout if isinstance(timeout, (int, float)) else None
        self._put = None
        self._response = None

    def connect(self):
        pass

    def close(self):
        self._put = None

    def set_debuglevel(self, level):
        pass

    def set_tunnel(self, host, port=None, headers=None):
        raise OSError("the sandbox has no tunnels: requests go through the fetch capability")

    def request(self, method, url, body=None, headers={}, *, encode_chunked=False):
        self._send(method, url, Headers(headers), None if body is None else _bodies.to_bytes(body))

    def putrequest(self, method, url, skip_host=False, skip_accept_encoding=False):
        self._put = (method, url, Headers(), [])

    def putheader(self, header, *values):
        if self._put is None:
            raise CannotSendHeader()
        self._put[2].add(header, ", ".join(str(value) for value in values))

    def endheaders(self, message_body=None, *, encode_chunked=False):
        if message_body is not None:
            self.send(message_body)

    def send(self, data):
        if self._put is None:
            raise NotConnected()
        self._put[3].append(_bodies.to_bytes(data))

    def getresponse(self):
        if self._put is not None:
            method, url, headers, pieces = self._put
            self._put = None
            self._send(method, url, headers, b"".join(pieces) or None)
        if self._response is None:
            raise ResponseNotReady("there was no request")
        response, self._response = self._response, None
        return response

    def _send(self, method, url, headers, body):
        if any(character <= " " or character == "\x7f" for character in url):
            raise InvalidURL(f"URL can't contain control characters. {url!r}")
        is_default = self.port == self.default_port
        origin = f"{self._scheme}://{self.host}" + ("" if is_default else f":{self.port}")
        url = url if url.startswith(("http://", "https://")) else f"{origin}{url if url.startswith('/') else f'/{url}'}"
        hop = _web.Hop(method, url, headers, body)
        try:
            exchange = _web.at_once(_web.Exchange(_web.blocking, hop, self.timeout).send())
        except _web.Failure as failure:
            raise failure.as_error(error_of(failure)) from failure.cause
        self._response = HTTPResponse(exchange)


class HTTPSConnection(HTTPConnection):
    default_port = HTTPS_PORT
    _scheme = "https"


def error_of(failure):
    """What a socket would have raised."""
    if failure.kind in ("read", "connect"):
        return TimeoutError(str(failure))
    if failure.kind == "url":
        return InvalidURL(str(failure))
    if failure.kind == "denied":
        return PermissionError(str(failure))
    return ConnectionError(str(failure))
