"""Clients: what several requests have in common."""

import contextlib

from glovebox import _web
from glovebox._verbs import Verbs

from . import _exceptions as exceptions
from ._models import Auth, BasicAuth, Cookies, Headers, Request, Response
from ._urls import URL, QueryParams

_REDIRECTS_MAX = 20
_UNSET = object()


class Timeout:
    def __init__(self, timeout=_UNSET, *, connect=_UNSET, read=_UNSET, write=_UNSET, pool=_UNSET):
        if isinstance(timeout, Timeout):
            self.__dict__.update(vars(timeout))
            return
        four = timeout if isinstance(timeout, tuple) else [None if timeout is _UNSET else timeout] * 4
        given = (connect, read, write, pool)
        self.connect, self.read, self.write, self.pool = (
            usual if one is _UNSET else one for one, usual in zip(given, four)
        )

    def seconds(self):
        """How long an answer is waited for. With a connection that is to be made first it may take as long again."""
        return None if self.read is None else self.read + (self.connect or 0) * (self.connect != self.read)


class Limits:
    def __init__(self, *, max_connections=None, max_keepalive_connections=None, keepalive_expiry=5.0):
        self.max_connections = max_connections
        self.max_keepalive_connections = max_keepalive_connections
        self.keepalive_expiry = keepalive_expiry


class HTTPTransport:
    """There is one way to the network, whatever is asked for here."""

    def __init__(self, **ignored):
        pass


AsyncHTTPTransport = HTTPTransport


class _Base(Verbs):
    def __init__(
        self,
        *,
        auth=None,
        params=None,
        headers=None,
        cookies=None,
        timeout=5.0,
        follow_redirects=False,
        max_redirects=_REDIRECTS_MAX,
        event_hooks=None,
        base_url="",
        transport=None,
        default_encoding="utf-8",
        **ignored,
    ):
        if transport is not None and not isinstance(transport, HTTPTransport):
            raise NotImplementedError("the sandbox has no transports: requests go through the fetch capability")
        self.auth = auth
        self.params = QueryParams(params)
        self.headers = Headers({"Accept": "*/*", "User-Agent": "python-httpx/0.28.1"})
        self.headers.update(Headers(headers))
        self.cookies = Cookies(cookies)
        self.timeout = Timeout(timeout)
        self.follow_redirects = follow_redirects
        self.max_redirects = max_redirects
        self.event_hooks = {"request": [], "response": [], **(event_hooks or {})}
        self.base_url = URL(base_url)
        self.is_closed = False
        self._default_encoding = default_encoding

    def build_request(
        self, method, url, *, content=None, data=None, files=None, json=None, params=None, headers=None, cookies=None, **ignored
    ):
        url = URL(url)
        if str(self.base_url) and not url.is_absolute_url:
            url = URL(f"{str(self.base_url).rstrip('/')}/{str(url).lstrip('/')}")
        both = self.params.merge(params) if params or len(self.params) else None
        merged = self.headers.copy()
        merged.update(Headers(headers))
        return Request(
            method, url, params=both, headers=merged, cookies=cookies, content=content, data=data, files=files, json=json
        )

    async def _send(self, ask, request, stream, auth, follow_redirects, timeout):
        if self.is_closed:
            raise RuntimeError("Cannot send a request, as the client has been closed.")
        if request.url.scheme not in ("http", "https"):
            text = "Request URL is missing an 'http://' or 'https://' protocol."
            raise exceptions.UnsupportedProtocol(text, request=request)
        if not request.url.host:
            raise exceptions.UnsupportedProtocol("Request URL has no host.", request=request)
        request = self._signed(request, self.auth if auth is _UNSET else auth)
        follow = self.follow_redirects if follow_redirects is _UNSET else follow_redirects
        seconds = (self.timeout if timeout is _UNSET else Timeout(timeout)).seconds()
        hop = _web.Hop(request.method, str(request.url), request.headers.copy(), request.content)
        try:
            exchange, before = await _web.follow(
                ask, hop, seconds, self.max_redirects if follow else None, self.cookies
            )
            history = [Response.of(one, _sent(one.request), content=content) for one, content in before]
            response = Response.of(exchange, _sent(exchange.request) if before else request, history)
            response.default_encoding = self._default_encoding
            if not stream:
                response._content = await exchange.read()
            return response
        except _web.Failure as failure:
            raise exceptions.of_failure(failure, request) from failure.cause

    def _signed(self, request, auth):
        if auth is None and request.url.username:
            auth = BasicAuth(request.url.username, request.url.password)
        if request.url.username:
            request.url = request.url.without_user()
        if isinstance(auth, tuple):
            auth = BasicAuth(*auth)
        if isinstance(auth, Auth):
            return auth.apply(request)
        return auth(request) if callable(auth) else request


class Client(_Base):
    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def close(self):
        self.is_closed = True

    def request(self, method, url, *, auth=_UNSET, follow_redirects=_UNSET, timeout=_UNSET, **named):
        request = self.build_request(method, url, **named)
        return self.send(request, auth=auth, follow_redirects=follow_redirects, timeout=timeout)

    def send(self, request, *, stream=False, auth=_UNSET, follow_redirects=_UNSET, timeout=_UNSET):
        for hook in self.event_hooks["request"]:
            hook(request)
        response = _web.at_once(self._send(_web.blocking, request, stream, auth, follow_redirects, timeout))
        for hook in self.event_hooks["response"]:
            hook(response)
        return response

    @contextlib.contextmanager
    def stream(self, method, url, *, auth=_UNSET, follow_redirects=_UNSET, timeout=_UNSET, **named):
        request = self.build_request(method, url, **named)
        response = self.send(request, stream=True, auth=auth, follow_redirects=follow_redirects, timeout=timeout)
        try:
            yield response
        finally:
            response.close()


class AsyncClient(_Base):
    async def __aenter__(self):
        return self

    async def __aexit__(self, *args):
        await self.aclose()

    async def aclose(self):
        self.is_closed = True

    async def request(self, method, url, *, auth=_UNSET, follow_redirects=_UNSET, timeout=_UNSET, **named):
        request = self.build_request(method, url, **named)
        return await self.send(request, auth=auth, follow_redirects=follow_redirects, timeout=timeout)

    async def send(self, request, *, stream=False, auth=_UNSET, follow_redirects=_UNSET, timeout=_UNSET):
        for hook in self.event_hooks["request"]:
            await hook(request)
        response = await self._send(_web.waiting, request, stream, auth, follow_redirects, timeout)
        for hook in self.event_hooks["response"]:
            await hook(response)
        return response

    @contextlib.asynccontextmanager
    async def stream(self, method, url, *, auth=_UNSET, follow_redirects=_UNSET, timeout=_UNSET, **named):
        request = self.build_request(method, url, **named)
        response = await self.send(request, stream=True, auth=auth, follow_redirects=follow_redirects, timeout=timeout)
        try:
            yield response
        finally:
            await response.aclose()


def _sent(hop):
    return Request(hop.method, hop.url, headers=hop.headers, content=hop.body)
