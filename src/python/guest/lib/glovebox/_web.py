"""Requests by way of the host's `fetch`: what the modules that stand in for HTTP clients have in common."""

import base64
import re
import time
from urllib.parse import urljoin, urlsplit

from . import _host
from ._headers import Headers

_BODY_MAX = 32 * 1024 * 1024
_REDIRECTS = (301, 302, 303, 307, 308)
_SECRET = re.compile(r"glovebox\.secret\.(?=([A-Za-z0-9_]{1,64})\.)")
# What says who asks, to whom it was written for.
_PRIVATE = ("authorization", "cookie", "proxy-authorization")


class Failure(Exception):
    """Why there is no answer, or not all of it. `kind`: url, connect, read, redirects, encoding, denied, failed or body."""

    def __init__(self, kind, message, cause=None):
        super().__init__(message)
        self.kind = kind
        self.cause = cause

    def as_error(self, error):
        """The error of a stand-in's, caused by what the host said. An uncaught one ends the call as that would."""
        error.__cause__ = self.cause
        error.__suppress_context__ = True
        return _host.carry(error, self.cause)


class Hop:
    """A request, one of those that redirects make of it. `headers` are a `Headers`, `body` bytes or nothing."""

    def __init__(self, method, url, headers, body=None):
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body

    def secrets(self):
        body = [] if self.body is None else [self.body.decode("latin-1")]
        return secrets_in([self.url, *(value for _, value in self.headers.multi_items()), *body])

    def next(self, status, location, secrets):
        """What a redirect asks for. Another origin gets nothing that says who asks."""
        url = urljoin(self.url, without_secrets(location, secrets))
        fragment = urlsplit(self.url).fragment
        if fragment and not urlsplit(url).fragment:
            url = f"{url}#{fragment}"
        method, body, headers = self.method, self.body, self.headers.copy()
        if (status in (302, 303) and method != "HEAD") or (status == 301 and method == "POST"):
            method = "GET"
        if status not in (307, 308):
            body = None
            for name in ("content-length", "content-type", "transfer-encoding"):
                headers.pop(name, None)
        headers.pop("cookie", None)
        if is_elsewhere(self.url, url):
            for name, value in headers.multi_items():
                if is_private(name, value):
                    headers.pop(name, None)
        return Hop(method, url, headers, body)


def secrets_in(texts):
    """The names of secrets that a tool's texts, among them values of headers, stand for."""
    return {name for text in texts for name in _SECRET.findall(_written(text))}


def without_secrets(location, secrets):
    """A server's text remains text: only what the tool wrote stands for a secret."""
    return _SECRET.sub(lambda found: found[0] if found[1] in secrets else "glovebox%2Esecret%2E", location)


def is_elsewhere(url, other):
    return _origin(url) != _origin(other)


def is_private(name, value):
    """Whether a header says who asks."""
    return name.lower() in _PRIVATE or _SECRET.search(_written(value)) is not None


def _written(value):
    """A header's value, and what is in it as Base64."""
    scheme, _, credentials = value.partition(" ")
    if scheme.lower() != "basic":
        return value
    try:
        return value + base64.b64decode(credentials).decode("latin-1")
    except ValueError:
        return value


def _origin(url):
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    return parts.scheme.lower(), (parts.hostname or ""), port or {"http": 80, "https": 443}.get(parts.scheme.lower())


async def blocking(method, args, timeout):
    """Asks the host, and holds everything else of the call up until there is an answer."""
    return _host.ask("fetch", method, args, timeout)


async def waiting(method, args, timeout):
    return await _host.ask_async("fetch", method, args, timeout)


