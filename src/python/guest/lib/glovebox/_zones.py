"""Data of time zones: one file in the archive of the standard library, read when a tool first asks for a zone."""

import importlib.util
import json

FILE = "zones.bin"


def has_package():
    """Whether the tool has the package `tzdata`, which then is what Python takes."""
    return importlib.util.find_spec("tzdata") is not None


def _read():
    loader = json.__loader__
    try:
        return loader.get_data(f"{loader.archive}/{FILE}")
    except OSError:
        return b"{}\n"


def _index():
    """Where the data begin, and the place and the length of each zone."""
    line = _read().split(b"\n", 1)[0]
    return len(line) + 1, json.loads(line)


_start, PLACES = _index()


def data_of(key):
    """`None` for an unknown name."""
    at, length = PLACES.get(key, (0, 0))
    return _read()[_start + at : _start + at + length] if length > 0 else None
