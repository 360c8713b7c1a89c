"""Tools of the Strands SDK in a module: decorated functions, methods of its classes, and other objects that are tools."""

import inspect
import json
import sys

from . import _classes, _host

EXPORT = "~strands"
_MESSAGE_MAX = 1_000


class _Place:
    """Where a tool is: in the module itself, or a member of the one object of a class."""

    def __init__(self, tool, owner=None, member=None):
        self.tool = tool
        self.owner = owner
        self.member = member


def tools_in(module):
    """Places of the tools by their names. A module that has not imported the SDK has none."""
    types = sys.modules.get("strands.types.tools")
    if types is None:
        return {}
    found = {}
    for value in list(vars(module).values()):
        # Not `isinstance`: what an object says of its class may be anything.
        if issubclass(type(value), types.AgentTool):
            found[value.tool_name] = _Place(value)
    for owner in _classes.made_in(module):
        members = [] if _classes.is_abstract(owner) else _members(owner, types.AgentTool)
        for member, tool in members:
            found[tool.tool_name] = _Place(tool, owner, member)
    return found


def _members(owner, kind):
    seen = set()
    for each in type.mro(owner):
        for name, member in _classes.members(each).items():
            if name not in seen and issubclass(type(member), kind):
                yield name, member
            seen.add(name)


def specs(places):
    """Their specifications. Defaults are written into arguments, so a parameter takes what it has as its default."""
    return [accepting(place.tool.tool_spec) for place in places.values()]


def accepting(spec):
    schema = spec["inputSchema"]["json"] if isinstance(spec.get("inputSchema"), dict) else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return spec
    changed = {name: _nullable(one) for name, one in properties.items()}
    return {**spec, "inputSchema": {"json": {**schema, "properties": changed}}}


def _nullable(schema):
    if not isinstance(schema, dict) or "default" not in schema or schema["default"] is not None or "anyOf" in schema:
        return schema
    kept = {key: schema[key] for key in ("description", "default") if key in schema}
    kind = {key: value for key, value in schema.items() if key not in kept}
    return {**kept, "anyOf": [kind, {"type": "null"}]} if kind else schema


def takes_state(function):
    """Whether the function of a `TOOL_SPEC` takes by name what the SDK gives it, in a module that has imported the SDK."""
    if "strands.types.tools" not in sys.modules:
        return False
    return any(one.kind == one.VAR_KEYWORD for one in inspect.signature(function).parameters.values())


def place_of(module, name):
    """Where the tool is, with the module's own object of its class, if it has one."""
    place = tools_in(module)[name]
    return place, next((value for value in vars(module).values() if type(value) is place.owner), None)


async def called(place, owner, use, state):
    """The result of a call. What the tool's stream yields before is the call's progress."""
    tool = place.tool if place.owner is None else getattr(owner, place.member)
    last = None
    count = 0
    async for event in tool.stream(use, state):
        if count > 0:
            _host.host.progress(count, None, _text(_streamed(last))[:_MESSAGE_MAX])
        count += 1
        last = event
    asked = last.get("tool_interrupt_event") if isinstance(last, dict) else None
    if asked is not None:
        names = ", ".join(str(one.name) for one in asked["interrupts"])
        text = f"the tool asks a person ({names}), and nobody can be asked"
        return {"toolUseId": use["toolUseId"], "status": "error", "content": [{"text": text}]}
    # A tool that is no function may yield its result as it is.
    return last.get("tool_result", last) if isinstance(last, dict) else last


def _streamed(event):
    stream = event.get("tool_stream_event") if isinstance(event, dict) else None
    return stream["data"] if isinstance(stream, dict) and "data" in stream else event


def _text(data):
    if isinstance(data, str):
        return data
    try:
        return json.dumps(data)
    except (TypeError, ValueError):
        return str(data)
