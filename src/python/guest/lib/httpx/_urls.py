"""URLs and their parameters."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

from . import _exceptions as exceptions

_SAFE = "!#$%&'()*+,/:;=?@[]~"


class QueryParams(Mapping):
    def __init__(self, params=None, **kwargs):
        params = kwargs or params or ()
        if isinstance(params, bytes):
            params = params.decode()
        if isinstance(params, str):
            self._items = parse_qsl(params, keep_blank_values=True)
        elif isinstance(params, QueryParams):
            self._items = list(params._items)
        else:
            pairs = params.items() if isinstance(params, Mapping) else params
            self._items = [
                (str(name), _primitive(one))
                for name, value in pairs
                for one in (value if isinstance(value, (list, tuple)) else [value])
            ]

    def __getitem__(self, name):
        for other, value in self._items:
            if other == name:
                return value
        raise KeyError(name)

    def __iter__(self):
        return iter(dict.fromkeys(name for name, _ in self._items))

    def __len__(self):
        return len(dict(self._items))

    def __str__(self):
        return urlencode(self._items)

    def get_list(self, name):
        return [value for other, value in self._items if other == name]

    def multi_items(self):
        return list(self._items)

    def merge(self, params):
        added = QueryParams(params)
        merged = QueryParams()
        merged._items = [one for one in self._items if one[0] not in added] + added._items
        return merged

    def set(self, name, value):
        return self.merge({name: value})


class URL:
    def __init__(self, url="", params=None):
        text = str(url)
        try:
            self._parts = urlsplit(text)
            self.port = self._parts.port
        except ValueError as error:
            raise exceptions.InvalidURL(str(error)) from None
        if any(character < " " or character == "\x7f" for character in text):
            raise exceptions.InvalidURL("Invalid non-printable ASCII character in URL")
        path = quote(self._parts.path, safe=_SAFE) or ("/" if self._parts.netloc else "")
        query = quote(self._parts.query, safe=_SAFE) if params is None else str(QueryParams(params))
        self._parts = self._parts._replace(path=path, query=query, fragment=quote(self._parts.fragment, safe=_SAFE))

    @property
    def scheme(self):
        return self._parts.scheme

    @property
    def host(self):
        return self._parts.hostname or ""

    @property
    def netloc(self):
        return self._parts.netloc.rpartition("@")[2].encode()

    @property
    def path(self):
        return unquote(self._parts.path)

    @property
    def raw_path(self):
        return (self._parts.path + (f"?{self._parts.query}" if self._parts.query else "")).encode()

    @property
    def query(self):
        return self._parts.query.encode()

    @property
    def fragment(self):
        return unquote(self._parts.fragment)

    @property
    def params(self):
        return QueryParams(self._parts.query)

    @property
    def username(self):
        return unquote(self._parts.username or "")

    @property
    def password(self):
        return unquote(self._parts.password or "")

    @property
    def is_absolute_url(self):
        return bool(self.scheme and self.host)

    def join(self, url):
        return URL(urljoin(str(self), str(url)))

    def copy_merge_params(self, params):
        return URL(self, params=self.params.merge(params))

    def copy_set_param(self, key, value=None):
        return self.copy_merge_params({key: value})

    def without_user(self):
        return URL(self._parts._replace(netloc=self._parts.netloc.rpartition("@")[2]).geturl())

    def __str__(self):
        return self._parts.geturl()

    def __repr__(self):
        return f"URL({str(self.without_user() if self.username else self)!r})"

    def __eq__(self, other):
        return isinstance(other, (URL, str)) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


def _primitive(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
