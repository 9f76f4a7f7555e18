"""Classes whose JSON is an object with named members: TypedDict, dataclass, NamedTuple; and the members' defaults."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from tools_core._definition._hints._convert import Converter, members
from tools_core._definition._hints._reading import HintReader, Reading, Schema, Unsupported, hint_name
from tools_core._definition._hints._scope import annotations_of, resolve_members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def class_reader(cls: type) -> Callable[[HintReader, Any], Reading] | None:
    """Find what reads a class that has members."""
    if hasattr(cls, "__required_keys__"):
        return _read_typed_dict
    if hasattr(cls, "__dataclass_fields__"):
        return _read_dataclass
    if hasattr(cls, "_fields") and issubclass(cls, tuple):
        return _read_named_tuple
    return None


def _read_typed_dict(reader: HintReader, cls: Any) -> Reading:
    hints = resolve_members(cls, annotations_of(cls), reader.class_names())
    schema, converters = _read_members(reader, cls, hints, {})
    noted = cls.__required_keys__
    schema["required"] = [name for name, hint in hints.items() if _is_required(hint, name in noted)]
    return schema, members(converters) if converters else None


def _is_required(hint: Any, default: bool) -> bool:
    """Look for Required and NotRequired: what Python noted is wrong where annotations are text."""
    while (origin := getattr(hint, "__origin__", None)) is not None:
        name: str | None = getattr(origin, "_name", None)
        if name in ("Required", "NotRequired"):
            return name == "Required"
        if not hasattr(hint, "__metadata__"):
            break
        hint = origin
    return default


def _read_dataclass(reader: HintReader, cls: Any) -> Reading:
    from dataclasses import MISSING, fields  # loaded already: there is a dataclass

    written = {name: field.type for name, field in cls.__dataclass_fields__.items()}
    hints = resolve_members(cls, written, reader.class_names())
    shown = [field for field in fields(cls) if field.init or reader.is_output]
    defaults = {field.name: field.default for field in shown if field.default is not MISSING}
    defaults |= {field.name: ... for field in shown if field.default_factory is not MISSING}
    schema, converters = _read_members(reader, cls, {one.name: hints[one.name] for one in shown}, defaults)
    return schema, members(converters, cls)


def _read_named_tuple(reader: HintReader, cls: Any) -> Reading:
    # An object and not an array: names say more to a model than positions.
    written: dict[str, Any] = dict.fromkeys(cls._fields, Any)
    for base in reversed(cls.__mro__):
        if "_fields" in vars(base):
            written |= annotations_of(base)
    hints = resolve_members(cls, written, reader.class_names())
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
    return object_of(properties, [name for name in hints if name not in defaults]), converters


def object_of(properties: Schema, required: list[str]) -> Schema:
    """Make the schema of an object with these members and no others."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def with_default(schema: Schema, default: Any) -> Schema:
    """Add a default that is plain JSON and that the schema allows; others apply without being shown."""
    shown = _plain(default)
    if shown is ... or (shown is None and not _allows_null(schema)):
        return schema
    return {**schema, "default": shown}


def _plain(value: Any) -> Any:
    """Copy a value that is plain JSON, an Enum member as its value, a path as text; `...` for anything else."""
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
        out = {name: _plain(item) for name, item in value.items()}
        return out if all(type(name) is str and item is not ... for name, item in out.items()) else ...
    return value.__fspath__() if hasattr(type(value), "__fspath__") else ...


def _allows_null(schema: Schema) -> bool:
    """Return whether None fits: `x: int = None` is common, and null is not an integer."""
    if "anyOf" in schema:
        return any(_allows_null(one) for one in schema["anyOf"])
    if "enum" in schema:
        return None in schema["enum"]
    return "$ref" not in schema and "null" in schema.get("type", "null")
