"""Types of pydantic and msgspec, which have their own JSON Schema and validation, recognized by their attributes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, get_origin

from tools_core._definition._hints._annotations import Schema, Unsupported, hint_name
from tools_core._definition._hints._converters import FAILURES, Converter, Problems, refusal
from tools_core._definition._hints._metadata import has_keyword, is_field
from tools_core._jsonschema._keywords import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP
from tools_core._values._problem import Path, Problem

_REF = "#/$defs/"
# Titles only repeat names, and a discriminator refers to definitions by their old names.
_OMITTED = {"title", "discriminator"}


Mode: TypeAlias = Literal["validation", "serialization"]


class Adapter(NamedTuple):
    """A type of another library: its JSON Schema for arguments or results, and its parser of JSON text."""

    schema: Callable[[Mode], Schema]
    parse: Callable[[str], Any]
    is_closed: bool  # whether unknown members are refused, although the library would drop them


def adapter_of(hint: Any) -> Adapter | None:
    """Return the adapter for a type of pydantic or msgspec; None for any other type."""
    cls = get_origin(hint) or hint
    if hasattr(cls, "model_json_schema") and hasattr(cls, "model_validate_json"):
        is_closed = getattr(cls, "model_config", {}).get("extra") is None
        return Adapter(lambda mode: hint.model_json_schema(mode=mode), hint.model_validate_json, is_closed)
    if _is_pydantic(hint, cls):
        pydantic: Any = sys.modules["pydantic"]  # which the author of the type has loaded
        adapter: Any = pydantic.TypeAdapter(hint)
        is_closed = (getattr(cls, "__pydantic_config__", None) or {}).get("extra") is None
        return Adapter(lambda mode: adapter.json_schema(mode=mode), adapter.validate_json, is_closed)
    if hasattr(cls, "__struct_fields__"):
        msgspec: Any = sys.modules["msgspec"]  # which the author of the type has loaded
        return Adapter(
            lambda _: msgspec.json.schema(hint), lambda text: msgspec.json.decode(text, type=hint), is_closed=True
        )
    return None


def _is_pydantic(hint: Any, cls: Any) -> bool:
    """Return whether pydantic decides about a type, or about a part of its metadata."""
    if "pydantic" not in sys.modules:
        return False
    metadata: tuple[Any, ...] = getattr(hint, "__metadata__", ())
    parts = [part for part in metadata if not is_field(part)]
    if any(type(part).__module__.partition(".")[0] == "pydantic" for part in parts):
        return True
    limits = [limit for field in metadata if is_field(field) for limit in field.metadata]
    if not all(has_keyword(limit, hint.__origin__) for limit in limits):
        return True
    names = ("__get_pydantic_core_schema__", "__pydantic_validator__")
    return any(hasattr(part, name) for part in (cls, *parts) for name in names)


def is_model(hint: Any) -> bool:
    """Return whether a hint is a class of pydantic or msgspec."""
    return isinstance(hint, type) and adapter_of(hint) is not None


def model_schema(hint: Any, adapter: Adapter, *, is_output: bool) -> tuple[Schema, Schema]:
    """Return the schema of a type, and its `$defs`."""
    try:
        schema = adapter.schema("serialization" if is_output else "validation")
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise Unsupported(
            f"{hint_name(hint)} has no JSON Schema ({reason})",
            "change its fields to types that have a JSON Schema in its library",
        ) from error
    definitions: Schema = schema.pop("$defs", {})
    if not is_output and adapter.is_closed:
        for definition in (schema, *definitions.values()):
            if "properties" in definition:
                definition.setdefault("additionalProperties", False)
    return schema, definitions


def moved(schema: Any, names: Mapping[str, str]) -> Any:
    """Copy a schema, rename its references, and omit its titles."""
    if isinstance(schema, list):
        return [moved(part, names) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copy: Schema = {}
    for key, value in schema.items():
        if key in SCHEMA_MAP:
            copy[key] = {name: moved(part, names) for name, part in value.items()}
        elif key == "$ref":
            name = value.removeprefix(_REF)
            copy[key] = _REF + names.get(name, name)
        elif key in ONE_SCHEMA | SCHEMA_LIST:
            copy[key] = moved(value, names)
        elif key not in _OMITTED:
            copy[key] = value
    return copy


def validated(adapter: Adapter) -> Converter:
    """Convert with the validation of the type's library."""

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if path in problems.refused:  # the model would repeat the problems of its schema
            return None
        try:
            # A strict model accepts a date as text in JSON, but not in Python values.
            return adapter.parse(json.dumps(value))
        except Exception as error:
            if not isinstance(error, FAILURES) and type(error).__module__ != "msgspec":
                raise
            details: Any = getattr(error, "errors", None)  # of pydantic's ValidationError
            if details is None:
                problems.append(Problem(path, refusal(error)))
                return None
            for detail in details():
                message = detail["msg"].partition("\n")[0]
                message = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
                text = "is required" if detail["type"] == "missing" else f"is invalid: {message}"
                problems.append(Problem(_extended(path, detail["loc"], value), text))
            return None

    return convert


def _extended(path: Path, steps: tuple[str | int, ...], value: Any) -> Path:
    """Extend a path by the steps that exist in the value; pydantic also names the branches of unions."""
    for step in steps:
        kind: type[Any] = type(value)
        if kind is list and isinstance(step, int):
            path, value = (path, step), value[step]
        elif kind is dict and (step in value or step is steps[-1]):
            path, value = (path, step), value.get(step)
    return path
