"""`@tool`: a function, or a method, with the specification that its signature, its hints and its docstring say."""

import enum
import functools
import inspect
import json
import typing

from glovebox import _host

from ..types._events import ToolInterruptEvent, ToolResultEvent, ToolStreamEvent
from ..types.tools import AgentTool, InterruptException, ToolContext
from . import _docs, _hints

_EMPTY = inspect.Parameter.empty


class FunctionToolMetadata:
    """What is known of a function before it is called. `context_param`: the parameter that takes the `ToolContext`."""

    def __init__(self, func, context_param=None):
        self.func = func
        self.signature = inspect.signature(func)
        self.type_hints = typing.get_type_hints(func, include_extras=True)
        self._context_param = context_param
        self._require_context()
        special = {"self", "cls", "agent", context_param}
        self.parameters = {name: one for name, one in self.signature.parameters.items() if name not in special}

    @functools.cached_property
    def param_descriptions(self):
        return _docs.parameters_of(self.func)

    @functools.cached_property
    def schema(self):
        """Of the arguments. Only a description needs it, and no call."""
        defs = {}
        properties = {name: self._property(one, defs) for name, one in self.parameters.items()}
        required = [name for name, one in self.parameters.items() if one.default is _EMPTY]
        schema = {"properties": properties, "type": "object", **({"required": required} if required else {})}
        return {"$defs": defs, **schema} if defs else schema

    def _require_context(self):
        for one in self.signature.parameters.values():
            if self._hint(one) is not ToolContext:
                continue
            if self._context_param is None:
                raise ValueError("@tool(context) must be set if passing in ToolContext param")
            if one.name != self._context_param:
                raise ValueError(f"param_name=<{one.name}> | ToolContext param must be named '{self._context_param}'")

    def _hint(self, parameter):
        if parameter.annotation is _EMPTY:
            return typing.Any
        # The signature has what is written; hints have what a text stands for.
        return self.type_hints.get(parameter.name, parameter.annotation)

    def extract_metadata(self):
        description = _docs.description_of(self.func)
        return {"name": self.func.__name__, "description": description, "inputSchema": {"json": self.schema}}

    def _property(self, parameter, defs):
        hint = self._hint(parameter)
        schema = _hints.schema_of(hint, defs)
        described = {"description": self._description(parameter.name, hint)}
        if parameter.default is not _EMPTY:
            described |= _default(parameter.default)
            kinds = schema.get("anyOf", ())
            others = [one for one in kinds if one.get("type") != "null"]
            if len(kinds) == 2 and len(others) == 1:
                # A parameter that may be left out need not be said to take nothing.
                schema = others[0]
        schema = {**described, **schema}
        for key in ("title", "additionalProperties"):
            schema.pop(key, None)
        return schema

    def _description(self, name, hint):
        notes = hint.__metadata__ if typing.get_origin(hint) is typing.Annotated else ()
        if any(type(one).__name__ == "FieldInfo" for one in notes):
            raise NotImplementedError(
                "Using pydantic.Field within Annotated is not yet supported for tool decorators. Please use a simple "
                "string for the description, or define constraints in the function's docstring."
            )
        said = [one for one in notes if isinstance(one, str)]
        return said[-1] if said else self.param_descriptions.get(name) or f"Parameter {name}"

    def validate_input(self, input_data):
        """The arguments, with defaults, as their hints want them. Raises a `ValueError`."""
        valid = {}
        problems = []
        for name, one in self.parameters.items():
            if name not in input_data:
                if one.default is _EMPTY:
                    problems.append(f"{name}: Field required")
                else:
                    valid[name] = one.default
                continue
            value = input_data[name]
            try:
                # A default is never checked.
                valid[name] = None if value is None and one.default is None else _hints.fitted(self._hint(one), value)
            except ValueError as error:
                problems.append(f"{name}: {error}")
        if problems:
            raise ValueError(f"Validation failed for input parameters: {'; '.join(problems)}")
        return valid

    def inject_special_parameters(self, validated_input, tool_use, invocation_state):
        if self._context_param in self.signature.parameters:
            agent = invocation_state["agent"]
            context = ToolContext(tool_use=tool_use, agent=agent, invocation_state=invocation_state)
            validated_input[self._context_param] = context
        if "agent" in self.signature.parameters and "agent" in invocation_state:
            validated_input["agent"] = invocation_state["agent"]


