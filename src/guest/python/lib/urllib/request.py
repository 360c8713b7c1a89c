"""`urllib.request` over the fetch capability of the sandbox."""

import base64
import contextlib
import os
import tempfile
from urllib.error import ContentTooShortError, HTTPError, URLError
from urllib.parse import quote, unquote, unquote_to_bytes, urldefrag, urljoin, urlparse, urlsplit

from glovebox import _bodies, _web
from glovebox._headers import Headers

from http.client import HTTPResponse, error_of

__version__ = "3.14"
_REDIRECTS_MAX = 10
_opener = None


class Request:
    def __init__(self, url, data=None, headers={}, origin_req_host=None, unverifiable=False, method=None):
        self.full_url = url
        self.headers = {}
        self.unredirected_hdrs = {}
        self.data = data
        self.timeout = None
        self.origin_req_host = origin_req_host or self.host
        self.unverifiable = unverifiable
        if method:
            self.method = method
        for name, value in headers.items():
            self.add_header(name, value)

    @property
    def full_url(self):
        return f"{self._url}#{self.fragment}" if self.fragment else self._url

    @full_url.setter
    def full_url(self, url):
        if not isinstance(url, str):
            raise TypeError("a URL is text")
        self._url, self.fragment = urldefrag(url.strip().removeprefix("<").removesuffix(">"))
        parts = urlsplit(self._url)
        if not parts.scheme:
            raise ValueError(f"unknown url type: {self._url!r}")
        self.type = parts.scheme
        self.host = parts.netloc
        self.selector = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def get_method(self):
        return getattr(self, "method", "GET" if self.data is None else "POST")

    def get_full_url(self):
        return self.full_url

    def add_header(self, key, val):
        self.headers[key.capitalize()] = val

    def add_unredirected_header(self, key, val):
        self.unredirected_hdrs[key.capitalize()] = val

    def has_header(self, header_name):
        return header_name in self.headers or header_name in self.unredirected_hdrs

    def get_header(self, header_name, default=None):
        return self.headers.get(header_name, self.unredirected_hdrs.get(header_name, default))

    def remove_header(self, header_name):
        self.headers.pop(header_name, None)
        self.unredirected_hdrs.pop(header_name, None)

    def header_items(self):
        return list({**self.unredirected_hdrs, **self.headers}.items())

    def set_proxy(self, host, type):
        raise URLError("the sandbox has no proxies: requests go through the fetch capability")


class BaseHandler:
    """What an opener is built of. Only the handlers of this module mean something here."""

    def add_parent(self, parent):
        self.parent = parent

    def close(self):
        pass


class HTTPHandler(BaseHandler):
    def __init__(self, debuglevel=None):
        pass


class HTTPSHandler(BaseHandler):
    def __init__(self, debuglevel=None, context=None, check_hostname=None):
        pass


class HTTPRedirectHandler(BaseHandler):
    max_redirections = _REDIRECTS_MAX


class HTTPErrorProcessor(BaseHandler):
    pass


class HTTPDefaultErrorHandler(BaseHandler):
    pass


class ProxyHandler(BaseHandler):
    """There are no proxies here."""

    def __init__(self, proxies=None):
        pass


class HTTPCookieProcessor(BaseHandler):
    def __init__(self, cookiejar=None):
        if cookiejar is None:
            from http.cookiejar import CookieJar

            cookiejar = CookieJar()
        self.cookiejar = cookiejar


class HTTPPasswordMgr:
    def __init__(self):
        self._known = []

    def add_password(self, realm, uri, user, passwd):
        uris = [uri] if isinstance(uri, str) else list(uri)
        self._known = [*((one, user, passwd) for one in uris), *self._known]

    def find_user_password(self, realm, authuri):
        for uri, user, passwd in self._known:
            if authuri.startswith(uri) or urlsplit(authuri).netloc == uri:
                return user, passwd
        return None, None


class HTTPPasswordMgrWithDefaultRealm(HTTPPasswordMgr):
    pass


HTTPPasswordMgrWithPriorAuth = HTTPPasswordMgrWithDefaultRealm


class HTTPBasicAuthHandler(BaseHandler):
    def __init__(self, password_mgr=None):
        self.passwd = password_mgr or HTTPPasswordMgr()
        self.add_password = self.passwd.add_password


