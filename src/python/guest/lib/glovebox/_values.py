"""The JSON of what a tool answers. The table for people is docs/reference/values.md."""

import base64
import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import pathlib
import re
import types
import uuid

_DIGITS_MAX = 4096
_ENDLESS = re.compile(r"\d{%d}" % (_DIGITS_MAX + 1))

# What is refused, by its class: what it is, and what to return instead.
_REFUSED = (
    ((types.GeneratorType, map, filter, zip, range), "an iterator: return list(values)"),
    ((types.AsyncGeneratorType,), "an asynchronous generator: return [one async for one in values]"),
    ((types.CoroutineType,), "a coroutine: await it"),
    ((type,), "a class: return its name, or an object of it"),
    ((types.ModuleType,), "a module: return what it has"),
    ((complex,), "a complex number: return [value.real, value.imag]"),
    ((types.FunctionType, types.BuiltinFunctionType, types.MethodType), "a function: call it"),
)


def encoded(value):
    """Raises where JSON cannot hold it, and says where that is and what to return."""
    try:
        text = json.dumps(value, default=_plain, allow_nan=False)
        if _ENDLESS.search(text):
            json.loads(text, parse_int=_whole)
    except (TypeError, ValueError) as error:
        problem = _find(value, "", set())
        if problem is None:
            raise
        # What JSON itself refuses, the problem says better.
        raise ValueError(problem) from (error if isinstance(error, TypeError) else None)
    return text


def _whole(digits):
    if len(digits.lstrip("-")) > _DIGITS_MAX:
        raise ValueError(f"an integer has more than {_DIGITS_MAX} digits: return it as a text")


def _plain(value):
    """The JSON value of an object that is not JSON by itself."""
    for method in ("model_dump", "dict", "_asdict"):
        if callable(getattr(value, method, None)) and not isinstance(value, type):
            return getattr(value, method)()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, (decimal.Decimal, uuid.UUID, pathlib.PurePath)):
        return str(value)
    if isinstance(value, BaseException):
        return {"name": type(value).__name__, "message": str(value)}
    # Arrays and numbers of numpy, and arrays of the standard library.
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    raise TypeError(f"it is or holds an object of the type {type(value).__name__}")


def _duration(value):
    """ISO 8601: P1DT2H3M4.5S."""
    sign = "-" if value < datetime.timedelta() else ""
    value = abs(value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    days = f"{value.days}D" if value.days else ""
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else "", f"{seconds}{fraction}S" if seconds or fraction else ""]
    time = "".join(parts)
    return f"{sign}P{days}{'T' + time if time or not days else ''}{'0S' if not time and not days else ''}"


def _find(value, pointer, above):
    """What is wrong with a value, with its place; None where nothing is."""
    place = pointer or "it"
    if isinstance(value, float):
        odd = value != value or value in (float("inf"), float("-inf"))
        return f"{place} is {value}, which JSON does not have: return a number, a text or None" if odd else None
    if value is None or isinstance(value, (str, bool)):
        return None
    if isinstance(value, int):
        long = abs(value) >= 10**_DIGITS_MAX
        return f"{place} is an integer of more than {_DIGITS_MAX} digits: return it as a text" if long else None
    if id(value) in above:
        return f"{place} is in itself: return it without its own members"
    above = above | {id(value)}
    if isinstance(value, dict):
        for key, member in value.items():
            if not isinstance(key, (str, int, float, bool, type(None))):
                return f"{place} has a key that is a {type(key).__name__}: return texts as keys"
            found = _find(member, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}", above)
            if found is not None:
                return found
        return None
    if isinstance(value, (list, tuple)):
        return next(filter(None, (_find(one, f"{pointer}/{at}", above) for at, one in enumerate(value))), None)
    for classes, words in _REFUSED:
        if isinstance(value, classes):
            return f"{place} is {words}"
    if inspect.isawaitable(value):
        return f"{place} is something to wait for: await it"
    try:
        return _find(_plain(value), pointer, above)
    except TypeError:
        return f"{place} is an object of the type {type(value).__name__}: return a dict of its fields"
