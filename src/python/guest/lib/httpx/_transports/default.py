"""How httpx itself reaches the network: its own transports, made of requests by way of the fetch capability."""

from httpx import _exceptions as exceptions
from httpx._models import Response
from httpx._transports.base import AsyncBaseTransport, BaseTransport
from httpx._types import AsyncByteStream, SyncByteStream

from glovebox import _sockets, _web
from glovebox._headers import Headers

_KINDS = {
    "connect": exceptions.ConnectTimeout,
    "read": exceptions.ReadTimeout,
    "encoding": exceptions.DecodingError,
    "body": exceptions.ReadError,
    "url": exceptions.UnsupportedProtocol,
}


class HTTPTransport(BaseTransport):
    """There is one way to the network, whatever is asked for here."""

    def __init__(self, *args, **ignored):
        pass

    def handle_request(self, request):
        exchange = _exchange(_web.blocking, request, request.read())
        try:
            _web.at_once(exchange.send())
        except _web.Failure as failure:
            raise _error_of(failure, request) from failure.cause
        return _response_of(exchange, _Stream(exchange, request))


class AsyncHTTPTransport(AsyncBaseTransport):
    def __init__(self, *args, **ignored):
        pass

    async def handle_async_request(self, request):
        exchange = _exchange(_web.waiting, request, await request.aread())
        try:
            await exchange.send()
        except _web.Failure as failure:
            raise _error_of(failure, request) from failure.cause
        return _response_of(exchange, _AsyncStream(exchange, request))


class _Stream(SyncByteStream):
    def __init__(self, exchange, request):
        self._exchange = exchange
        self._request = request

    def __iter__(self):
        try:
            while (chunk := _web.at_once(self._exchange.chunk())) is not None:
                yield chunk
        except _web.Failure as failure:
            raise _error_of(failure, self._request) from failure.cause

    def close(self):
        self._exchange.close()


class _AsyncStream(AsyncByteStream):
    def __init__(self, exchange, request):
        self._exchange = exchange
        self._request = request

    async def __aiter__(self):
        try:
            while (chunk := await self._exchange.chunk()) is not None:
                yield chunk
        except _web.Failure as failure:
            raise _error_of(failure, self._request) from failure.cause

    async def aclose(self):
        self._exchange.close()


def _exchange(ask, request, body):
    headers = Headers([pair for pair in request.headers.multi_items() if pair[0].lower() not in _sockets.OF_HOPS])
    hop = _web.Hop(request.method, str(request.url), headers, body or None)
    return _web.Exchange(ask, hop, _seconds_of(request.extensions.get("timeout", {})))


def _seconds_of(timeout):
    """How long an answer is waited for. With a connection that is to be made first it may take as long again."""
    read, connect = timeout.get("read"), timeout.get("connect")
    return None if read is None else read + (connect or 0) * (connect != read)


def _response_of(exchange, stream):
    extensions = {"http_version": b"HTTP/1.1", "reason_phrase": exchange.reason.encode("latin-1", "replace")}
    return Response(exchange.status, headers=_sockets.answered(exchange), stream=stream, extensions=extensions)


def _error_of(failure, request):
    return failure.as_error(_KINDS.get(failure.kind, exceptions.ConnectError)(str(failure), request=request))
