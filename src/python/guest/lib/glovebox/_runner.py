"""What the sandbox calls. Texts come in, and texts go out; nothing is raised."""

import asyncio
import contextlib
import functools
import inspect
import json
import time
from types import MappingProxyType

from . import _built_in, _contracts, _errors, _files, _function, _host, _random, _strands, _streams, _system, _values
from ._tool import Tool
from .context import Context

_tool = None
_instances = {}


class _Instance:
    """A module, and what was made of it."""

    def __init__(self, module):
        self.module = module
        self.objects = {}
        self.numbered = []
        self.state = None

    def number(self, value):
        self.numbered.append(value)
        return len(self.numbered) - 1

    def default(self):
        """The function that is called where a module is one."""
        own = vars(self.module).get("execute")
        return own if callable(own) else self._only

    @functools.cached_property
    def _only(self):
        return _function.only_in(self.module)


def connect(host):
    """The interpreter begins, from a memory that others began from as well."""
    _host.connect(host)


def load(text):
    return _answer(lambda: _load(text))


def _load(text):
    global _tool
    _tool = Tool(text)
    return _tool.libraries


def instantiate(number):
    """What the module exports."""
    return _answer(lambda: _contracts.describe(_instantiate(None, number).module))


def _instantiate(run, number):
    _files.renew(run)
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
        return _answer(lambda: _files.completed(run, _invoke(call, *json.loads(text))))
    finally:
        _files.end(run)
        _streams.end(run)
        _host.end(run)


def _invoke(call, number, target, args, context):
    instance = _instances.get(number) or _instantiate(call.run, number)
    match target["kind"]:
        case "mount":
            result = _contracts.mount(instance.module, *args, instance.number)
        case "function":
            name = target["name"]
            function = instance.default() if name == "default" else getattr(instance.module, name)
            state = _sdk_state(instance) if context == "named" and _strands.takes_state(function) else {}
            result = _called(function, args, context, state)
        case "class":
            key = (target["name"], target["key"])
            if key not in instance.objects:
                instance.objects[key] = _make(_contracts.class_of(instance.module, target["name"]), target["init"])
            result = _called(getattr(instance.objects[key], target["method"]), args, context)
        case "tool":
            result = _strands_tool(instance, target["name"], *args)
        case _:
            value = instance.numbered[target["object"]]
            result = (value if target["method"] is None else getattr(value, target["method"]))(*args)
    return _waited(call, result) if inspect.isawaitable(result) else result


def _called(function, args, context, state=MappingProxyType({})):
    """`context`: how it is given the call's, where it takes it."""
    match context:
        case "positional":
            return function(*args, Context())
        case "named":
            return function(*args, **state, context=Context())
        case _:
            return function(*args)


def _sdk_state(instance):
    # Only modules that have imported the SDK come here.
    from strands.agent.calling import CallingAgent

    if instance.state is None:
        instance.state = {"agent": CallingAgent(), "request_state": {}}
    return instance.state


def _strands_tool(instance, name, use, config):
    state = _sdk_state(instance)
    place, owner = _strands.place_of(instance.module, name)
    if place.owner is not None and owner is None:
        key = (_strands.EXPORT, place.owner)
        if key not in instance.objects:
            instance.objects[key] = _make(place.owner, [config])
        owner = instance.objects[key]
    return _strands.called(place, owner, use, state)


def _make(tool, init):
    """A class that takes nothing is made of nothing."""
    try:
        _contracts.signature(tool).bind(*init)
    except TypeError:
        init = []
    except ValueError:
        pass
    return tool(*init)


def _waited(call, awaitable):
    """What a coroutine comes to: most never have to wait for anything."""
    if not inspect.iscoroutine(awaitable):
        awaitable = _awaited(awaitable)
    loop = asyncio.get_event_loop()
    call.task = asyncio.Task.__new__(asyncio.Task)
    # An exit goes through the task at once: without its result, the loop would report that nobody has taken it.
    with contextlib.suppress(SystemExit, KeyboardInterrupt):
        call.task.__init__(awaitable, loop=loop, eager_start=True)
    if not call.task.done():
        # What it raises goes by no way but this: on its way through JavaScript it would be logged, and get frames.
        ended = loop.create_future()
        call.task.add_done_callback(lambda _: ended.set_result(None))
        _host.wait(ended)
    return call.task.result()


async def _awaited(awaitable):
    return await awaitable


def _answer(body):
    try:
        value = body()
    except BaseException as error:
        return json.dumps({"ok": False, **_errors.described(error)})
    try:
        return f'{{"ok": true, "value": {_values.encoded(value)}}}'
    except BaseException as error:
        told = _errors.described(error)
        message = f"the tool returned a value that JSON cannot hold: {told['message']}"
        return json.dumps({"ok": False, **told, "message": message, "code": told["code"] or "invalid_output"})


_built_in.install()
_host.install()
_random.install()
_streams.install()
_system.install()
_files.install()
_built_in.put(time, "sleep", _host.sleep)
