"""Requests, and what is sent of them."""

import json as jsons
import re
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from glovebox import _bodies

from . import exceptions
from .auth import HTTPBasicAuth
from .cookies import RequestsCookieJar, cookiejar_from_dict
from .structures import CaseInsensitiveDict
from ._response import ITER_CHUNK_SIZE, REDIRECT_STATI, Response, response_of
from .utils import get_auth_from_url, requote_uri

DEFAULT_REDIRECT_LIMIT = 30

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


def check_header(name, value):
    for part, pattern in ((name, _HEADER_NAME), (value, _HEADER_VALUE)):
        if not isinstance(part, (str, bytes)):
            raise exceptions.InvalidHeader(f"Header part ({part!r}) from ({name!r}, {value!r}) must be of type str or bytes")
        if not pattern.fullmatch(_text(part)):
            raise exceptions.InvalidHeader(
                f"Invalid leading whitespace, reserved character(s), or return character(s) in header {_text(name)!r}"
            )


def _encode_params(data):
    if isinstance(data, (str, bytes)):
        return _text(data)
    return _bodies.encode_form(data) if data else ""


def _text(value):
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


__all__ = [
    "DEFAULT_REDIRECT_LIMIT",
    "ITER_CHUNK_SIZE",
    "PreparedRequest",
    "REDIRECT_STATI",
    "Request",
    "Response",
    "check_header",
    "response_of",
]
