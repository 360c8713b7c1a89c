"""Functions as tools: their signatures and docstrings say what the tools are."""

import annotationlib
import importlib
import inspect
import sys
import types
import typing

from ....core.models.tools import Tool, ToolParameter, ToolResult
from ....core.protocols.tools import ToolProviderProtocol
from ._docstring import described

_ROOT = "/tool/"
# `bool` before `int`, of which it is a kind.
_TYPES = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (dict, "object"),
    ((list, tuple, set, frozenset), "array"),
)


def tool(fn):
    setattr(fn, "__xaibo_tool__", True)
    return fn


def marked(module):
    """A module's functions that are tools, also those that it imports."""
    found = (value for value in vars(module).values() if _is_marked(value))
    return list({id(one): one for one in found}.values())


class PythonToolProvider(ToolProviderProtocol):
    def __init__(self, config=None):
        config = config or {}
        self.tool_packages = config.get("tool_packages") or []
        self.tool_functions = config.get("tool_functions") or []

    async def list_tools(self):
        return [_tool(function) for function in self._functions()]

    async def execute_tool(self, tool_name, parameters):
        if not any(_name(function) == tool_name for function in self._functions()):
            return ToolResult(success=False, error=f"Tool {tool_name} not found")
        try:
            return await self.run(tool_name, parameters)
        except Exception as error:
            return ToolResult(success=False, error=str(error))

    async def run(self, tool_name, parameters):
        """Raises what the function raises."""
        function = next(one for one in self._functions() if _name(one) == tool_name)
        value = function(**parameters)
        return ToolResult(success=True, result=await value if inspect.isawaitable(value) else value)

    def _functions(self):
        for function in self.tool_functions:
            if callable(function):
                yield tool(function)
        for package in self.tool_packages:
            yield from marked(importlib.import_module(package))


def _is_marked(value):
    try:
        return callable(value) and value.__xaibo_tool__ is True and isinstance(value.__name__, str)
    except Exception:
        return False


def _name(function):
    """The module's name is the one by which packages import it, whatever it runs as."""
    file = getattr(sys.modules.get(function.__module__), "__file__", None) or ""
    module = function.__module__
    if file.startswith(_ROOT):
        module = file.removeprefix(_ROOT).removesuffix(".py").removesuffix("/__init__")
    return f"{module}.{function.__name__}".replace("/", "-").replace(".", "-")


def _tool(function):
    description, parameters = described(inspect.getdoc(function) or "")
    form = annotationlib.Format.FORWARDREF
    signature = inspect.signature(function, annotation_format=form).parameters.values()
    return Tool(
        name=_name(function),
        description=description or function.__name__,
        parameters={
            one.name: _parameter(one, parameters.get(one.name), function)
            for one in signature
            if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        },
    )


def _parameter(one, description, function):
    kind, names = _type(one.annotation, function)
    return ToolParameter(type=kind, description=description, required=one.default is one.empty, enum=names)


def _type(hint, function):
    """The name of a type, and the strings that are allowed."""
    if isinstance(hint, str):
        hint = _evaluated(hint, function)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _type(inner[0], function)
    if origin in (typing.Union, types.UnionType):
        inner = [one for one in inner if one is not type(None)]
        return _type(inner[0], function) if len(inner) == 1 else ("any", None)
    if origin is typing.Literal and all(isinstance(one, str) for one in inner):
        return "string", list(inner)
    kind = origin or hint
    for known, name in _TYPES if inspect.isclass(kind) and kind is not inspect.Parameter.empty else ():
        if issubclass(kind, known):
            return name, None
    return "any", None


def _evaluated(text, function):
    """An annotation that is written as a text."""
    try:
        return eval(text, vars(sys.modules[function.__module__]))
    except Exception:
        return None
