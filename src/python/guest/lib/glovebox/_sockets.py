"""What `http.client` has instead of sockets: they read the requests that are written to them, and ask the host for answers."""

import io
import socket
from http import HTTPStatus

from . import _web
from ._headers import Headers

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_SCHEMES = ("http://", "https://")
_PORTS = {"http": 80, "https": 443}
_TUNNEL = b"HTTP/1.1 200 OK\r\n\r\n"
# Of a connection, which is the host's own.
OF_HOPS = frozenset(("connection", "content-length", "host", "transfer-encoding"))
# Of a body as it was sent: the host has decoded it.
_OF_BODIES = frozenset(("content-encoding", "content-length"))


def connect(address, timeout=socket._GLOBAL_DEFAULT_TIMEOUT, source_address=None):
    """Stands for `socket.create_connection`. Nothing is connected before a request is there."""
    return FetchSocket(address, socket.getdefaulttimeout() if timeout is socket._GLOBAL_DEFAULT_TIMEOUT else timeout)


class FetchSocket:
    def __init__(self, address, timeout):
        self._scheme = "http"
        self._address = address
        self._timeout = timeout
        self._written = bytearray()
        self._head = None
        self._body = None
        self._answers = []

    def secured(self):
        """The same for `https`: the host encrypts."""
        self._scheme = "https"
        return self

    def sendall(self, data):
        with memoryview(data) as view:
            self._written += view.cast("B")
        while self._head is not None or b"\r\n\r\n" in self._written:
            if self._head is None:
                self._begin()
            if not self._body.take(self._written):
                return
            self._send()

    send = sendall

    def makefile(self, *args, **named):
        if self._head is not None:
            # The request is shorter than its head says, and nothing more of it will come.
            self._send()
        return io.BufferedReader(self._answers.pop(0) if self._answers else io.BytesIO())

    def setsockopt(self, *args):
        pass

    def settimeout(self, timeout):
        self._timeout = timeout

    def gettimeout(self):
        return self._timeout

    def shutdown(self, how):
        pass

    def close(self):
        """An answer that somebody reads outlives the connection that it came by."""
        while self._answers:
            self._answers.pop().close()

    def _begin(self):
        head, _, self._written = self._written.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = [*first.split(" ", 2), "", ""][:3]
        pairs = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        headers = Headers(pairs)
        self._head = method, target, Headers([pair for pair in pairs if pair[0].lower() not in OF_HOPS])
        is_chunked = headers.get("transfer-encoding", "").lower().endswith("chunked")
        self._body = _Chunked() if is_chunked else _Plain(headers.get("content-length", "0"))

    def _send(self):
        (method, target, headers), body = self._head, bytes(self._body.content)
        self._head = self._body = None
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            self._address = host.removeprefix("[").removesuffix("]"), int(port)
            self._answers.append(io.BytesIO(_TUNNEL))
            return
        hop = _web.Hop(method, self._url(target), headers, body or None)
        try:
            exchange = _web.at_once(_web.Exchange(_web.blocking, hop, self._timeout).send())
        except _web.Failure as failure:
            error = failure.as_error(_error_of(failure))
            if failure.kind != "read":
                raise error from failure.cause
            # Of what was sent an answer is waited for later.
            self._answers.append(_Late(error))
        else:
            self._answers.append(_Answer(exchange))

    def _url(self, target):
        if target.startswith(_SCHEMES):
            # For a proxy, which only the host has.
            return target
        host, port = self._address
        name = f"[{host}]" if ":" in host else host
        origin = name if port == _PORTS[self._scheme] else f"{name}:{port}"
        return f"{self._scheme}://{origin}{target if target.startswith('/') else f'/{target}'}"


class _Plain:
    """A body of a known length."""

    def __init__(self, length):
        self._length = int(length) if length.isdecimal() else 0
        self.content = bytearray()

    def take(self, written):
        """Takes from what was written what belongs to the body. Returns whether that has ended."""
        size = self._length - len(self.content)
        self.content += written[:size]
        del written[:size]
        return len(self.content) == self._length


class _Chunked:
    """A body in pieces, each of which says its length."""

    def __init__(self):
        self.content = bytearray()

    def take(self, written):
        while (end := written.find(b"\r\n")) >= 0:
            size = int(bytes(written[:end]).partition(b";")[0], 16)
            if len(written) < end + size + 4:
                return False
            self.content += written[end + 2 : end + 2 + size]
            del written[: end + size + 4]
            if size == 0:
                return True
        return False


class _Answer(io.RawIOBase):
    """An answer as a server would have written it."""

    def __init__(self, exchange):
        self._exchange = exchange
        self._rest = _head_of(exchange)

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self._rest:
            chunk = self._chunk()
            if chunk is None:
                return 0
            self._rest = chunk
        piece, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self):
        if not self.closed:
            self._exchange.close()
        super().close()

    def _chunk(self):
        try:
            chunk = _web.at_once(self._exchange.chunk())
        except _web.Failure as failure:
            kind = TimeoutError if failure.kind in ("read", "connect") else OSError
            raise failure.as_error(kind(str(failure))) from failure.cause
        return None if chunk is None else memoryview(chunk)


class _Late(io.RawIOBase):
    """An answer that did not come in time."""

    def __init__(self, error):
        self._error = error

    def readable(self):
        return True

    def readinto(self, buffer):
        raise self._error


def answered(exchange):
    """The headers of an answer, without those that say how its body was sent: the host has decoded it."""
    dropped = {"transfer-encoding"}
    if exchange.request.method != "HEAD" and "content-encoding" in exchange.headers:
        dropped |= _OF_BODIES
    secrets = exchange.request.secrets()
    return [
        (name, _web.without_secrets(value, secrets) if name.lower() == "location" else value)
        for name, value in exchange.headers.multi_items()
        if name.lower() not in dropped
    ]


def _head_of(exchange):
    reason = exchange.reason or _PHRASES.get(exchange.status, "")
    lines = [f"HTTP/1.1 {exchange.status} {reason}", *(f"{name}: {value}" for name, value in answered(exchange))]
    return memoryview("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))


def _error_of(failure):
    """What a socket would have raised."""
    if failure.kind in ("read", "connect"):
        return TimeoutError(str(failure))
    return PermissionError(str(failure)) if failure.kind == "denied" else ConnectionError(str(failure))
