"""Say in words what a schema expects: `an integer or null`, `one of "C", "F"`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._keywords import CONSTRAINTS, types_of
from tools_core._jsonschema._pointer import resolve
from tools_core._values._problem import clip, show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_core._jsonschema._pointer import Schema

_NOUNS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_LIMIT = 240  # characters of a description
_DEPTH_LIMIT = 4
_CHOICES = 10


def describe(schema: Schema, root: Schema, depth: int = 0) -> str:
    """Describe what `schema` expects, in at most 240 characters."""
    if schema is False:
        return "absent"
    if schema is True or schema.keys().isdisjoint(CONSTRAINTS) or depth > _DEPTH_LIMIT:
        return "any value"
    if "const" in schema:
        return show(schema["const"])
    if "enum" in schema:
        return one_of(schema["enum"])
    if "type" in schema:
        return _either(_NOUNS[kind] for kind in types_of(schema))
    if "$ref" in schema:
        return describe(resolve(root, schema["$ref"]), root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return _either(describe(part, root, depth + 1) for part in schema[keyword][:8])
    if "allOf" in schema:
        return describe(schema["allOf"][0], root, depth + 1)
    return "another value"


def one_of(values: list[Any]) -> str:
    """Describe a choice: `one of "C", "F"`, `one of "C", "F" and 3 more`."""
    if len(values) == 1:
        return show(values[0])
    shown = clip(", ".join(show(value, 40) for value in values[:_CHOICES]), _LIMIT - 20)
    more = f" and {len(values) - _CHOICES:,} more" if len(values) > _CHOICES else ""
    return f"one of {shown}{more}"


def _either(words: Iterable[str]) -> str:
    return clip(" or ".join(dict.fromkeys(words)), _LIMIT)


def extent(least: float | None, most: float | None, noun: str) -> str:
    """Describe limits of a size: `at least 2 items`, `1 to 5 characters`."""
    if least is not None and most is not None:
        return f"{int(least)} to {int(most)} {noun}s"
    word, limit = ("at most", int(most)) if most is not None else ("at least", int(least or 0))
    return f"{word} {limit} {noun}{'' if limit == 1 else 's'}"
