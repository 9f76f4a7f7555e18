"""Models with their own JSON Schema and validation: pydantic's, and classes with the same methods.

pydantic is not imported: a class with `model_json_schema` and `model_validate` is a model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools_core._definition._hints._annotations import HintReader, Reading, Schema, Unsupported, hint_name
from tools_core._definition._hints._converters import FAILURES, Converter, Problems, refusal
from tools_core._values._problem import Path, Problem

_REF = "#/$defs/"
# Keywords whose value is a map from names to schemas: their keys are not keywords.
_MAPS = {"properties", "$defs", "patternProperties", "dependentSchemas"}
# Keywords whose value is data, not a schema.
_DATA = {"default", "const", "enum", "examples", "required"}
# Titles only repeat names, and a discriminator refers to definitions by their old names.
_OMITTED = {"title", "discriminator"}


def is_model(hint: Any) -> bool:
    """Return whether a hint is a pydantic model, or a class with the same methods."""
    return isinstance(hint, type) and hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate")


def read_model(reader: HintReader, model: Any) -> Reading:
    """Read a model; its `$defs` move to the top of the tool's schema."""
    try:
        schema = model.model_json_schema(mode="serialization" if reader.is_output else "validation")
    except (*FAILURES, NameError, RuntimeError, AttributeError) as error:
        raise Unsupported(
            f"{hint_name(model)} has no JSON Schema ({str(error).splitlines()[0]})",
            "change its fields to types that have a JSON Schema in pydantic",
        ) from error
    reader.is_foreign = True
    definitions = schema.pop("$defs", {})
    if not reader.is_output and getattr(model, "model_config", {}).get("extra") is None:
        for definition in (schema, *definitions.values()):
            _close(definition)
    names = _free_names(reader, definitions)
    for name, definition in definitions.items():
        reader.defs[names[name]] = _moved(definition, names)
    return _moved(schema, names), _validated(model)


def _close(schema: Schema) -> None:
    """Refuse unknown members unless the model allows them; the model would drop a misspelt member silently."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)


def _free_names(reader: HintReader, definitions: Mapping[str, Schema]) -> dict[str, str]:
    """Keep the names, unless one already belongs to a different definition; then choose new ones."""
    same = {name: name for name in definitions}
    existing = definitions.keys() & reader.defs.keys()
    if all(reader.defs[name] == _moved(definitions[name], same) for name in existing):
        return same
    return {name: reader.free_name(name) for name in definitions}


def _moved(schema: Any, names: Mapping[str, str]) -> Any:
    """Copy a schema, rename its references, and omit its titles."""
    kind: type[Any] = type(schema)
    if kind is list:
        return [_moved(part, names) for part in schema]
    if kind is not dict:
        return schema
    moved: Schema = {}
    for key, value in schema.items():
        if key in _MAPS:
            moved[key] = {name: _moved(part, names) for name, part in value.items()}
        elif key == "$ref":
            name = value.removeprefix(_REF)
            moved[key] = _REF + names.get(name, name)
        elif key in _DATA:
            moved[key] = value
        elif key not in _OMITTED:
            moved[key] = _moved(value, names)
    return moved


def _validated(model: Any) -> Converter:
    from_json = hasattr(model, "model_validate_json")

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if path in problems.refused:  # the model would repeat the problems of its schema
            return None
        try:
            # A strict model accepts a date as text in JSON, but not in Python values.
            return model.model_validate_json(json.dumps(value)) if from_json else model.model_validate(value)
        except FAILURES as error:
            problems += problems_of(error, value, path)

    return convert


def problems_of(error: Exception, value: Any, path: Path) -> list[Problem]:
    """Return the problems in a ValidationError of pydantic; one problem for another exception."""
    details: Any = getattr(error, "errors", None)
    if details is None:
        return [Problem(path, refusal(error))]
    return [Problem(_extended(path, detail["loc"], value), _text(detail)) for detail in details()]


def _extended(path: Path, steps: tuple[str | int, ...], value: Any) -> Path:
    """Extend a path by the steps that exist in the value; pydantic also names the branches of unions."""
    for step in steps:
        kind: type[Any] = type(value)
        if kind is list and isinstance(step, int):
            path, value = (path, step), value[step]
        elif kind is dict and (step in value or step is steps[-1]):
            path, value = (path, step), value.get(step)
    return path


def _text(detail: Mapping[str, Any]) -> str:
    message = detail["msg"].partition("\n")[0]
    if detail["type"] == "missing":
        return "is required"
    return f"is invalid: {message.removeprefix('Value error, ').removeprefix('Assertion failed, ')}"
