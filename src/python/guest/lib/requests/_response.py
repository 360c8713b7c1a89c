"""What was answered."""

import datetime
import io
import json as jsons
from http import HTTPStatus

from glovebox import _bodies, _web

from . import exceptions
from .cookies import cookiejar_from_dict
from .structures import CaseInsensitiveDict
from .utils import get_encoding_from_headers, parse_header_links

REDIRECT_STATI = (301, 302, 303, 307, 308)
ITER_CHUNK_SIZE = 512


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


def _phrase(status):
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
