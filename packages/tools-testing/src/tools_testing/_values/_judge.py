"""Whether a value fits, by the core's own word: through a tool that has the schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools_core import InvalidArguments, tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_core import Tool

_LITERAL = frozenset({"const", "default", "enum", "examples"})  # what is in there is data and no schema


class Judge:
    """The validator of one schema for arguments, and of its parts.

    Raises DefinitionError for a schema that the core does not take.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._strict = _echo(schema, strict=True)
        self.root: dict[str, Any] = self._strict.definition["input_schema"]
        self._lenient = _echo(self.root, strict=False)
        self._parts: dict[str, Tool] = {}

    def accepts(self, arguments: object) -> bool:
        """Whether the arguments are valid as they stand."""
        return _takes(self._strict, arguments)

    def repairs(self, arguments: object) -> bool:
        """Whether the arguments are valid, or become so without a loss."""
        return _takes(self._lenient, arguments)

    def fits(self, schemas: Sequence[Any], value: object) -> bool:
        """Whether a value fits all of these parts of the schema."""
        key = json.dumps(schemas, sort_keys=True)
        judge = self._parts.get(key)
        if judge is None:
            whole = {"$defs": {"root": moved(self.root, "#/$defs/root")}, "additionalProperties": False}
            value_schema = {"allOf": [moved(schema, "#/$defs/root") for schema in schemas]} if schemas else True
            judge = self._parts[key] = _echo({**whole, "properties": {"value": value_schema}}, strict=True)
        return _takes(judge, {"value": value})


def moved(schema: Any, place: str, *, is_map: bool = False) -> Any:
    """Copy a schema for a document in which its root lies at `place`."""
    if isinstance(schema, list):
        return [moved(item, place) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, item in schema.items():
        if is_map:  # names of properties, which may be called "$ref"
            out[key] = moved(item, place)
        elif key == "$ref" and isinstance(item, str):
            out[key] = place + item.partition("#")[2]
        elif key == "$id" or key in _LITERAL:
            out |= {} if key == "$id" else {key: item}
        else:
            out[key] = moved(item, place, is_map=key in _MAPS)
    return out


_MAPS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})


def _echo(schema: Mapping[str, Any], *, strict: bool) -> Tool:
    return tool(_same, name="judge", input_schema=schema, strict=strict)


def _same(**arguments: Any) -> dict[str, Any]:
    return arguments


def _takes(judge: Tool, arguments: object) -> bool:
    try:
        judge.invoke(arguments)
    except InvalidArguments:
        return False
    return True
