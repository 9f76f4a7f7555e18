"""Which types a schema speaks of, and which keywords belong to which type."""

from __future__ import annotations

from tools_core._jsonschema._keywords import SCHEMA_LIST, SCHEMA_MAP
from tools_core._jsonschema._shapes import REFUSED, SHAPES
from tools_core._values._problem import show
from tools_core.formats._words import NOTES

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

# What says something of a place as a whole, whichever alternative it takes.
ANNOTATIONS = frozenset(("default", "deprecated", "description", "examples", "title", NOTES))

_KEYWORDS = {
    "object": (
        "additionalProperties dependentRequired dependentSchemas maxProperties minProperties patternProperties "
        "properties propertyNames required unevaluatedProperties"
    ),
    "array": ("contains items maxContains maxItems minContains minItems prefixItems unevaluatedItems uniqueItems"),
    "string": "contentEncoding contentMediaType maxLength minLength pattern",
    "number": "exclusiveMaximum exclusiveMinimum maximum minimum multipleOf",
}
_TYPE_OF = {keyword: kind for kind, keywords in _KEYWORDS.items() for keyword in keywords.split()}
# What every writer handles itself.
STRUCTURE = ANNOTATIONS | frozenset(
    [
        "$defs",
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "definitions",
        "enum",
        "items",
        "oneOf",
        "patternProperties",
        "properties",
        "required",
        "type",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)


def malformed(schema: dict[str, Any]) -> str | None:
    """What is wrong with the keywords of a schema, which may come from anywhere; None when nothing is."""
    for keyword, value in schema.items():
        if keyword in SHAPES and keyword not in ("$id", "$schema"):
            fits, expected = SHAPES[keyword]
            if not fits(value):
                return f'"{keyword}" must be {expected}, got {show(value)}'
        elif keyword in REFUSED:
            return f'"{keyword}" is not supported: {REFUSED[keyword]}'
        elif (keyword in SCHEMA_LIST and not isinstance(value, list)) or (
            keyword in SCHEMA_MAP and not isinstance(value, dict)
        ):
            return f'"{keyword}" must be {"an array" if keyword in SCHEMA_LIST else "an object"}, got {show(value)}'
    return '"enum" must have at least one value' if schema.get("enum", True) == [] else None


def infer_types(schema: dict[str, Any]) -> list[str]:
    """The JSON types that a schema asks for, by its keywords if not by name; none when it asks for none."""
    types = schema.get("type")
    if types is None:
        return list(dict.fromkeys(_TYPE_OF[key] for key in schema if key in _TYPE_OF))
    return [types] if isinstance(types, str) else types


def is_foreign(keyword: str, kind: str) -> bool:
    """Whether a keyword says nothing of values of the type `kind`."""
    owner = _TYPE_OF.get(keyword)
    return owner is not None and owner != ("number" if kind == "integer" else kind)


def is_of(value: Any, types: list[str]) -> bool:
    """Whether a value is of one of the types."""
    [kind] = types_of_values([value])
    if kind == "number" and "integer" in types and value == value // 1:
        return True
    return kind in types or (kind == "integer" and "number" in types)


def types_of_values(values: list[Any]) -> list[str]:
    """The JSON types of some values, each once; `integer` for whole numbers."""
    kinds = ("integer" if type(value) is int else _KINDS.get(type(value), "array") for value in values)
    return list(dict.fromkeys(kinds))


_KINDS: dict[type, str] = {type(None): "null", bool: "boolean", float: "number", str: "string", dict: "object"}
