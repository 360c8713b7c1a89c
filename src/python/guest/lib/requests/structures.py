"""Data structures of `requests`."""

from glovebox._headers import Headers


class CaseInsensitiveDict(Headers):
    """Names in any case."""

    def __init__(self, data=None, **kwargs):
        super().__init__(data)
        self.update(kwargs)

    def lower_items(self):
        return ((name.lower(), value) for name, value in self.items())


class LookupDict(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None
