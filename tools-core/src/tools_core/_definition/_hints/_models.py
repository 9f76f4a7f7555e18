"""pydantic's models, which have their own JSON Schema and validation. They are recognized by their methods."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools_core._definition._hints._annotations import HintReader, Reading, Schema, Unsupported, hint_name
from tools_core._definition._hints._converters import FAILURES, Converter, Problems, refusal
from tools_core._jsonschema._keywords import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP
from tools_core._values._problem import Path, Problem

_REF = "#/$defs/"
# Titles only repeat names, and a discriminator refers to definitions by their old names.
_OMITTED = {"title", "discriminator"}


def is_model(hint: Any) -> bool:
    """Return whether a hint is a pydantic model."""
    return isinstance(hint, type) and hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate_json")


def read_model(reader: HintReader, model: Any) -> Reading:
    """Read a model; its `$defs` move to the top of the tool's schema."""
    try:
        schema = model.model_json_schema(mode="serialization" if reader.is_output else "validation")
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise Unsupported(
            f"{hint_name(model)} has no JSON Schema ({reason})",
            "change its fields to types that have a JSON Schema in pydantic",
        ) from error
    reader.is_foreign = True
    definitions = schema.pop("$defs", {})
    if not reader.is_output and getattr(model, "model_config", {}).get("extra") is None:
        # Without this, the model would drop a misspelt member silently.
        for definition in (schema, *definitions.values()):
            if "properties" in definition:
                definition.setdefault("additionalProperties", False)
    names = _free_names(reader, definitions)
    for name, definition in definitions.items():
        reader.defs[names[name]] = _moved(definition, names)
    return _moved(schema, names), _validated(model)


def _free_names(reader: HintReader, definitions: Mapping[str, Schema]) -> dict[str, str]:
    """Keep the names, unless one already belongs to a different definition; then choose new ones."""
    same = {name: name for name in definitions}
    existing = definitions.keys() & reader.defs.keys()
    if all(reader.defs[name] == _moved(definitions[name], same) for name in existing):
        return same
    return {name: reader.free_name(name) for name in definitions}


def _moved(schema: Any, names: Mapping[str, str]) -> Any:
    """Copy a schema, rename its references, and omit its titles."""
    if isinstance(schema, list):
        return [_moved(part, names) for part in schema]
    if not isinstance(schema, dict):
        return schema
    moved: Schema = {}
    for key, value in schema.items():
        if key in SCHEMA_MAP:
            moved[key] = {name: _moved(part, names) for name, part in value.items()}
        elif key == "$ref":
            name = value.removeprefix(_REF)
            moved[key] = _REF + names.get(name, name)
        elif key in ONE_SCHEMA | SCHEMA_LIST:
            moved[key] = _moved(value, names)
        elif key not in _OMITTED:
            moved[key] = value
    return moved


def _validated(model: Any) -> Converter:
    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if path in problems.refused:  # the model would repeat the problems of its schema
            return None
        try:
            # A strict model accepts a date as text in JSON, but not in Python values.
            return model.model_validate_json(json.dumps(value))
        except FAILURES as error:
            if not hasattr(error, "errors"):
                problems.append(Problem(path, refusal(error)))
                return None
            for detail in error.errors():
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
