"""The client of `aiohttp`, as far as tools use it, over the fetch capability of the sandbox."""

import base64
import json as jsons
from http import HTTPStatus
from urllib.parse import urlencode, urljoin, urlsplit

from glovebox import _bodies, _cookies, _headers, _web
from glovebox._verbs import Verbs

__version__ = "3.12.0"


class ClientError(Exception):
    pass


class ClientConnectionError(ClientError):
    pass


class ClientOSError(ClientConnectionError, OSError):
    pass


class ClientConnectorError(ClientOSError):
    pass


class ServerConnectionError(ClientConnectionError):
    pass


class ServerDisconnectedError(ServerConnectionError):
    pass


class ServerTimeoutError(ServerConnectionError, TimeoutError):
    pass


class ConnectionTimeoutError(ServerTimeoutError):
    pass


class ClientPayloadError(ClientError):
    pass


class InvalidURL(ClientError, ValueError):
    pass


class ClientResponseError(ClientError):
    def __init__(self, request_info, history, *, status=0, message="", headers=None):
        super().__init__(request_info, history)
        self.request_info = request_info
        self.history = history
        self.status = self.code = status
        self.message = message
        self.headers = headers

    def __str__(self):
        return f"{self.status}, message={self.message!r}, url={self.request_info.url!r}"


class ContentTypeError(ClientResponseError):
    pass


class TooManyRedirects(ClientResponseError):
    pass


_KINDS = {
    "url": InvalidURL,
    "connect": ConnectionTimeoutError,
    "read": ServerTimeoutError,
    "encoding": ClientPayloadError,
    "body": ClientPayloadError,
}


class ClientTimeout:
    def __init__(self, total=None, connect=None, sock_read=None, sock_connect=None):
        self.total = total
        self.connect = connect
        self.sock_read = sock_read
        self.sock_connect = sock_connect


class BasicAuth:
    def __init__(self, login, password="", encoding="latin1"):
        self.login = login
        self.password = password
        self.encoding = encoding

    def encode(self):
        return f"Basic {base64.b64encode(f'{self.login}:{self.password}'.encode(self.encoding)).decode()}"


class TCPConnector:
    """There is one way to the network, whatever is asked for here."""

    def __init__(self, **ignored):
        pass

    async def close(self):
        pass


class CookieJar(_cookies.Jar):
    def __init__(self, cookies=None, **ignored):
        super().__init__(cookies)


class FormData:
    def __init__(self, fields=()):
        self._data = list(fields.items() if hasattr(fields, "items") else fields)
        self._files = []

    def add_field(self, name, value, *, content_type=None, filename=None):
        if filename is None and content_type is None and not hasattr(value, "read"):
            self._data.append((name, value))
        else:
            self._files.append((name, (filename or name, value, content_type)))

    def encode(self):
        if self._files:
            return _bodies.encode_multipart(self._data, self._files)
        return _bodies.encode_form(self._data).encode(), _bodies.FORM


class RequestInfo:
    def __init__(self, hop):
        self.url = self.real_url = hop.url
        self.method = hop.method
        self.headers = hop.headers


class _Content:
    """`response.content`: the body as it comes."""

    def __init__(self, response):
        self._response = response
        self._rest = b""

    async def read(self, n=-1):
        while n < 0 or len(self._rest) < n:
            chunk = await self._response._next()
            if chunk is None:
                break
            self._rest += chunk
            if n >= 0:
                break
        size = len(self._rest) if n < 0 else n
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    async def iter_any(self):
        while chunk := await self.read():
            yield chunk

    async def iter_chunked(self, n):
        while chunk := await self.read(n):
            yield chunk

    async def readline(self):
        while b"\n" not in self._rest and (chunk := await self._response._next()) is not None:
            self._rest += chunk
        line, end, self._rest = self._rest.partition(b"\n")
        return line + end

    async def __aiter__(self):
        while line := await self.readline():
            yield line


class ClientResponse:
    def __init__(self, exchange, history=(), content=None):
        self._exchange = exchange
        self._body = content
        self.request_info = RequestInfo(exchange.request)
        self.method = exchange.request.method
        self.status = exchange.status
        self.reason = exchange.reason or _phrase(exchange.status)
        self.url = self.real_url = exchange.url
        self.headers = _headers.Headers(exchange.headers)
        self.history = tuple(history)
        self.content = _Content(self)
        self.cookies = _cookies.Jar()
        self.cookies.store(exchange.url, exchange.headers)

    @property
    def ok(self):
        return self.status < 400

    @property
    def host(self):
        return urlsplit(self.url).hostname

    @property
    def content_type(self):
        return self.headers.get_content_type() if "content-type" in self.headers else "application/octet-stream"

    @property
    def charset(self):
        return _bodies.charset_of(self.headers)

    @property
    def content_length(self):
        length = self.headers.get("content-length", "")
        return int(length) if length.isdigit() else None

    def get_encoding(self):
        return self.charset or "utf-8"

    async def read(self):
        if self._body is None:
            self._body = await self.content.read()
        return self._body

    async def text(self, encoding=None, errors="strict"):
        return (await self.read()).decode(encoding or self.get_encoding(), errors)

    async def json(self, *, encoding=None, loads=jsons.loads, content_type="application/json"):
        kind = self.content_type
        if content_type and not (kind == content_type or (content_type == "application/json" and kind.endswith("+json"))):
            message = f"Attempt to decode JSON with unexpected mimetype: {kind}"
            raise ContentTypeError(
                self.request_info, self.history, status=self.status, message=message, headers=self.headers
            )
        text = (await self.text(encoding)).strip()
        return loads(text) if text else None

    def raise_for_status(self):
        if not self.ok:
            self.close()
            raise ClientResponseError(
                self.request_info, self.history, status=self.status, message=self.reason, headers=self.headers
            )

    def close(self):
        self._exchange.close()

    def release(self):
        self.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *args):
        self.close()

    def __repr__(self):
        return f"<ClientResponse({self.url}) [{self.status} {self.reason}]>"

    async def _next(self):
        try:
            return await self._exchange.chunk()
        except _web.Failure as failure:
            raise _error_of(failure) from failure.cause


