"""Classes whose JSON is an object with named members: TypedDict, dataclass, NamedTuple; and defaults in schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, InitVar, fields
from enum import Enum, Flag
from inspect import signature
from typing import Any, NamedTuple, get_origin

from tools_core._definition._hints._annotations import Schema, evaluate_members
from tools_core._definition._hints._generics import member_types, type_parameters, types_in
from tools_core._jsonschema._types import accepts_null


class Members(NamedTuple):
    """The members of a class, and the function that creates an instance; a TypedDict has none."""

    hints: dict[str, Any]
    required: list[str]
    defaults: Mapping[str, Any]
    factory: Callable[..., Any] | None = None


def has_members(cls: type) -> bool:
    """Return whether a class is a TypedDict, a dataclass, a class of attrs or a NamedTuple."""
    is_named_tuple = hasattr(cls, "_fields") and issubclass(cls, tuple)
    marks = ("__required_keys__", "__dataclass_fields__", "__attrs_attrs__")
    return is_named_tuple or any(hasattr(cls, mark) for mark in marks)


def members_of(hint: Any, names: Mapping[str, Any], *, is_output: bool) -> Members:
    """Return the members of a class, or of a generic one with its types, as in `Box[int]`.

    The hints of the class may use `names` even if its module does not have them.
    """
    cls: Any = get_origin(hint) or hint
    for base in reversed(cls.__mro__):
        names = {**names, **type_parameters(base), **types_in(base)}
    hints = member_types(hint, evaluate_members(cls, names))
    if hasattr(cls, "__required_keys__"):
        required = [name for name, hint in hints.items() if _is_required(hint, name in cls.__required_keys__)]
        return Members(hints, required, {})
    defaults: Mapping[str, Any]
    if hasattr(cls, "__dataclass_fields__"):
        members = fields(cls)
        if not is_output:  # the arguments of the constructor, which may be InitVars
            arguments = signature(cls).parameters
            members = tuple(field for name, field in cls.__dataclass_fields__.items() if name in arguments)
        defaults = {field.name: default for field in members if (default := _default_of(field)) is not MISSING}
        hints = {field.name: hints[field.name] for field in members}
        hints = {name: hint.type if isinstance(hint, InitVar) else hint for name, hint in hints.items()}
    elif hasattr(cls, "__attrs_attrs__"):
        attributes = [item for item in cls.__attrs_attrs__ if item.init or is_output]
        key = "name" if is_output else "alias"  # the argument of the constructor
        hints = {getattr(item, key): hints.get(item.name, Any) for item in attributes}
        given = {getattr(item, key): item.default for item in attributes if repr(item.default) != "NOTHING"}
        defaults = {name: ... if hasattr(value, "takes_self") else value for name, value in given.items()}
    else:  # a NamedTuple is an object and not an array, because models understand names better than positions
        hints, defaults = {name: hints.get(name, Any) for name in cls._fields}, cls._field_defaults
    return Members(hints, [name for name in hints if name not in defaults], defaults, cls)


def _default_of(field: Field[Any]) -> Any:
    """Return the default of a field, `...` for a factory, or MISSING."""
    return field.default if field.default_factory is MISSING else ...


def _is_required(hint: Any, default: bool) -> bool:
    """Look for Required and NotRequired, which Python does not see in annotations that are text."""
    while (origin := getattr(hint, "__origin__", None)) is not None:
        name: str | None = getattr(origin, "_name", None)
        if name in ("Required", "NotRequired"):
            return name == "Required"
        if not hasattr(hint, "__metadata__") and name != "ReadOnly":
            break
        hint = hint.__args__[0] if name == "ReadOnly" else origin
    return default


def object_schema(properties: Schema, required: list[str]) -> Schema:
    """Return the schema of an object with these members and no others."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def with_default(schema: Schema, default: Any) -> Schema:
    """Add a default to a schema, unless JSON cannot express it, or it is None and the schema does not allow null."""
    value = _plain(default)
    if value is ... or (value is None and ("$ref" in schema or not accepts_null(schema, schema))):
        return schema
    return {**schema, "default": value}


def _plain(value: Any) -> Any:
    """Return a default as JSON: an Enum member as its value, a path as text; `...` if that is not possible."""
    if isinstance(value, Flag):
        return [member.name for member in value]
    if isinstance(value, Enum):
        return _plain(value.value)
    if value is None or type(value) in (str, int, bool):
        return value
    if type(value) is float:
        return value if value - value == 0.0 else ...  # NaN and the infinities are not JSON
    if type(value) in (list, tuple):
        items = [_plain(item) for item in value]
        return ... if ... in items else items
    if type(value) is dict:
        plain = {name: _plain(item) for name, item in value.items()}
        return plain if all(type(name) is str for name in plain) and ... not in plain.values() else ...
    return value.__fspath__() if hasattr(type(value), "__fspath__") else ...
