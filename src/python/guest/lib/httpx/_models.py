"""Requests and responses."""

import base64
import datetime
import json as jsons
from http import HTTPStatus
from urllib.parse import urlencode

from glovebox import _bodies, _cookies, _headers, _web

from . import _exceptions as exceptions
from ._urls import URL, QueryParams

class Headers(_headers.Headers):
    def multi(self):
        return self.multi_items()

    @property
    def raw(self):
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.multi_items()]


class Cookies(_cookies.Jar):
    pass


class Request:
    def __init__(
        self, method, url, *, params=None, headers=None, cookies=None, content=None, data=None, files=None, json=None, extensions=None
    ):
        self.method = method.upper()
        self.url = URL(url) if params is None else URL(url).copy_merge_params(params)
        self.headers = Headers(headers)
        self.extensions = extensions or {}
        if cookies:
            self.headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in dict(cookies.items()).items())
        self.content, kind = _encode(content, data, files, json)
        if kind is not None and "content-type" not in self.headers:
            self.headers["Content-Type"] = kind

    def read(self):
        return self.content or b""

    def __repr__(self):
        return f"<Request({self.method!r}, {str(self.url)!r})>"


class Response:
    """What was answered, or what a test says was."""

    http_version = "HTTP/1.1"

    def __init__(self, status_code, *, headers=None, content=None, text=None, json=None, request=None, history=None):
        self.status_code = status_code
        self.headers = Headers(headers)
        self.history = history or []
        self.elapsed = datetime.timedelta(0)
        self.default_encoding = "utf-8"
        self._request = request
        self._exchange = None
        self._reason = ""
        self._encoding = None
        self.is_closed = False
        self.is_stream_consumed = False
        given = content if text is None else text
        if json is not None:
            given = jsons.dumps(json)
            self.headers.setdefault("Content-Type", "application/json")
        self._content = _bodies.to_bytes(given)

    @classmethod
    def of(cls, exchange, request, history=(), content=None):
        response = cls(exchange.status, headers=exchange.headers, request=request, history=list(history))
        response._content = content
        response._exchange = exchange
        response._reason = exchange.reason
        response.elapsed = datetime.timedelta(seconds=exchange.elapsed)
        return response

    @property
    def request(self):
        if self._request is None:
            raise RuntimeError("The request instance has not been set on this response.")
        return self._request

    @request.setter
    def request(self, request):
        self._request = request

    @property
    def url(self):
        return self.request.url if self._exchange is None else URL(self._exchange.url)

    @property
    def reason_phrase(self):
        try:
            return self._reason or HTTPStatus(self.status_code).phrase
        except ValueError:
            return ""

    @property
    def is_informational(self):
        return 100 <= self.status_code < 200

    @property
    def is_success(self):
        return 200 <= self.status_code < 300

    @property
    def is_redirect(self):
        return 300 <= self.status_code < 400

    @property
    def is_client_error(self):
        return 400 <= self.status_code < 500

    @property
    def is_server_error(self):
        return 500 <= self.status_code < 600

    @property
    def is_error(self):
        return 400 <= self.status_code < 600

    @property
    def has_redirect_location(self):
        return self.status_code in (301, 302, 303, 307, 308) and "location" in self.headers

    @property
    def content(self):
        if self._content is None:
            raise exceptions.ResponseNotRead()
        return self._content

    @property
    def charset_encoding(self):
        return _bodies.charset_of(self.headers)

    @property
    def encoding(self):
        return self._encoding or self.charset_encoding or self.default_encoding

    @encoding.setter
    def encoding(self, encoding):
        self._encoding = encoding

    @property
    def text(self):
        return _bodies.decode(self.content, self.encoding)

    @property
    def cookies(self):
        cookies = Cookies()
        cookies.store(str(self.url), self.headers)
        return cookies

    @property
    def num_bytes_downloaded(self):
        return len(self._content or b"")

    def json(self, **kwargs):
        return _bodies.read_json(self.content, **kwargs)

    def raise_for_status(self):
        request = self.request
        if self.is_success:
            return self
        kinds = {1: "Informational response", 3: "Redirect response", 4: "Client error", 5: "Server error"}
        kind = kinds.get(self.status_code // 100, "Invalid status code")
        message = f"{kind} '{self.status_code} {self.reason_phrase}' for url '{self.url}'"
        raise exceptions.HTTPStatusError(message, request=request, response=self)

    def read(self):
        if self._content is None:
            self._content = b"".join(self.iter_raw())
        return self._content

    async def aread(self):
        if self._content is None:
            self._content = b"".join([chunk async for chunk in self.aiter_raw()])
        return self._content

    def iter_raw(self, chunk_size=None):
        chunks = self._chunks()
        return chunks if chunk_size is None else _bodies.rechunked(chunks, chunk_size)

    iter_bytes = iter_raw

    def iter_text(self, chunk_size=None):
        return _bodies.decoded(self.iter_raw(chunk_size), self.encoding)

    def iter_lines(self):
        return _bodies.lines(self.iter_text())

    async def aiter_raw(self, chunk_size=None):
        if self._content is not None:
            for chunk in self.iter_raw(chunk_size):
                yield chunk
            return
        rest = b""
        self._begin()
        while (chunk := await self._next()) is not None:
            if chunk_size is None:
                yield chunk
                continue
            rest += chunk
            while len(rest) >= chunk_size:
                yield rest[:chunk_size]
                rest = rest[chunk_size:]
        if rest:
            yield rest

    aiter_bytes = aiter_raw

    async def aiter_text(self, chunk_size=None):
        decoder = _bodies.decoder(self.encoding)
        async for chunk in self.aiter_raw(chunk_size):
            if text := decoder.decode(chunk):
                yield text
        if text := decoder.decode(b"", True):
            yield text

    async def aiter_lines(self):
        lines = _bodies.Lines()
        async for text in self.aiter_text():
            for line in lines.feed(text):
                yield line
        for line in lines.end():
            yield line

    def close(self):
        self.is_closed = True
        if self._exchange is not None:
            self._exchange.close()

    async def aclose(self):
        self.close()

    def __repr__(self):
        return f"<Response [{self.status_code} {self.reason_phrase}]>"

    def _begin(self):
        if self.is_stream_consumed:
            raise exceptions.StreamConsumed()
        if self.is_closed:
            raise exceptions.StreamClosed()
        self.is_stream_consumed = True

    async def _next(self):
        try:
            return await self._exchange.chunk()
        except _web.Failure as failure:
            raise exceptions.of_failure(failure, self._request) from failure.cause

    def _chunks(self):
        if self._content is not None:
            if self._content:
                yield self._content
            return
        self._begin()
        while (chunk := _web.at_once(self._next())) is not None:
            yield chunk


class Auth:
    """`auth_flow` may change a request; it hears of no answer."""

    def auth_flow(self, request):
        yield request

    def apply(self, request):
        return next(self.auth_flow(request), request)


class BasicAuth(Auth):
    def __init__(self, username, password=""):
        self._header = f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"

    def auth_flow(self, request):
        request.headers["Authorization"] = self._header
        yield request


class DigestAuth(Auth):
    def __init__(self, username, password):
        raise NotImplementedError("the sandbox has no digest authentication: use BasicAuth, or a header of your own")


def _encode(content, data, files, json):
    if content is not None:
        return _bodies.to_bytes(content), None
    if files:
        return _bodies.encode_multipart(data, files)
    if data:
        if isinstance(data, (str, bytes)):
            return _bodies.to_bytes(data), None
        pairs = [(name, value) for name, value in QueryParams(data).multi_items()]
        return urlencode(pairs).encode(), _bodies.FORM
    if json is not None:
        return jsons.dumps(json, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(), "application/json"
    return None, None
