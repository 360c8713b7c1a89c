"""The JSON of what a tool answers."""

import base64
import dataclasses
import json
import re

# JavaScript, through which the text goes, takes a whole number with as many digits for an infinite one.
_ENDLESS = re.compile(r"\d{309}")


def encoded(value):
    """Raises where JSON cannot hold it."""
    text = json.dumps(value, default=_plain, allow_nan=False)
    if _ENDLESS.search(text):
        json.loads(text, parse_int=_whole)
    return text


def _whole(digits):
    try:
        float(int(digits))
    except (OverflowError, ValueError):
        raise ValueError(f"a whole number of {len(digits)} digits is too large") from None


def _plain(value):
    """The JSON value of an object that is not JSON by itself."""
    for method in ("model_dump", "dict", "_asdict"):
        if callable(getattr(value, method, None)):
            return getattr(value, method)()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, (set, frozenset)):
        return list(value)
    # Arrays and numbers of numpy, and arrays of the standard library.
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    raise TypeError(f"it is or holds an object of the type {type(value).__name__}")
