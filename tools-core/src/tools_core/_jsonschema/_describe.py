"""Say in words what a schema expects: `an integer of at least 1`, `one of "C", "F"`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._keywords import CONSTRAINTS
from tools_core._jsonschema._pointer import resolve
from tools_core._values._problem import clip, listing, show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_core._jsonschema._pointer import Schema

_NOUNS = {
    "string": ("a string", "strings"),
    "integer": ("an integer", "integers"),
    "number": ("a number", "numbers"),
    "boolean": ("true or false", "booleans"),
    "object": ("an object", "objects"),
    "array": ("an array", "arrays"),
    "null": ("null", "nulls"),
}
_LIMIT = 240
_CHOICES_LIMIT = 200  # characters; half of them where the choice is one of several alternatives
_DEPTH_LIMIT = 4


def describe(schema: Schema, root: Schema) -> str:
    """Word what `schema` expects, in at most 240 characters."""
    return clip(_describe(schema, root, 0), _LIMIT)


def _describe(schema: Schema, root: Schema, depth: int) -> str:
    if schema is False:
        return "absent"
    if schema is True or schema.keys().isdisjoint(CONSTRAINTS) or depth > _DEPTH_LIMIT:
        return "any value"
    if "const" in schema:
        return show(schema["const"])
    if "enum" in schema:
        return one_of(schema["enum"], _CHOICES_LIMIT // 2 if depth else _CHOICES_LIMIT)
    if "type" in schema:
        types = schema["type"]
        return _join(_of_type(kind, schema) for kind in ([types] if isinstance(types, str) else types))
    return _of_parts(schema, root, depth)


def _of_parts(schema: dict[str, Any], root: Schema, depth: int) -> str:
    """Word a schema by the subschemas that look at the same value."""
    if "$ref" in schema:
        return _describe(resolve(root, schema["$ref"]), root, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return _join(_describe(part, root, depth + 1) for part in schema[keyword][:8])
    for part in schema.get("allOf", ()):
        words = _describe(part, root, depth + 1)
        if words != "any value":
            return words
    return "another value" if "not" in schema else "a value within the schema"


def one_of(values: list[Any], limit: int = _CHOICES_LIMIT) -> str:
    """Word a choice, in at most `limit` characters: `one of "C", "F"`, `one of "C", "F" and 3 more`."""
    shown = [show(value, limit) for value in values]
    if len(shown) == 1:
        return shown[0]
    if len(", ".join(shown)) <= limit:
        return f"one of {', '.join(shown)}"
    kept = 0
    for words in shown:
        limit -= len(words) + 2
        if limit < len(" and 1,000 more"):
            break
        kept += 1
    return f"one of {', '.join(shown[:kept])} and {len(shown) - kept:,} more" if kept else f"one of {len(shown)} values"


def _join(words: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(words))


def _of_type(kind: str, schema: dict[str, Any]) -> str:
    noun = _NOUNS[kind][0]
    if kind in ("integer", "number"):
        return noun + _bounds(schema)
    if kind == "string":
        size = extent(schema.get("minLength"), schema.get("maxLength"), "character")
        return noun + _prefixed("of", size) + _prefixed("matching", shown_pattern(schema.get("pattern", "")))
    if kind == "object":
        names = schema.get("required")
        return f"{noun} with {listing(names, 5)}" if names else noun
    if kind == "array":
        size = extent(schema.get("minItems"), schema.get("maxItems"), "item")
        return noun + _plural(schema.get("items")) + _prefixed("with", size)
    return noun


def shown_pattern(pattern: str) -> str:
    """Write a pattern for a message, on one line and clipped."""
    return clip(pattern if pattern.isprintable() else show(pattern), 80)


def _plural(items: Any) -> str:
    kind = items.get("type") if isinstance(items, dict) else None
    return f" of {_NOUNS[kind][1]}" if isinstance(kind, str) and kind in _NOUNS else ""


def _bounds(schema: dict[str, Any]) -> str:
    words = [
        f"{word} {show(schema[keyword])}"
        for keyword, word in (
            ("minimum", "of at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "of at most"),
            ("exclusiveMaximum", "below"),
            ("multipleOf", "that is a multiple of"),
        )
        if keyword in schema
    ]
    return " " + " and ".join(words) if words else ""


def extent(least: float | None, most: float | None, noun: str) -> str:
    """Word limits of a size: `at least 2 items`, `1 to 5 characters`; empty when there is none."""
    if least is not None and most is not None:
        return f"{int(least)} to {int(most)} {noun}s"
    limit = most if least is None else least
    if limit is None:
        return ""
    return f"at {'most' if least is None else 'least'} {int(limit)} {noun}{'' if limit == 1 else 's'}"


def _prefixed(preposition: str, words: str) -> str:
    return f" {preposition} {words}" if words else ""