def _default(value):
    value = value.value if isinstance(value, enum.Enum) else value
    try:
        return {"default": json.loads(json.dumps(list(value) if isinstance(value, (set, frozenset)) else value))}
    except (TypeError, ValueError):
        return {}


class DecoratedFunctionTool(AgentTool):
    """The function, which can be called as before, and a tool."""

    def __init__(self, tool_name, tool_spec, tool_func, metadata):
        super().__init__()
        self._tool_name = tool_name
        self._tool_spec = tool_spec
        self._tool_func = tool_func
        self._metadata = metadata
        functools.update_wrapper(wrapper=self, wrapped=tool_func)

    def __get__(self, instance, obj_type=None):
        if instance is None or inspect.ismethod(self._tool_func):
            return self
        bound = self._tool_func.__get__(instance, instance.__class__)
        return DecoratedFunctionTool(self._tool_name, self._tool_spec, bound, self._metadata)

    def __call__(self, *args, **kwargs):
        return self._tool_func(*args, **kwargs)

    @property
    def tool_name(self):
        return self._tool_name

    @property
    def tool_spec(self):
        return self._tool_spec

    @tool_spec.setter
    def tool_spec(self, value):
        if value.get("name") != self._tool_name:
            raise ValueError(
                f"cannot change tool name via tool_spec (expected '{self._tool_name}', got '{value.get('name')}')"
            )
        for field in ("description", "inputSchema"):
            if field not in value:
                raise ValueError(f"tool_spec must contain '{field}'")
        self._tool_spec = value

    @property
    def tool_type(self):
        return "function"

    @property
    def supports_hot_reload(self):
        return True

    def get_display_properties(self):
        return {**super().get_display_properties(), "Function": self._tool_func.__name__}

    async def stream(self, tool_use, invocation_state, **kwargs):
        use_id = tool_use.get("toolUseId", "unknown")
        try:
            given = self._metadata.validate_input(tool_use.get("input", {}))
            self._metadata.inject_special_parameters(given, tool_use, invocation_state)
            if inspect.isasyncgenfunction(self._tool_func):
                result = None
                async for result in self._tool_func(**given):
                    yield ToolStreamEvent(tool_use, result)
            else:
                result = self._tool_func(**given)
                if inspect.iscoroutinefunction(self._tool_func):
                    result = await result
            yield _result_event(use_id, result)
        except InterruptException as error:
            yield ToolInterruptEvent(tool_use, [error.interrupt])
        except Exception as error:
            if isinstance(error, MemoryError) or _host.number_of(error) is not None:
                # What the host refused or ended has a code of its own.
                raise
            said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} - {error}"
            yield _result_event(use_id, {"status": "error", "content": [{"text": f"Error: {said}"}]}, error)


def _result_event(use_id, result, exception=None):
    if isinstance(result, dict) and "status" in result and "content" in result:
        return ToolResultEvent({**result, "toolUseId": use_id}, exception)
    content = [{"text": _text_of(result)}]
    return ToolResultEvent({"toolUseId": use_id, "status": "success", "content": content}, exception)


def _text_of(result):
    if isinstance(result, str):
        return result
    try:
        return result.model_dump_json() if callable(getattr(result, "model_dump_json", None)) else json.dumps(result)
    except (TypeError, ValueError):
        return str(result)


def tool(func=None, description=None, inputSchema=None, name=None, context=False):
    """Makes a tool of a function. `context`: whether, or as which parameter, it takes the `ToolContext`."""

    def decorator(function):
        context_param = ("tool_context" if context else None) if isinstance(context, bool) else context.strip()
        if context_param == "":
            raise ValueError("Context parameter name cannot be empty")
        metadata = FunctionToolMetadata(function, context_param)
        said = {"name": name, "description": description, "inputSchema": inputSchema}
        spec = metadata.extract_metadata() | {key: value for key, value in said.items() if value is not None}
        if not isinstance(spec["name"], str):
            raise ValueError(f"Tool name must be a string, got {type(spec['name'])}")
        return DecoratedFunctionTool(spec["name"], spec, function, metadata)

    return decorator if func is None else decorator(func)
