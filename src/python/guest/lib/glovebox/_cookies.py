"""Cookies, as a session keeps them."""

import datetime
import re
import time
from urllib.parse import urlsplit

_DATE = re.compile(r"(\d{1,2})[ -]([A-Za-z]{3})[a-z]*[ -](\d{2,4}) +(\d{1,2}):(\d\d):(\d\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Cookie:
    def __init__(self, name, value, domain="", path="/", secure=False, expires=None, host_only=False):
        self.name = name
        self.value = value
        self.domain = domain
        self.path = path
        self.secure = secure
        self.expires = expires
        self.host_only = host_only

    def __repr__(self):
        return f"<Cookie {self.name}={self.value} for {self.domain}{self.path}>"

    def is_expired(self, now=None):
        return self.expires is not None and self.expires <= (time.time() if now is None else now)

    def is_for(self, url, asked):
        """One that no server set is for the host that the tool asked, and for none that this redirects to."""
        parts = urlsplit(url)
        host, path = (parts.hostname or ""), parts.path or "/"
        if not self.domain and host != (urlsplit(asked).hostname or ""):
            return False
        if self.secure and parts.scheme != "https":
            return False
        if self.domain and host != self.domain and (self.host_only or not host.endswith(f".{self.domain}")):
            return False
        prefix = self.path.rstrip("/")
        return path == self.path or path == prefix or path.startswith(f"{prefix}/")


class Jar:
    """Cookies by domain, path and name; as a dict, by their names."""

    def __init__(self, cookies=None):
        self._cookies = {}
        self.update(cookies or {})

    def set(self, name, value, domain="", path="/", **named):
        if value is None:
            self._drop(name, domain or None, None)
            return None
        known = {key: named[key] for key in ("secure", "expires") if key in named}
        return self.set_cookie(Cookie(str(name), str(value), domain.lstrip("."), path, **known))

    def set_cookie(self, cookie):
        self._cookies[(cookie.domain, cookie.path, cookie.name)] = cookie
        return cookie

    def get(self, name, default=None, domain=None, path=None):
        return next((one.value for one in self._matching(name, domain, path)), default)

    def delete(self, name, domain=None, path=None):
        self._drop(name, domain, path)

    def clear(self, domain=None, path=None, name=None):
        self._drop(name, domain, path)

    def update(self, other):
        if isinstance(other, Jar):
            self._cookies.update(other._cookies)
            return
        for name, value in other.items() if hasattr(other, "items") else other:
            self.set(name, value)

    def copy(self):
        return type(self)(self)

    def keys(self):
        return [one.name for one in self._cookies.values()]

    def values(self):
        return [one.value for one in self._cookies.values()]

    def items(self):
        return [(one.name, one.value) for one in self._cookies.values()]

    def get_dict(self, domain=None, path=None):
        return {one.name: one.value for one in self._matching(None, domain, path)}

    def cookies(self):
        return list(self._cookies.values())

    def __getitem__(self, name):
        for one in self._matching(name, None, None):
            return one.value
        raise KeyError(name)

    def __setitem__(self, name, value):
        self.set(name, value)

    def __delitem__(self, name):
        self[name]
        self._drop(name, None, None)

    def __contains__(self, name):
        return any(one.name == name for one in self._cookies.values())

    def __len__(self):
        return len(self._cookies)

    def __iter__(self):
        return iter(self.keys())

    def __repr__(self):
        return f"<{type(self).__name__}{self.cookies()}>"

    def header(self, url, asked):
        """What a request says, where there are cookies for it. `asked` is the URL of which redirects made it."""
        found = [one for one in self._cookies.values() if not one.is_expired() and one.is_for(url, asked)]
        found.sort(key=lambda one: -len(one.path))
        return "; ".join(f"{one.name}={one.value}" for one in found) or None

    def store(self, url, headers):
        """Takes what an answer sets."""
        for line in headers.get_list("set-cookie"):
            cookie = _read(line, url)
            if cookie is None:
                continue
            self.set_cookie(cookie)
            if cookie.is_expired():
                self._drop(cookie.name, cookie.domain, cookie.path)

    def _matching(self, name, domain, path):
        asked = (("name", name), ("domain", domain), ("path", path))
        return [
            one
            for one in self._cookies.values()
            if all(value is None or getattr(one, key) == value for key, value in asked)
        ]

    def _drop(self, name, domain, path):
        for one in self._matching(name, domain, path):
            del self._cookies[(one.domain, one.path, one.name)]


def _read(line, url):
    pair, *rest = line.split(";")
    name, separator, value = pair.partition("=")
    name = name.strip()
    if not separator or not name:
        return None
    said = {}
    for part in rest:
        key, _, text = part.partition("=")
        said[key.strip().lower()] = text.strip()
    parts = urlsplit(url)
    host = parts.hostname or ""
    domain = said.get("domain", "").lstrip(".").lower()
    if domain and domain != host:
        # No server sets cookies for others, nor for all of a top domain.
        if "." not in domain or not host.endswith(f".{domain}"):
            return None
    path = said.get("path", "")
    if not path.startswith("/"):
        path = parts.path.rpartition("/")[0] or "/"
    return Cookie(
        name, value.strip().strip('"'), domain or host, path, "secure" in said, _expiry(said), host_only=not domain
    )


def _expiry(said):
    age = said.get("max-age", "")
    if re.fullmatch(r"-?\d{1,12}", age):
        return time.time() + int(age)
    found = _DATE.search(said.get("expires", ""))
    if found is None or found[2].lower() not in _MONTHS:
        return None
    day, year, *clock = (int(found[at]) for at in (1, 3, 4, 5, 6))
    year += 0 if year > 99 else 1900 if year > 69 else 2000
    try:
        utc = datetime.timezone.utc
        return datetime.datetime(year, _MONTHS.index(found[2].lower()) + 1, day, *clock, tzinfo=utc).timestamp()
    except (ValueError, OverflowError):
        return None
