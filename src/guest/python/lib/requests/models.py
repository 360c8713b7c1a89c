"""Requests and responses."""

import datetime
import io
import json as jsons
import re
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit, urlunsplit

from glovebox import _bodies, _web

from . import exceptions
from .auth import HTTPBasicAuth
from .cookies import RequestsCookieJar, cookiejar_from_dict
from .structures import CaseInsensitiveDict
from .utils import get_auth_from_url, get_encoding_from_headers, parse_header_links, requote_uri

REDIRECT_STATI = (301, 302, 303, 307, 308)
DEFAULT_REDIRECT_LIMIT = 30
ITER_CHUNK_SIZE = 512

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HEADER_NAME = re.compile(r"[^:\s][^:\r\n]*")
_HEADER_VALUE = re.compile(r"\S[^\r\n]*|")


class Request:
    def __init__(
        self,
        method=None,
        url=None,
        headers=None,
        files=None,
        data=None,
        params=None,
        auth=None,
        cookies=None,
        hooks=None,
        json=None,
    ):
        self.method = method
        self.url = url
        self.headers = headers or {}
        self.files = files or []
        self.data = data or []
        self.json = json
        self.params = params or {}
        self.auth = auth
        self.cookies = cookies
        self.hooks = hooks or {}

    def __repr__(self):
        return f"<Request [{self.method}]>"

    def prepare(self):
        prepared = PreparedRequest()
        prepared.prepare(
            self.method,
            self.url,
            self.headers,
            self.files,
            self.data,
            self.params,
            self.auth,
            self.cookies,
            self.hooks,
            self.json,
        )
        return prepared


class PreparedRequest:
    """What is sent."""

    def __init__(self):
        self.method = None
        self.url = None
        self.headers = None
        self.body = None
        self.hooks = {}
        self._cookies = None

    def prepare(
        self,
        method=None,
        url=None,
        headers=None,
        files=None,
        data=None,
        params=None,
        auth=None,
        cookies=None,
        hooks=None,
        json=None,
    ):
        self.method = None if method is None else _text(method).upper()
        self.prepare_url(url, params)
        self.prepare_headers(headers)
        self.prepare_cookies(cookies or {})
        self.prepare_body(data, files, json)
        self.prepare_auth(auth)
        self.hooks = hooks or {}

    def __repr__(self):
        return f"<PreparedRequest [{self.method}]>"

    def copy(self):
        other = PreparedRequest()
        other.__dict__.update(self.__dict__)
        other.headers = None if self.headers is None else self.headers.copy()
        return other

    @property
    def path_url(self):
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def prepare_url(self, url, params):
        url = (url.decode() if isinstance(url, bytes) else str(url)).lstrip()
        if ":" in url and not url.lower().startswith("http") and _SCHEME.match(url):
            raise exceptions.InvalidSchema(f"No connection adapters were found for {url!r}")
        try:
            scheme, netloc, path, query, fragment = urlsplit(url)
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise exceptions.InvalidURL(str(error)) from None
        if not scheme:
            raise exceptions.MissingSchema(
                f"Invalid URL {url!r}: No scheme supplied. Perhaps you meant https://{url}?"
            )
        if not host:
            raise exceptions.InvalidURL(f"Invalid URL {url!r}: No host supplied")
        if host.startswith(("*", ".")) or re.search(r"\s", host):
            raise exceptions.InvalidURL("URL has an invalid label.")
        added = _encode_params(params)
        query = "&".join(one for one in (query, added) if one)
        self.url = requote_uri(urlunsplit((scheme, netloc, path or "/", query, fragment)))

    def prepare_headers(self, headers):
        self.headers = CaseInsensitiveDict()
        for name, value in (headers or {}).items():
            check_header(name, value)
            self.headers[name] = value

    def prepare_cookies(self, cookies):
        self._cookies = cookies if isinstance(cookies, RequestsCookieJar) else cookiejar_from_dict(cookies)

    def prepare_body(self, data, files, json=None):
        body, kind = None, None
        if not data and json is not None:
            try:
                body = jsons.dumps(json, allow_nan=False).encode()
            except ValueError as error:
                raise exceptions.InvalidJSONError(error, request=self) from None
            kind = "application/json"
        elif files:
            if isinstance(data, (str, bytes)):
                raise ValueError("Data must not be a string.")
            body, kind = _bodies.encode_multipart(data, files)
        elif data:
            is_form = isinstance(data, (Mapping, list, tuple))
            body = _encode_params(data).encode() if is_form else _bodies.to_bytes(data)
            kind = _bodies.FORM if is_form or isinstance(data, str) else None
        self.body = body
        if kind is not None and "content-type" not in self.headers:
            self.headers["Content-Type"] = kind
        self.prepare_content_length(body)

    def prepare_content_length(self, body):
        if body is not None:
            self.headers["Content-Length"] = str(len(_bodies.to_bytes(body)))
        elif self.method not in ("GET", "HEAD"):
            self.headers["Content-Length"] = "0"

    def prepare_auth(self, auth, url=""):
        username, password = get_auth_from_url(self.url)
        if username:
            # The host sends no request whose URL names a user.
            parts = urlsplit(self.url)
            self.url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
            auth = auth or (username, password)
        if not auth:
            return
        if isinstance(auth, tuple) and len(auth) == 2:
            auth = HTTPBasicAuth(*auth)
        self.__dict__.update(auth(self).__dict__)
        self.prepare_content_length(self.body)

    def register_hook(self, event, hook):
        self.hooks.setdefault(event, []).append(hook)


