"""Classes whose JSON is an object with named members: TypedDict, dataclass, NamedTuple."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._definition._hints._convert import Converter, built, members
from tools_core._definition._hints._plain import with_default
from tools_core._definition._hints._reading import Reading, Schema, Unsupported, hint_name
from tools_core._definition._hints._scope import annotations_of, resolve_members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_core._definition._hints._reader import Reader


def class_reader(cls: type) -> Callable[[Reader, Any], Reading] | None:
    """Find what reads a class that has members."""
    if hasattr(cls, "__required_keys__"):
        return _read_typed_dict
    if hasattr(cls, "__dataclass_fields__"):
        return _read_dataclass
    if hasattr(cls, "_fields") and issubclass(cls, tuple):
        return _read_named_tuple
    return None


def _read_typed_dict(reader: Reader, cls: Any) -> Reading:
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
        if hasattr(hint, "__metadata__"):
            hint = origin
        elif name == "ReadOnly":
            hint = hint.__args__[0]
        else:
            break
    return default


def _read_dataclass(reader: Reader, cls: Any) -> Reading:
    from dataclasses import MISSING, InitVar, fields  # loaded already: there is a dataclass

    written = {name: field.type for name, field in cls.__dataclass_fields__.items()}
    hints = resolve_members(cls, written, reader.class_names())
    for name, hint in hints.items():
        if not reader.is_output and (hint is InitVar or isinstance(hint, InitVar)):
            raise Unsupported(f"field `{name}` of {hint_name(cls)} is an InitVar", "make it a field")
    shown = [field for field in fields(cls) if field.init or reader.is_output]
    defaults = {field.name: field.default for field in shown if field.default is not MISSING}
    defaults |= {field.name: ... for field in shown if field.default_factory is not MISSING}
    schema, converters = _read_members(reader, cls, {one.name: hints[one.name] for one in shown}, defaults)
    return schema, built(cls, converters)


def _read_named_tuple(reader: Reader, cls: Any) -> Reading:
    # An object and no array: names say more to a model than positions.
    written: dict[str, Any] = dict.fromkeys(cls._fields, Any)
    for base in reversed(cls.__mro__):
        if "_fields" in vars(base):
            written |= annotations_of(base)
    hints = resolve_members(cls, written, reader.class_names())
    schema, converters = _read_members(reader, cls, hints, cls._field_defaults)
    return schema, built(cls, converters)


def _read_members(
    reader: Reader, cls: type, hints: Mapping[str, Any], defaults: Mapping[str, Any]
) -> tuple[Schema, dict[str, Converter]]:
    properties: Schema = {}
    converters: dict[str, Converter] = {}
    for name, hint in hints.items():
        try:
            schema, convert = reader.read(hint)
        except Unsupported as error:
            raise error.inside(f"field `{name}` of {hint_name(cls)}") from None
        properties[name] = with_default(schema, defaults[name]) if name in defaults else schema
        if convert:
            converters[name] = convert
    required = [name for name in hints if name not in defaults]
    return object_of(properties, required), converters


def object_of(properties: Schema, required: list[str]) -> Schema:
    """Make the schema of an object with these members and no others."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
