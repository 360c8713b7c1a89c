"""What a tool raised, as data. All of it is the tool's to write, so it is cut, and nothing is raised from here."""

import contextlib
import linecache
import sys
import traceback
from collections import deque

from ._host import number_of

_TYPE_MAX = 100
_MESSAGE_MAX = 2_000
_CAUSE_MAX = 1_000
_LINE_MAX = 200
_FRAMES_MAX = 10
_GROUP_MAX = 5
_TRACEBACK_MAX = 8_000

# Packages whose modules have other names.
_PACKAGES = {
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "jwt": "PyJWT",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}

# What a class says of its name may be anything; this is what it is called. So is what an object says of its class.
_NAME = type.__dict__["__name__"]
_OWN = ("/tool/", "/tool-packages/")
# Frames of the sandbox and of the standard library would tell nobody anything.
_OTHERS = ("<glovebox", "<frozen", "/lib/python")


def described(error):
    is_memory = issubclass(type(error), MemoryError)
    with contextlib.suppress(BaseException):
        if is_memory:
            # What its frames hold is the memory that is missing.
            traceback.clear_frames(error.__traceback__)
        message = _message(error) + _cause(error)
        return {
            "type": type_of(error),
            "message": message,
            "traceback": cut(_traceback(error), _TRACEBACK_MAX),
            "error": number_of(error),
            "code": "memory_limit" if is_memory else None,
        }
    code = "memory_limit" if is_memory else None
    return {"type": "Exception", "message": "it cannot be described", "traceback": "", "error": None, "code": code}


def type_of(error):
    return cut(_NAME.__get__(type(error)), _TYPE_MAX)


def cut(text, most):
    """A text of its own: what a class of texts does when it is cut is anybody's guess."""
    return str.__getitem__(text, slice(0, most))


def _message(error):
    if issubclass(type(error), SystemExit):
        return f"the tool called exit({cut(repr(error.code), _LINE_MAX)})"
    message = cut(str(error), _MESSAGE_MAX) or type_of(error)
    return message + _remedy(error.name) if type(error) is ModuleNotFoundError else message


def _remedy(module):
    """What to do about a module that is not there."""
    name = cut(module, _TYPE_MAX).partition(".")[0] if type(module) is str else ""
    if not name or name in sys.modules:
        return ""
    if name in sys.stdlib_module_names:
        return "; this part of Python's library is not available in an isolate"
    package = _PACKAGES.get(name, name)
    asked = f"ask for the package {package} in requirements.txt or pyproject.toml"
    return f"; {asked}, and put its wheel into packages.wheels: glovebox python add {package}"


def _cause(error):
    cause = error.__cause__
    return "" if cause is None else f" (cause: {type_of(cause)}: {cut(_message(cause), _CAUSE_MAX)})"


def _traceback(error):
    lines = ["Traceback (most recent call last):", *_frames(error.__traceback__)]
    if issubclass(type(error), SyntaxError):
        lines += [cut(line, _LINE_MAX).rstrip() for line in traceback.format_exception_only(error)]
    else:
        lines.append(f"{type_of(error)}: {_message(error)}")
    if issubclass(type(error), BaseExceptionGroup):
        lines += [f"  | {type_of(one)}: {cut(_message(one), _LINE_MAX)}" for one in error.exceptions[:_GROUP_MAX]]
    return "\n".join(lines)


def _frames(trace):
    last = deque(maxlen=_FRAMES_MAX)
    for frame, line in traceback.walk_tb(trace):
        if not frame.f_code.co_filename.startswith(_OTHERS):
            last.append((frame.f_code, line))
    for code, line in last:
        file = code.co_filename
        yield f'  File "{cut(file, _LINE_MAX)}", line {line}, in {cut(code.co_name, _LINE_MAX)}'
        text = linecache.getline(file, line).strip() if file.startswith(_OWN) else ""
        if text:
            yield f"    {cut(text, _LINE_MAX)}"
