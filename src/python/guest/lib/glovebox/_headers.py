"""Headers: names in any case, each with one value or several."""

from collections.abc import Mapping, MutableMapping


class Headers(MutableMapping):
    def __init__(self, headers=None):
        self._items = []
        if isinstance(headers, Headers):
            self._items = list(headers._items)
        elif isinstance(headers, Mapping):
            self.update(headers)
        else:
            self._items = [(_text(name), _text(value)) for name, value in headers or ()]

    def __getitem__(self, name):
        values = self.get_list(name)
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __setitem__(self, name, value):
        name = _text(name)
        at = next((at for at, (other, _) in enumerate(self._items) if other.lower() == name.lower()), len(self._items))
        kept = [one for one in self._items if one[0].lower() != name.lower()]
        kept.insert(at, (name, _text(value)))
        self._items = kept

    def __delitem__(self, name):
        kept = [one for one in self._items if one[0].lower() != _text(name).lower()]
        if len(kept) == len(self._items):
            raise KeyError(name)
        self._items = kept

    def __iter__(self):
        return iter(dict.fromkeys(name for name, _ in self._items))

    def __len__(self):
        return len({name.lower() for name, _ in self._items})

    def __contains__(self, name):
        return isinstance(name, (str, bytes)) and bool(self.get_list(name))

    def __eq__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        return _lowered(self) == _lowered(other)

    def __repr__(self):
        return repr(dict(self.items()))

    def __str__(self):
        return repr(self)

    def get_list(self, name):
        name = _text(name).lower()
        return [value for other, value in self._items if other.lower() == name]

    def get_all(self, name, failobj=None):
        return self.get_list(name) or failobj

    getall = get_all

    def multi_items(self):
        return list(self._items)

    def add(self, name, value):
        self._items.append((_text(name), _text(value)))

    def copy(self):
        return type(self)(self)

    # What `email.message.Message` tells of a content's type.

    def get_content_type(self):
        return self.get("content-type", "text/plain").partition(";")[0].strip().lower() or "text/plain"

    def get_content_maintype(self):
        return self.get_content_type().partition("/")[0]

    def get_content_subtype(self):
        return self.get_content_type().partition("/")[2]

    def get_content_charset(self, failobj=None):
        charset = self.get_param("charset")
        return failobj if charset is None else charset.lower()

    def get_param(self, param, failobj=None, header="content-type"):
        return parameters(self.get(header, "")).get(param.lower(), failobj)


def parameters(value):
    """What stands behind the semicolons of a header."""
    found = {}
    for part in value.split(";")[1:]:
        name, separator, text = part.partition("=")
        if separator:
            found.setdefault(name.strip().lower(), text.strip().strip("\"'"))
    return found


def _lowered(headers):
    return {_text(name).lower(): value for name, value in headers.items()}


def _text(value):
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
