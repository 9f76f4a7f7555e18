"""Models that bring their own JSON Schema and validation: pydantic's, and what offers the same methods.

pydantic is never imported: a class with `model_json_schema` and `model_validate` is a model.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools_core._definition._hints._convert import FAILURES, Converter, Problems, refusal
from tools_core._definition._hints._reading import HintReader, Reading, Schema, Unsupported, hint_name
from tools_core._values._problem import Path, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping


_REF = "#/$defs/"
# Keywords whose value is a map from names to schemas: their keys are not keywords.
_MAPS = {"properties", "$defs", "patternProperties", "dependentSchemas"}
# Keywords whose value is data and no schema.
_DATA = {"default", "const", "enum", "examples", "required"}
# Titles repeat the names of things, and a discriminator refers to definitions by names they had before.
_LEFT_OUT = {"title", "discriminator"}


def is_model(hint: Any) -> bool:
    """Tell whether a class offers what a pydantic model offers."""
    return isinstance(hint, type) and hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate")


def read_model(reader: HintReader, model: Any) -> Reading:
    """Read a model; its `$defs` move to the top of the tool's schema."""
    try:
        schema = model.model_json_schema(mode="serialization" if reader.is_output else "validation")
    except (*FAILURES, NameError, RuntimeError, AttributeError) as error:
        raise Unsupported(
            f"{hint_name(model)} cannot give its JSON Schema ({str(error).splitlines()[0]})",
            "give its fields types that pydantic can write as JSON Schema",
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
    """Refuse unknown members where the model says nothing of them: it would drop a misspelt one silently."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)


def _free_names(reader: HintReader, definitions: Mapping[str, Schema]) -> dict[str, str]:
    """Keep all names if those taken are taken by the very same definitions, else choose new ones."""
    same = {name: name for name in definitions}
    taken = definitions.keys() & reader.defs.keys()
    if all(reader.defs[name] == _moved(definitions[name], same) for name in taken):
        return same
    return {name: reader.free_name(name) for name in definitions}


def _moved(schema: Any, names: Mapping[str, str]) -> Any:
    """Copy a schema with its references renamed, without the titles that only repeat names."""
    kind: type[Any] = type(schema)
    if kind is list:
        return [_moved(one, names) for one in schema]
    if kind is not dict:
        return schema
    out: Schema = {}
    for key, value in schema.items():
        if key in _MAPS:
            out[key] = {name: _moved(one, names) for name, one in value.items()}
        elif key == "$ref":
            name = value.removeprefix(_REF)
            out[key] = _REF + names.get(name, name)
        elif key in _DATA:
            out[key] = value
        elif key not in _LEFT_OUT:
            out[key] = _moved(value, names)
    return out


def _validated(model: Any) -> Converter:
    from_json = hasattr(model, "model_validate_json")

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if path in problems.refused:  # the model's own problems would repeat those of its schema
            return None
        try:
            # As JSON and not as Python values: a strict model takes a date as text from the former only.
            return model.model_validate_json(json.dumps(value)) if from_json else model.model_validate(value)
        except FAILURES as error:
            problems += problems_of(error, value, path)

    return convert


def problems_of(error: Exception, value: Any, path: Path) -> list[Problem]:
    """Make problems of what a model says is wrong; of another exception, one."""
    details: Any = getattr(error, "errors", None)  # of pydantic's ValidationError
    if details is None:
        return [Problem(path, refusal(error))]
    return [Problem(_extended(path, one["loc"], value), _text(one)) for one in details()]


def _extended(path: Path, steps: tuple[str | int, ...], value: Any) -> Path:
    """Follow the steps that lead through the value; pydantic also names the branches of unions."""
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
