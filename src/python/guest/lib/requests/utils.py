"""Functions of `requests.utils` that tools use."""

from urllib.parse import quote, unquote, urlparse

from glovebox._bodies import charset_of, guess_charset

from .cookies import cookiejar_from_dict
from .structures import CaseInsensitiveDict

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SAFE = "!#$%&'()*+,/:;=?@[]~"


def default_user_agent(name="python-requests"):
    from . import __version__

    return f"{name}/{__version__}"


def default_headers():
    return CaseInsensitiveDict(
        {
            "User-Agent": default_user_agent(),
            "Accept-Encoding": "gzip, deflate",
            "Accept": "*/*",
            "Connection": "keep-alive",
        }
    )


def dict_from_cookiejar(jar):
    return dict(jar.items())


def get_encoding_from_headers(headers):
    """The charset of a text, as its headers say, or as HTTP had it once."""
    charset = charset_of(headers)
    if charset is not None:
        return charset
    kind = headers.get("content-type", "")
    if "text" in kind:
        return "ISO-8859-1"
    return "utf-8" if "application/json" in kind else None


def guess_json_utf(data):
    import json

    return json.detect_encoding(data)


def unquote_unreserved(uri):
    first, *parts = uri.split("%")
    found = [first]
    for part in parts:
        code = part[:2]
        try:
            character = chr(int(code, 16)) if len(code) == 2 and code.isalnum() else ""
        except ValueError:
            character = ""
        found.append(character + part[2:] if character in _UNRESERVED and character else f"%{part}")
    return "".join(found)


def requote_uri(uri):
    """Quotes what has to be, and nothing twice."""
    try:
        return quote(unquote_unreserved(uri), safe=_SAFE)
    except ValueError:
        return quote(uri, safe=_SAFE.replace("%", ""))


def get_auth_from_url(url):
    parts = urlparse(url)
    return (unquote(parts.username), unquote(parts.password or "")) if parts.username else ("", "")


def urldefragauth(url):
    parts = urlparse(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()


def parse_header_links(value):
    """`Link` headers: `<https://…>; rel="next"`."""
    links = []
    for one in value.strip(" '\"").split(","):
        url, *params = one.split(";")
        link = {"url": url.strip("<> '\"")}
        for param in params:
            key, separator, text = param.partition("=")
            if separator:
                link[key.strip(" '\"")] = text.strip(" '\"")
        if link["url"]:
            links.append(link)
    return links


def get_environ_proxies(url, no_proxy=None):
    return {}


__all__ = [
    "cookiejar_from_dict",
    "default_headers",
    "default_user_agent",
    "dict_from_cookiejar",
    "get_auth_from_url",
    "get_encoding_from_headers",
    "get_environ_proxies",
    "guess_charset",
    "guess_json_utf",
    "parse_header_links",
    "quote",
    "requote_uri",
    "unquote",
    "unquote_unreserved",
    "urldefragauth",
    "urlparse",
]
