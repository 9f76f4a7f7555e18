"""pydantic's models, which have their own JSON Schema and validation. They are recognized by their methods."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools_core._definition._hints._annotations import Schema, Unsupported, hint_name
from tools_core._definition._hints._converters import FAILURES, Converter, Problems, refusal
from tools_core._jsonschema._keywords import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP
from tools_core._values._problem import Path, Problem

_REF = "#/$defs/"
# Titles only repeat names, and a discriminator refers to definitions by their old names.
_OMITTED = {"title", "discriminator"}


def is_model(hint: Any) -> bool:
    """Return whether a hint is a pydantic model."""
    return isinstance(hint, type) and hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate_json")


def model_schema(model: Any, *, is_output: bool) -> tuple[Schema, Schema]:
    """Return the schema of a model, and its `$defs`."""
    try:
        schema = model.model_json_schema(mode="serialization" if is_output else "validation")
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise Unsupported(
            f"{hint_name(model)} has no JSON Schema ({reason})",
            "change its fields to types that have a JSON Schema in pydantic",
        ) from error
    definitions: Schema = schema.pop("$defs", {})
    if not is_output and getattr(model, "model_config", {}).get("extra") is None:
        # Without this, the model would drop a misspelt member silently.
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


def validated(model: Any) -> Converter:
    """Convert with the validation of a model."""

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if path in problems.refused:  # the model would repeat the problems of its schema
            return None
        try:
            # A strict model accepts a date as text in JSON, but not in Python values.
            return model.model_validate_json(json.dumps(value))
        except FAILURES as error:
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