class OpenerDirector:
    def __init__(self):
        self.addheaders = [("User-agent", f"Python-urllib/{__version__}")]
        self.handlers = []

    def add_handler(self, handler):
        if type(handler).__module__ != __name__ or not isinstance(handler, BaseHandler):
            raise NotImplementedError(
                f"the sandbox has no handlers of its own, such as {type(handler).__name__}: requests go through the fetch capability"
            )
        handler.add_parent(self)
        self.handlers.append(handler)

    def open(self, fullurl, data=None, timeout=None):
        request = Request(fullurl) if isinstance(fullurl, str) else fullurl
        if data is not None:
            request.data = data
        request.timeout = timeout if isinstance(timeout, (int, float)) else None
        if request.type == "data":
            return _data(request)
        if request.type not in ("http", "https"):
            raise URLError(f"unknown url type: {request.type}")
        if not request.host:
            raise URLError("no host given")
        return self._send(request)

    def error(self, proto, *args):
        raise URLError(f"an error of {proto}")

    def close(self):
        pass

    def _send(self, request):
        hop = _web.Hop(request.get_method().upper(), request.full_url, self._headers(request), _body(request.data))
        if hop.body is not None and "content-type" not in hop.headers:
            hop.headers["Content-Type"] = _bodies.FORM
        cookies = [handler.cookiejar for handler in self.handlers if isinstance(handler, HTTPCookieProcessor)]
        kept = _Cookies(cookies[-1]) if cookies else _web.NoCookies()
        redirects = None if hop.method not in ("GET", "HEAD", "POST") else _REDIRECTS_MAX
        try:
            exchange, _ = _web.at_once(_web.follow(_web.blocking, hop, request.timeout, redirects, kept))
        except _web.Failure as failure:
            if failure.kind == "redirects":
                raise HTTPError(request.full_url, 302, f"redirects without an end. {failure}", Headers(), None) from None
            reason = error_of(failure)
            raise failure.as_error(reason if failure.kind == "read" else URLError(reason)) from failure.cause
        response = HTTPResponse(exchange)
        if 200 <= response.status < 300:
            return response
        raise HTTPError(response.url, response.status, response.reason, response.headers, response)

    def _headers(self, request):
        headers = Headers(self.addheaders)
        for name, value in request.header_items():
            headers[name] = value
        if "authorization" not in headers:
            for handler in self.handlers:
                user, password = (None, None)
                if isinstance(handler, HTTPBasicAuthHandler):
                    user, password = handler.passwd.find_user_password(None, request.full_url)
                if user is not None:
                    headers["Authorization"] = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
        return headers


class _Cookies:
    """A jar of `http.cookiejar`."""

    def __init__(self, jar):
        self._jar = jar

    def header(self, url, asked):
        request = Request(url)
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie")

    def store(self, url, headers):
        self._jar.extract_cookies(_Told(headers), Request(url))


class _Told:
    def __init__(self, headers):
        self._headers = headers

    def info(self):
        return self._headers


def build_opener(*handlers):
    opener = OpenerDirector()
    for handler in handlers:
        opener.add_handler(handler() if isinstance(handler, type) else handler)
    return opener


def install_opener(opener):
    global _opener
    _opener = opener


def urlopen(url, data=None, timeout=None, *, context=None):
    return (_opener or OpenerDirector()).open(url, data, timeout)


def urlretrieve(url, filename=None, reporthook=None, data=None):
    """Into a file of the sandbox's own."""
    with contextlib.closing(urlopen(url, data)) as response:
        if filename is None:
            handle, filename = tempfile.mkstemp()
            os.close(handle)
        size = int(response.headers.get("content-length", -1))
        count = 0
        with open(filename, "wb") as file:
            while True:
                if reporthook is not None:
                    reporthook(count, 8192, size)
                piece = response.read(8192)
                if not piece:
                    break
                file.write(piece)
                count += 1
    return filename, response.headers


def urlcleanup():
    pass


def getproxies():
    return {}


def proxy_bypass(host, proxies=None):
    return True


def pathname2url(pathname):
    return quote(pathname)


def url2pathname(pathname):
    return unquote(pathname)


def _body(data):
    if isinstance(data, str):
        raise TypeError("POST data should be bytes, an iterable of bytes, or a file object. It cannot be of type str.")
    return None if data is None else _bodies.to_bytes(data)


class _Data:
    """The answer of a URL that holds its content."""

    status = 200
    reason = "OK"

    def __init__(self, url, content, kind):
        self.url = url
        self.headers = Headers([("content-type", kind), ("content-length", str(len(content)))])
        self._content = content

    async def chunk(self):
        content, self._content = self._content, None
        return content

    def close(self):
        self._content = None


def _data(request):
    head, comma, text = request.full_url.removeprefix("data:").partition(",")
    if not comma:
        raise URLError("a data: URL has a comma")
    content = unquote_to_bytes(text)
    if head.endswith(";base64"):
        head = head.removesuffix(";base64")
        content = base64.b64decode(content)
    return HTTPResponse(_Data(request.full_url, content, head or "text/plain;charset=US-ASCII"))


__all__ = [
    "BaseHandler",
    "ContentTooShortError",
    "HTTPBasicAuthHandler",
    "HTTPCookieProcessor",
    "HTTPDefaultErrorHandler",
    "HTTPErrorProcessor",
    "HTTPHandler",
    "HTTPPasswordMgr",
    "HTTPPasswordMgrWithDefaultRealm",
    "HTTPPasswordMgrWithPriorAuth",
    "HTTPRedirectHandler",
    "HTTPSHandler",
    "OpenerDirector",
    "ProxyHandler",
    "Request",
    "build_opener",
    "getproxies",
    "install_opener",
    "pathname2url",
    "proxy_bypass",
    "quote",
    "unquote",
    "url2pathname",
    "urlcleanup",
    "urljoin",
    "urlopen",
    "urlparse",
    "urlretrieve",
]