class _Sending:
    """What a session's methods return: it is waited for, or entered."""

    def __init__(self, coroutine):
        self._coroutine = coroutine
        self._response = None

    def __await__(self):
        return self._coroutine.__await__()

    async def __aenter__(self):
        self._response = await self._coroutine
        return self._response

    async def __aexit__(self, *args):
        self._response.close()


class ClientSession(Verbs):
    def __init__(
        self,
        base_url=None,
        *,
        headers=None,
        cookies=None,
        cookie_jar=None,
        auth=None,
        timeout=None,
        raise_for_status=False,
        connector=None,
        json_serialize=jsons.dumps,
        **ignored,
    ):
        self._base_url = str(base_url) if base_url else None
        self.headers = _headers.Headers(headers)
        self.cookie_jar = cookie_jar if isinstance(cookie_jar, _cookies.Jar) else CookieJar()
        self.cookie_jar.update(cookies or {})
        self.auth = auth
        self.timeout = timeout
        self.closed = False
        self._raises = raise_for_status
        self._json_serialize = json_serialize

    async def __aenter__(self):
        return self

    async def __aexit__(self, *args):
        await self.close()

    async def close(self):
        self.closed = True

    def request(self, method, url, **named):
        return _Sending(self._request(method, url, **named))

    def head(self, url, *, allow_redirects=False, **named):
        return super().head(url, allow_redirects=allow_redirects, **named)

    async def _request(
        self,
        method,
        url,
        *,
        params=None,
        data=None,
        json=None,
        headers=None,
        cookies=None,
        auth=None,
        allow_redirects=True,
        max_redirects=10,
        timeout=None,
        raise_for_status=None,
        **ignored,
    ):
        if self.closed:
            raise RuntimeError("Session is closed")
        url = urljoin(self._base_url, str(url)) if self._base_url else str(url)
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidURL(url)
        if params:
            query = params if isinstance(params, str) else urlencode(params, doseq=True)
            url = parts._replace(query="&".join(one for one in (parts.query, query) if one)).geturl()
        sent = _headers.Headers(self.headers)
        sent.update(_headers.Headers(headers))
        body, kind = _encode(data, json, self._json_serialize)
        if kind is not None and "content-type" not in sent:
            sent["Content-Type"] = kind
        if (auth or self.auth) is not None:
            sent["Authorization"] = (auth or self.auth).encode()
        self.cookie_jar.update(cookies or {})
        hop = _web.Hop(method.upper(), url, sent, body)
        redirects = max_redirects if allow_redirects else None
        seconds = _seconds(self.timeout if timeout is None else timeout)
        try:
            exchange, before = await _web.follow(_web.waiting, hop, seconds, redirects, self.cookie_jar)
        except _web.Failure as failure:
            if failure.kind == "redirects":
                raise TooManyRedirects(RequestInfo(hop), (), message=str(failure)) from None
            raise _error_of(failure) from failure.cause
        response = ClientResponse(exchange, [ClientResponse(one, content=content) for one, content in before])
        if self._raises if raise_for_status is None else raise_for_status:
            response.raise_for_status()
        return response


def request(method, url, **named):
    return ClientSession().request(method, url, **named)


def _encode(data, json, serialize):
    if json is not None:
        return serialize(json).encode(), "application/json"
    if data is None:
        return None, None
    if isinstance(data, dict) or (isinstance(data, (list, tuple)) and data and isinstance(data[0], tuple)):
        form = FormData()
        for name, value in data.items() if isinstance(data, dict) else data:
            form.add_field(name, value)
        data = form
    if isinstance(data, FormData):
        return data.encode()
    return _bodies.to_bytes(data), "text/plain; charset=utf-8" if isinstance(data, str) else "application/octet-stream"


def _seconds(timeout):
    if not isinstance(timeout, ClientTimeout):
        return timeout
    return timeout.total or timeout.sock_read


def _error_of(failure):
    return failure.as_error(_KINDS.get(failure.kind, ClientConnectorError)(str(failure)))


def _phrase(status):
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
