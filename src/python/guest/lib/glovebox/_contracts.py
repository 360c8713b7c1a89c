"""What a tool's module is, in the terms of the contracts that know it."""

import annotationlib
import dis
import inspect
import sys

from . import _classes, _function, _strands
from ._classes import has as _has

_AGENTSPACE = "AgentSpaceV1Tool"
# A module of Xaibo's with functions that are marked as tools: the name of its provider.
_MARKED = "PythonToolProvider (of marked functions)"
_XAIBO_FUNCTIONS = "xaibo.primitives.modules.tools.python_tool_provider"


def describe(module):
    """The names that mean something, as the guest's `Export`s."""
    names = vars(module)
    found = [_value("spec", names["spec"])] if issubclass(type(names.get("spec")), dict) else []
    if "TOOL_SPEC" in names:
        spec = names["TOOL_SPEC"]
        name = spec.get("name") if issubclass(type(spec), dict) else None
        found.append(_value("TOOL_SPEC", spec))
        if issubclass(type(name), str) and callable(names.get(name)):
            found.append({"kind": "function", "name": name, "context": _named_context(names[name])})
    tools = _strands.tools_in(module)
    if tools:
        found.append({"kind": "tools", "name": _strands.EXPORT, "specs": _strands.specs(tools)})
    if "TOOL_SPEC" in names or tools:
        return found
    if inspect.isclass(names.get(_AGENTSPACE)):
        tool = names[_AGENTSPACE]
        described = _class(tool, _AGENTSPACE, {"execute": 1, "execute_command": 2})
        if _has(tool, "execute_command"):
            described["commands"] = _commands(tool.execute_command)
        return found + [described]
    if _defines(module, "execute") or _defines(module, "mount"):
        return found + _function_or_mount(module)
    providers = _providers(module)
    makeable = [one for one in providers if _takes_config(one)]
    marked = _is_marked(module)
    if makeable or providers and not marked:
        # One that cannot be made says itself what it lacks.
        return found + [_class(one, one.__name__, {"list_tools": 0, "execute_tool": 2}) for one in makeable or providers]
    if marked:
        methods = ({"name": "list_tools", "arguments": 0}, {"name": "execute_tool", "arguments": 2})
        return found + [{"kind": "class", "name": _MARKED, "methods": [{**one, "context": None} for one in methods]}]
    return found + (_function_or_mount(module) or _only_function(module))


def _defines(module, name):
    """Whether a module has a function of its own, which says what the module is, whatever its classes look like."""
    value = vars(module).get(name)
    return inspect.isfunction(value) and value.__module__ == module.__name__ and not _is_marked_function(value)


def _function_or_mount(module):
    names = vars(module)
    if callable(names.get("execute")):
        return [{"kind": "function", "name": "default", "context": _positional_context(names["execute"], 1)}]
    if callable(names.get("mount")) or mountable(module) is not None:
        return [{"kind": "mount", "name": "mount", "signature": _mount_signature(names.get("mount"))}]
    return []


def _only_function(module):
    tool = _function.only_in(module)
    if tool is None:
        return []
    own = vars(module).get("spec")
    spec = {**tool.spec(), **(own if issubclass(type(own), dict) else {})}
    return [_value("spec", spec), {"kind": "function", "name": "default", "context": None}]


def _providers(module):
    """The classes that look like providers of tools. Protocols and abstract classes only say how one looks."""
    own = [one for one in _classes.made_in(module) if _has(one, "list_tools") and _has(one, "execute_tool")]
    found = [one for one in own if not _classes.is_abstract(one) and not one.__name__.startswith("_")]
    # Of classes that extend one another the last is meant.
    found = [one for one in found if not any(other is not one and issubclass(other, one) for other in found)]
    # Of several the ones that say that they are providers are meant.
    said = [one for one in found if any(vars(base).get("_is_protocol") for base in one.__mro__[1:])]
    return said or found


def _takes_config(provider):
    """Whether a provider is made of its config alone: one that wraps others is made by the module itself."""
    for given in ({"config": {}}, {}):
        try:
            signature(provider).bind(**given)
            return True
        except TypeError:
            continue
        except ValueError:
            return True
    return False


def _is_marked(module):
    functions = sys.modules.get(_XAIBO_FUNCTIONS)
    return functions is not None and bool(functions.marked(module))


def _is_marked_function(value):
    return getattr(value, "__xaibo_tool__", False) is True


def class_of(module, name):
    """The class of an `Export`."""
    if name != _MARKED:
        return getattr(module, name)
    functions = sys.modules[_XAIBO_FUNCTIONS]

    class Marked(functions.PythonToolProvider):
        def __init__(self):
            super().__init__({"tool_functions": functions.marked(module)})

        execute_tool = functions.PythonToolProvider.run

    return Marked