def at_once(coroutine):
    """What a coroutine comes to that waits by `blocking` only."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    coroutine.close()
    raise RuntimeError("what blocks cannot be waited for like that")


class Exchange:
    """One hop, and its answer as it comes."""

    def __init__(self, ask, hop, timeout):
        self._ask = ask
        self._timeout = timeout
        self._id = _host.host.next_request()
        self._run = _host.host.run()
        self._part = None
        self._more = False
        self.request = hop
        self.url = hop.url
        self.status = 0
        self.reason = ""
        self.headers = Headers()
        self.elapsed = 0.0

    async def send(self):
        hop = self.request
        body = None if hop.body is None else _part_of(hop.body)
        url, _, fragment = hop.url.partition("#")
        started = time.time()
        headers = [[name, value] for name, value in hop.headers.multi_items()]
        message = {"url": url, "method": hop.method, "headers": headers, "body": body, "redirect": "manual"}
        answer = await self._asked("request", message, "failed")
        self.elapsed = time.time() - started
        self.url = answer["url"] + (f"#{fragment}" if fragment else "")
        self.status = answer["status"]
        self.reason = answer["statusText"]
        self.headers = Headers(answer["headers"])
        if answer["body"] is not None:
            self._take(answer["body"])
        return self

    async def chunk(self):
        """The next piece of the body; nothing where it has ended."""
        while self._part is None and self._more:
            self._take(await self._asked("read", {}, "body"))
        part, self._part = self._part, None
        if part is None:
            return None
        return part["text"].encode("utf-8", "replace") if "text" in part else base64.b64decode(part["base64"])

    async def read(self):
        chunks = []
        while (chunk := await self.chunk()) is not None:
            chunks.append(chunk)
        return b"".join(chunks)

    def close(self):
        """Nobody wants the rest."""
        self._part = None
        if self._more:
            self._more = False
            self._cancel()

    def _take(self, arrived):
        self._part = arrived["part"]
        self._more = arrived["more"]

    async def _asked(self, method, args, kind):
        if _host.host.run() != self._run:
            # What is kept from call to call may hold a response.
            raise Failure(kind, "the call that made the request has ended")
        try:
            return await self._ask(method, {"id": self._id, **args}, self._timeout)
        except _host.CapabilityError as error:
            self._more = False
            raise Failure(_kind_of(error, kind), _words(error), error) from None
        except TimeoutError:
            self._cancel()
            raise Failure("read", f"there was no answer within {self._timeout} seconds") from None
        except BaseException:
            self._cancel()
            raise

    def _cancel(self):
        self._more = False
        # Whoever gives up does not wait for that either. Of a call that has ended nothing is left to be cancelled.
        if _host.host.run() == self._run:
            _host.tell("fetch", "cancel", {"id": self._id})


def _part_of(body):
    if len(body) > _BODY_MAX:
        raise Failure("url", f"a request's body has at most {_BODY_MAX} bytes")
    try:
        # As text, which the host can put secrets into.
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _kind_of(error, kind):
    if error.code != "capability_failed":
        return "denied"
    text = str(error)
    if "connection timed out" in text:
        return "connect"
    if "in time" in text:
        return "read"
    if re.search(r"\bURL\b|use http or https", text):
        return "url"
    return "encoding" if re.search(r"\bencoded\b|content-encoding", text) else kind


def _words(error):
    return re.sub(r"^host\.fetch\.\w+: ", "", str(error))


class NoCookies:
    """Keeps none."""

    def header(self, url, asked):
        return None

    def store(self, url, headers):
        pass


async def follow(ask, hop, timeout=None, redirects_max=30, cookies=NoCookies()):
    """Sends a request, and those that redirects ask for: the last exchange, and those before it with their contents."""
    secrets, asked = hop.secrets(), hop.url
    history = []
    while True:
        if "cookie" not in hop.headers and (cookie := cookies.header(hop.url, asked)):
            hop.headers["Cookie"] = cookie
        exchange = await Exchange(ask, hop, timeout).send()
        cookies.store(exchange.url, exchange.headers)
        location = exchange.headers.get("location")
        if redirects_max is None or exchange.status not in _REDIRECTS or location is None:
            return exchange, history
        if len(history) >= redirects_max:
            exchange.close()
            raise Failure("redirects", f"Exceeded {redirects_max} redirects.")
        history.append((exchange, await exchange.read()))
        hop = hop.next(exchange.status, location.encode("latin-1", "replace").decode("utf-8", "replace"), secrets)
