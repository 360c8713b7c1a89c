"""The standard library's module, with the names of the sandbox's data."""

import functools

from glovebox import _standard, _zones

_standard.evaluate(__name__, globals())
_of_package = available_timezones  # noqa: F821


@functools.wraps(_of_package)
def available_timezones():
    return _of_package() if _zones.has_package() else set(_zones.PLACES)
