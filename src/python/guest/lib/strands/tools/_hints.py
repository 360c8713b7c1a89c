"""Type hints as JSON Schema, and values that fit them. Models of pydantic are asked themselves."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import pathlib
import types
import typing
import uuid

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_WRITTEN = {
    datetime.datetime: "date-time",
    datetime.date: "date",
    datetime.time: "time",
    uuid.UUID: "uuid",
    pathlib.Path: "path",
    pathlib.PurePath: "path",
    bytes: "binary",
}
_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Set)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def bare(hint):
    """A hint without what it is annotated with, and what an alias stands for."""
    while True:
        if typing.get_origin(hint) is typing.Annotated:
            hint = typing.get_args(hint)[0]
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif isinstance(hint, typing.TypeAliasType):
            hint = hint.__value__
        elif isinstance(hint, typing.TypeVar):
            hint = hint.__bound__ or typing.Any
        elif typing.get_origin(hint) in (typing.Required, typing.NotRequired, typing.ReadOnly):
            hint = typing.get_args(hint)[0]
        else:
            return hint


def schema_of(hint, defs):
    """`defs`: the definitions that the schema refers to, by their names."""
    hint = bare(hint)
    origin, args = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(one, defs) for one in args]}
    if origin is typing.Literal:
        return _choice(list(args))
    if hint is None:
        return {"type": "null"}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint in _WRITTEN:
        return {"format": _WRITTEN[hint], "type": "string"}
    if hint is decimal.Decimal:
        return {"anyOf": [{"type": "number"}, {"type": "string"}]}
    if origin in _LISTS:
        return _list(origin, args, defs)
    if origin in _MAPPINGS:
        values = schema_of(args[1], defs) if len(args) == 2 else {}
        return {"additionalProperties": values or True, "type": "object"}
    return _class(hint, defs) if inspect.isclass(hint) else {}


def _list(origin, args, defs):
    if origin is tuple and args and args[-1] is not Ellipsis:
        items = [schema_of(one, defs) for one in args]
        return {"maxItems": len(items), "minItems": len(items), "prefixItems": items, "type": "array"}
    schema = {"items": schema_of(args[0], defs) if args else {}, "type": "array"}
    return {**schema, "uniqueItems": True} if origin in (set, frozenset, collections.abc.Set) else schema


def _choice(values):
    kinds = {_PLAIN.get(type(one)) for one in values}
    kind = {"type": kinds.pop()} if len(kinds) == 1 and None not in kinds else {}
    return {"const": values[0], **kind} if len(values) == 1 else {"enum": values, **kind}


def _class(hint, defs):
    """A class has a definition of its own, to which it may refer itself."""
    make = _maker(hint)
    if make is None:
        return {}
    name = hint.__name__
    if name not in defs:
        defs[name] = {}
        defs[name] = make(hint, defs)
    return {"$ref": f"#/$defs/{name}"}


def _maker(hint):
    if callable(getattr(hint, "model_json_schema", None)):
        return _model
    if issubclass(hint, enum.Enum):
        return _enum
    if dataclasses.is_dataclass(hint):
        return _dataclass
    return _typed_dict if typing.is_typeddict(hint) else None


def _model(hint, defs):
    schema = hint.model_json_schema()
    defs.update(schema.pop("$defs", {}))
    return schema


def _enum(hint, _defs):
    return {**_titled(hint), **_choice([one.value for one in hint])}


def _dataclass(hint, defs):
    hints = typing.get_type_hints(hint, include_extras=True)
    fields = [one for one in dataclasses.fields(hint) if one.init]
    required = [
        one.name for one in fields if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
    ]
    defaults = {one.name: one.default for one in fields if one.default is not dataclasses.MISSING}
    return _object(hint, {one.name: hints[one.name] for one in fields}, required, defaults, defs)


def _typed_dict(hint, defs):
    hints = typing.get_type_hints(hint, include_extras=True)
    return _object(hint, hints, [name for name in hints if name in hint.__required_keys__], {}, defs)


def _object(hint, hints, required, defaults, defs):
    properties = {name: {"title": _title(name), **schema_of(one, defs)} for name, one in hints.items()}
    for name, value in defaults.items():
        properties[name]["default"] = value.value if isinstance(value, enum.Enum) else value
    schema = {"properties": properties, **({"required": required} if required else {})}
    return {**_titled(hint), **schema, "type": "object"}


def _title(name):
    return name.replace("_", " ").title()


def _titled(hint):
    doc = vars(hint).get("__doc__")
    # Dataclasses without a docstring are given their signature.
    is_own = isinstance(doc, str) and doc.strip() and not doc.startswith(f"{hint.__name__}(")
    return {"title": hint.__name__, **({"description": inspect.cleandoc(doc)} if is_own else {})}


def fitted(hint, value):
    """The value as the tool is given it. Raises a `ValueError` for one that does not fit."""
    hint = bare(hint)
    origin, args = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _fitted_to_one(args, value)
    if origin is typing.Literal:
        if any(value == one and type(value) is type(one) for one in args):
            return value
        raise ValueError(f"Input should be {' or '.join(map(repr, args))}")
    if hint in _PLAIN or hint is None:
        return _plain(type(None) if hint is None else hint, value)
    if hint in _WRITTEN or hint is decimal.Decimal:
        return _read(hint, value)
    if origin in _LISTS:
        return _fitted_list(origin, args, value)
    if origin in _MAPPINGS:
        if not isinstance(value, dict):
            raise ValueError("Input should be a valid dictionary")
        return {key: fitted(args[1], one) for key, one in value.items()} if len(args) == 2 else value
    return _fitted_class(hint, value) if inspect.isclass(hint) else value


def _fitted_to_one(hints, value):
    """What fits as it is goes before what can be made to fit."""
    for hint in hints:
        if bare(hint) in _PLAIN and type(value) is bare(hint):
            return value
    problems = []
    for hint in hints:
        try:
            return fitted(hint, value)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError("; ".join(problems))


def _plain(kind, value):
    if type(value) is kind:
        return value
    if kind is float and type(value) is int:
        return float(value)
    if kind is int and type(value) is float and value.is_integer():
        return int(value)
    if kind in (int, float) and isinstance(value, str):
        try:
            return kind(value)
        except ValueError:
            pass
    raise ValueError(f"Input should be a valid {_PLAIN[kind]}")


def _read(hint, value):
    if isinstance(value, hint):
        return value
    if isinstance(value, str):
        if hint is bytes:
            return value.encode()
        return hint.fromisoformat(value) if hasattr(hint, "fromisoformat") else hint(value)
    if hint is decimal.Decimal and isinstance(value, (int, float)):
        return decimal.Decimal(str(value))
    raise ValueError(f"Input should be a valid {hint.__name__}")


def _fitted_list(origin, args, value):
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise ValueError("Input should be a valid list")
    if origin is tuple and args and args[-1] is not Ellipsis:
        if len(value) != len(args):
            raise ValueError(f"Input should have {len(args)} items")
        return tuple(fitted(hint, one) for hint, one in zip(args, value))
    items = [fitted(args[0], one) for one in value] if args else list(value)
    return origin(items) if origin in (tuple, set, frozenset) else items


def _fitted_class(hint, value):
    """An object is given as its dictionary, as the SDK does."""
    if callable(getattr(hint, "model_validate", None)):
        return hint.model_validate(value).model_dump()
    if issubclass(hint, enum.Enum):
        return hint(value)
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
        if not isinstance(value, dict):
            raise ValueError("Input should be a valid dictionary")
        hints = typing.get_type_hints(hint, include_extras=True)
        return {name: fitted(hints[name], one) for name, one in value.items() if name in hints}
    return value
