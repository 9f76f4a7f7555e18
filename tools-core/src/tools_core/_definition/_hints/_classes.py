"""Classes whose JSON is an object with named members: TypedDict, dataclass, NamedTuple; and defaults in schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, InitVar, fields
from enum import Enum
from inspect import signature
from typing import Any

from tools_core._definition._hints._annotations import (
    HintReader,
    Reading,
    Schema,
    Unsupported,
    annotations_of,
    evaluate_members,
    hint_name,
)
from tools_core._definition._hints._converters import Converter, members
from tools_core._jsonschema._types import accepts_null


def class_reader(cls: type) -> Callable[[HintReader, Any], Reading] | None:
    """Return the function that reads a class with members; None for other classes."""
    if hasattr(cls, "__required_keys__"):
        return _read_typed_dict
    if hasattr(cls, "__dataclass_fields__"):
        return _read_dataclass
    if hasattr(cls, "_fields") and issubclass(cls, tuple):
        return _read_named_tuple
    return None


def _read_typed_dict(reader: HintReader, cls: Any) -> Reading:
    hints = evaluate_members(cls, annotations_of(cls), reader.class_names())
    schema, converters = _read_members(reader, cls, hints, {})
    required = cls.__required_keys__
    schema["required"] = [name for name, hint in hints.items() if _is_required(hint, name in required)]
    return schema, members(converters) if converters else None


def _is_required(hint: Any, default: bool) -> bool:
    """Look for Required and NotRequired, which Python does not see in annotations that are text."""
    while (origin := getattr(hint, "__origin__", None)) is not None:
        name: str | None = getattr(origin, "_name", None)
        if name in ("Required", "NotRequired"):
            return name == "Required"
        if not hasattr(hint, "__metadata__"):
            break
        hint = origin
    return default


def _read_dataclass(reader: HintReader, cls: Any) -> Reading:
    members_of_class = fields(cls)
    if not reader.is_output:  # the arguments of the constructor, which may be InitVars
        arguments = signature(cls).parameters
        members_of_class = tuple(field for name, field in cls.__dataclass_fields__.items() if name in arguments)
    hints = evaluate_members(cls, {field.name: field.type for field in members_of_class}, reader.class_names())
    hints = {name: hint.type if isinstance(hint, InitVar) else hint for name, hint in hints.items()}
    defaults: dict[str, Any] = {}
    for field in members_of_class:
        if field.default is not MISSING or field.default_factory is not MISSING:
            defaults[field.name] = ... if field.default is MISSING else field.default
    schema, converters = _read_members(reader, cls, hints, defaults)
    return schema, members(converters, cls)


def _read_named_tuple(reader: HintReader, cls: Any) -> Reading:
    # An object and not an array, because models understand names better than positions.
    annotations: dict[str, Any] = dict.fromkeys(cls._fields, Any)
    for base in reversed(cls.__mro__):
        if "_fields" in vars(base):
            annotations |= annotations_of(base)
    hints = evaluate_members(cls, annotations, reader.class_names())
    schema, converters = _read_members(reader, cls, hints, cls._field_defaults)
    return schema, members(converters, cls)


def _read_members(
    reader: HintReader, cls: type, hints: Mapping[str, Any], defaults: Mapping[str, Any]
) -> tuple[Schema, dict[str, Converter]]:
    properties: Schema = {}
    converters: dict[str, Converter] = {}
    for name, hint in hints.items():
        try:
            schema, convert = reader.read(hint)
        except Unsupported as error:
            raise Unsupported(f"field `{name}` of {hint_name(cls)}: {error.reason}", error.fix) from None
        properties[name] = with_default(schema, defaults[name]) if name in defaults else schema
        if convert:
            converters[name] = convert
    return object_schema(properties, [name for name in hints if name not in defaults]), converters


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
    if isinstance(value, Enum):
        return _plain(value.value)
    if value is None or type(value) in (str, int, bool):
        return value
    if type(value) is float:
        return value if value - value == 0.0 else ...  # NaN and the infinities are not JSON
    if type(value) in (list, tuple):
        items = [_plain(item) for item in value]
        return ... if any(item is ... for item in items) else items
    if type(value) is dict:
        plain = {name: _plain(item) for name, item in value.items()}
        return plain if all(type(name) is str and item is not ... for name, item in plain.items()) else ...
    return value.__fspath__() if hasattr(type(value), "__fspath__") else ...
