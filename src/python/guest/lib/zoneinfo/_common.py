"""The standard library's module, with the data of the sandbox."""

import io

from glovebox import _standard, _zones

_standard.evaluate(__name__, globals())
_of_package = load_tzdata  # noqa: F821


def load_tzdata(key):
    if _zones.has_package():
        return _of_package(key)
    data = _zones.data_of(key)
    if data is None:
        remedy = "" if _zones.PLACES else "; the machine has no data of time zones: run glovebox python add tzdata"
        raise ZoneInfoNotFoundError(f"No time zone found with key {key}{remedy}")  # noqa: F821
    return io.BytesIO(data)