def _mount_signature(own):
    """How a module's `mount` is written. Where a class is mounted without one, that is as it should be."""
    if not callable(own):
        return {"parameters": 2, "is_async": True}
    positional = [one for one in _parameters(own) if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    rest = any(one.kind == one.VAR_POSITIONAL for one in _parameters(own))
    count = max(len(positional), 2) if rest else len(positional)
    return {"parameters": count, "is_async": inspect.iscoroutinefunction(own)}


def mountable(module):
    """The one class of a module that is a tool of Amplifier's, where the module has no `mount` of its own."""
    own = [one for one in _classes.made_in(module) if _has(one, "execute")]
    tools = [one for one in own if _classes.knows(one, "name") and _classes.knows(one, "description")]
    return tools[0] if len(tools) == 1 else None


def _class(tool, name, methods):
    """`methods`: how many arguments each is given; the context comes after them where there is room for it."""
    described = [
        # The first is the object itself.
        {"name": one, "arguments": count, "context": _positional_context(getattr(tool, one), count + 1)}
        for one, count in methods.items()
        if _has(tool, one)
    ]
    return {"kind": "class", "name": name, "methods": described}


def _commands(function):
    """The texts with which a function compares its first argument after the object, as its code shows them."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount < 2:
        return []
    name = code.co_varnames[1]
    found = []
    before = []
    for one in dis.get_instructions(code):
        if one.opname in ("COMPARE_OP", "CONTAINS_OP") and any(_reads(each, name) for each in before):
            constants = [each.argval for each in before if each.opname == "LOAD_CONST"]
            for constant in constants:
                found += [constant] if isinstance(constant, str) else _texts(constant)
        before = [*before[-1:], one]
    return list(dict.fromkeys(found))


def _reads(instruction, name):
    """A `match` reads once: it compares copies, and in its last case, to which others jump, what it has read."""
    if instruction.opname == "COPY" or (instruction.opname == "LOAD_CONST" and instruction.is_jump_target):
        return True
    read = instruction.argval if instruction.opname.startswith("LOAD_FAST") else None
    return read == name or (isinstance(read, tuple) and read[-1] == name)


def _texts(constant):
    return [one for one in constant if isinstance(one, str)] if isinstance(constant, (tuple, frozenset)) else []


def signature(function):
    """What annotations say does not matter, nor whether their names are known."""
    return inspect.signature(function, annotation_format=annotationlib.Format.STRING)


def _parameters(function):
    try:
        return signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()


def _positional_context(function, before):
    """`positional` where a function needs one more argument than so many."""
    positional = [one for one in _parameters(function) if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if len(positional) <= before:
        return None
    one = positional[before]
    return "positional" if one.default is one.empty or one.name == "context" else None


def _named_context(function):
    """`named` where a function takes it by its name, or whatever it is given."""
    takes = any(one.kind == one.VAR_KEYWORD or one.name == "context" for one in _parameters(function))
    return "named" if takes else None


async def mount(module, config, number):
    """Mounts a module; answers with a `MountReport`. `number` gives an object the number by which it can be called."""
    # Few tools are Amplifier's: the others do without its package.
    from amplifier_core.coordinator import ModuleCoordinator

    config = config or {}
    coordinator = ModuleCoordinator(config=config)
    own = vars(module).get("mount")
    if own is None:
        tool = mountable(module)(config)
        await coordinator.mount("tools", tool, name=tool.name)
        returned = None
    else:
        returned = own(coordinator, config)
        if inspect.isawaitable(returned):
            returned = await returned
    places = {point: place for point, place in coordinator.mount_points.items() if isinstance(place, dict)}
    return {
        "mounted": [
            {"point": str(point), "name": str(name), "tool": _tool(one, number)}
            for point, place in places.items()
            for name, one in place.items()
        ],
        "contributors": [
            {"channel": str(channel), "name": str(one["name"]), "values": _values(one["callback"])}
            for channel, contributors in coordinator.channels.items()
            for one in contributors
        ],
        "cleanups": [number(one) for one in coordinator.cleanups],
        "returned": _returned(returned, number),
    }


def _returned(returned, number):
    if returned is None:
        return None
    if _has(returned, "execute"):
        return _tool(returned, number)
    return {"cleanup": number(returned)} if callable(returned) else {"other": type(returned).__name__}


def _tool(tool, number):
    schema = getattr(tool, "input_schema", None)
    if schema is None and _has(tool, "get_schema"):
        schema = tool.get_schema()
    attributes = {"input_schema": schema or {}}
    for name in ("name", "description", "max_output_chars"):
        value = getattr(tool, name, None)
        if value is not None:
            attributes[name] = value
    methods = ["execute"] if _has(tool, "execute") else []
    return {"object": number(tool), "attributes": attributes, "methods": methods}


def _values(contribute):
    """A contributor that fails has none, and is in nobody's way."""
    try:
        return contribute() if callable(contribute) else None
    except Exception:
        return None


def _value(name, value):
    return {"kind": "value", "name": name, "value": value}