class Response:
    """What was answered."""

    def __init__(self):
        self._content = False
        self._content_consumed = False
        self._exchange = None
        self.status_code = None
        self.headers = CaseInsensitiveDict()
        self.raw = None
        self.url = None
        self.encoding = None
        self.history = []
        self.reason = None
        self.cookies = cookiejar_from_dict({})
        self.elapsed = datetime.timedelta(0)
        self.request = None
        self.connection = None

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def __repr__(self):
        return f"<Response [{self.status_code}]>"

    def __bool__(self):
        return self.ok

    def __iter__(self):
        return self.iter_content(128)

    @property
    def ok(self):
        return self.status_code is not None and self.status_code < 400

    @property
    def is_redirect(self):
        return "location" in self.headers and self.status_code in REDIRECT_STATI

    @property
    def is_permanent_redirect(self):
        return "location" in self.headers and self.status_code in (301, 308)

    @property
    def next(self):
        return None

    @property
    def apparent_encoding(self):
        return _bodies.guess_charset(self.content or b"")

    @property
    def content(self):
        if self._content is False:
            if self._content_consumed:
                raise RuntimeError("The content for this response was already consumed")
            self._content = b"".join(self._chunks())
        return self._content

    @property
    def text(self):
        if not self.content:
            return ""
        encoding = self.encoding or self.apparent_encoding
        return self.content.decode(encoding if _bodies.is_charset(encoding) else "utf-8", "replace")

    @property
    def links(self):
        found = parse_header_links(self.headers.get("link", ""))
        return {link.get("rel") or link["url"]: link for link in found}

    def json(self, **kwargs):
        try:
            if self.encoding is None or self.encoding.lower() == "iso-8859-1":
                return _bodies.read_json(self.content, **kwargs)
            return jsons.loads(self.text, **kwargs)
        except UnicodeDecodeError:
            text = self.text
        except jsons.JSONDecodeError as error:
            raise exceptions.JSONDecodeError(error.msg, error.doc, error.pos, response=self) from None
        try:
            return jsons.loads(text, **kwargs)
        except jsons.JSONDecodeError as error:
            raise exceptions.JSONDecodeError(error.msg, error.doc, error.pos, response=self) from None

    def raise_for_status(self):
        status = self.status_code
        if status < 400:
            return
        kind = "Client" if status < 500 else "Server"
        raise exceptions.HTTPError(f"{status} {kind} Error: {self.reason} for url: {self.url}", response=self)

    def iter_content(self, chunk_size=1, decode_unicode=False):
        if self._content_consumed and self._content is False:
            raise exceptions.StreamConsumedError()
        if chunk_size is not None and not isinstance(chunk_size, int):
            raise TypeError(f"chunk_size must be an int, it is instead a {type(chunk_size)}.")
        chunks = self._chunks() if self._content is False else iter([self._content] if self._content else [])
        if chunk_size is not None:
            chunks = _bodies.rechunked(chunks, max(1, chunk_size))
        if decode_unicode and self.encoding is not None:
            return _bodies.decoded(chunks, self.encoding)
        return chunks

    def iter_lines(self, chunk_size=ITER_CHUNK_SIZE, decode_unicode=False, delimiter=None):
        rest = None
        for chunk in self.iter_content(chunk_size, decode_unicode):
            chunk = chunk if rest is None else rest + chunk
            pieces = chunk.split(delimiter) if delimiter else chunk.splitlines()
            rest = pieces.pop() if pieces and pieces[-1] and chunk and pieces[-1][-1] == chunk[-1] else None
            yield from pieces
        if rest is not None:
            yield rest

    def close(self):
        if self._exchange is not None:
            self._exchange.close()

    def _chunks(self):
        self._content_consumed = True
        while self._exchange is not None:
            try:
                chunk = _web.at_once(self._exchange.chunk())
            except _web.Failure as failure:
                raise exceptions.of_failure(failure, self.request) from failure.cause
            if chunk is None:
                return
            yield chunk


class _Raw(io.RawIOBase):
    """`response.raw`: what has come, as a file."""

    def __init__(self, response):
        self._chunks = response._chunks
        self._iterator = None
        self._rest = b""
        self.headers = response.headers
        self.status = response.status_code
        self.decode_content = True

    def readable(self):
        return True

    def readinto(self, buffer):
        self._iterator = self._iterator or self._chunks()
        if not self._rest:
            self._rest = next(self._iterator, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def read(self, amt=-1, decode_content=None):
        return super().read(-1 if amt is None else amt)

    def stream(self, amt=65536, decode_content=None):
        while chunk := self.read(amt):
            yield chunk


def response_of(exchange, prepared, content=False):
    response = Response()
    response._exchange = exchange
    response._content = content
    response._content_consumed = content is not False
    response.status_code = exchange.status
    response.reason = exchange.reason or _phrase(exchange.status)
    response.headers = CaseInsensitiveDict(exchange.headers)
    response.url = exchange.url
    response.encoding = get_encoding_from_headers(response.headers)
    response.elapsed = datetime.timedelta(seconds=exchange.elapsed)
    response.cookies.store(exchange.url, exchange.headers)
    response.request = prepared
    response.raw = _Raw(response)
    return response


def check_header(name, value):
    for part, pattern in ((name, _HEADER_NAME), (value, _HEADER_VALUE)):
        if not isinstance(part, (str, bytes)):
            raise exceptions.InvalidHeader(f"Header part ({part!r}) from ({name!r}, {value!r}) must be of type str or bytes")
        if not pattern.fullmatch(_text(part)):
            raise exceptions.InvalidHeader(
                f"Invalid leading whitespace, reserved character(s), or return character(s) in header {_text(name)!r}"
            )


def _phrase(status):
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _encode_params(data):
    if isinstance(data, (str, bytes)):
        return _text(data)
    return _bodies.encode_form(data) if data else ""


def _text(value):
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


