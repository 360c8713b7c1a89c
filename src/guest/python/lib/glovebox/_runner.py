"""What the sandbox calls. Texts come in, and texts go out; nothing is raised."""

import asyncio
import base64
import contextlib
import dataclasses
import inspect
import json
import sys
import time
import traceback

from . import _contracts, _host, _random, _streams
from ._tool import ROOT, Tool
from .context import Context

_MESSAGE_MAX = 2_000
_TRACEBACK_MAX = 8_000

_tool = None
_instances = {}


class _Instance:
    """A module, and what was made of it."""

    def __init__(self, module):
        self.module = module
        self.objects = {}
        self.numbered = []

    def number(self, value):
        self.numbered.append(value)
        return len(self.numbered) - 1


def connect(host):
    """The interpreter begins, from a memory that others began from as well."""
    _host.connect(host)


def load(text):
    return _answer(lambda: _load(text))


def _load(text):
    global _tool
    _tool = Tool(text)


def instantiate(number):
    """What the module exports."""
    return _answer(lambda: _contracts.describe(_instantiate(number).module))


def _instantiate(number):
    _random.forget()
    instance = _instances[number] = _Instance(_tool.evaluate())
    return instance


def release(number):
    _instances.pop(number, None)


def cancel(run):
    _host.cancel(run)


def invoke(run, text):
    call = _host.begin(run)
    try:
        return _answer(lambda: _invoke(call, *json.loads(text)))
    finally:
        _streams.end(run)
        _host.end(run)


def _invoke(call, number, target, args, takes_context):
    instance = _instances.get(number) or _instantiate(number)
    match target["kind"]:
        case "function" if target["name"] == "mount":
            result = _contracts.mount(instance.module, *args, instance.number)
        case "function":
            name = "execute" if target["name"] == "default" else target["name"]
            context = [Context()] if takes_context else []
            result = getattr(instance.module, name)(*args, *context)
        case "class":
            key = (target["name"], target["key"])
            if key not in instance.objects:
                instance.objects[key] = _make(getattr(instance.module, target["name"]), target["init"])
            result = getattr(instance.objects[key], target["method"])(*args)
        case _:
            value = instance.numbered[target["object"]]
            result = (value if target["method"] is None else getattr(value, target["method"]))(*args)
    return _waited(call, result) if inspect.isawaitable(result) else result


def _make(tool, init):
    """A class that takes nothing is made of nothing."""
    try:
        inspect.signature(tool).bind(*init)
    except TypeError:
        init = []
    except ValueError:
        pass
    return tool(*init)


def _waited(call, awaitable):
    """What a coroutine comes to: most never have to wait for anything."""
    if not inspect.iscoroutine(awaitable):
        awaitable = _awaited(awaitable)
    call.task = asyncio.Task(awaitable, loop=asyncio.get_event_loop(), eager_start=True)
    return call.task.result() if call.task.done() else _host.wait(call.task)


async def _awaited(awaitable):
    return await awaitable


def _answer(body):
    try:
        text = json.dumps({"ok": True, "value": body()}, default=_plain, allow_nan=False)
    except BaseException as error:
        text = json.dumps({"ok": False, **_described(error)})
    return text


def _plain(value):
    """The JSON of what is none by itself."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    for method in ("model_dump", "dict", "_asdict"):
        if callable(getattr(value, method, None)):
            return getattr(value, method)()
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _described(error):
    with contextlib.suppress(BaseException):
        return {
            "type": type(error).__name__[:100],
            "message": _message(error)[:_MESSAGE_MAX],
            "traceback": _frames(error)[:_TRACEBACK_MAX],
            "error": getattr(error, "_number", None) if isinstance(error, _host.CapabilityError) else None,
        }
    return {"type": "Exception", "message": "it cannot be described", "traceback": "", "error": None}


def _message(error):
    if isinstance(error, SystemExit):
        return f"the tool called exit({error.code!r})"
    if isinstance(error, KeyError) and error.args:
        return f"{error.args[0]!r}"
    return str(error) or type(error).__name__


def _frames(error):
    """The tool's own frames: those of the sandbox would tell nobody anything."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith("<glovebox")]
    lines = traceback.format_list(frames[-10:])
    return "".join(["Traceback (most recent call last):\n", *lines, *traceback.format_exception_only(error)]).rstrip()


_random.install()
_streams.install()
time.sleep = _host.sleep
