"""The keywords of JSON Schema 2020-12: which have subschemas, which constrain, which values they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools_core._jsonschema._types import JSON_TYPES

ONE_SCHEMA = frozenset((
    "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems",
    "unevaluatedProperties",
))  # fmt: skip
SCHEMA_LIST = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
SCHEMA_MAP = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))

# Every keyword that constrains values; all others are annotations.
CONSTRAINTS = ONE_SCHEMA | SCHEMA_LIST | frozenset((
    "$ref", "const", "dependentRequired", "dependentSchemas", "enum", "exclusiveMaximum", "exclusiveMinimum",
    "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum",
    "multipleOf", "pattern", "patternProperties", "properties", "required", "type", "uniqueItems",
))  # fmt: skip

# Keywords that are not supported, with the way out.
UNSUPPORTED = {
    "$dynamicAnchor": 'point with "$ref": "#/$defs/name" instead',
    "$dynamicRef": 'write "$ref": "#/$defs/name" instead',
    "$recursiveAnchor": 'write "$ref": "#" where the schema recurs instead',
    "$recursiveRef": 'write "$ref": "#" instead',
    "$vocabulary": "leave it out: the standard vocabularies of 2020-12 apply",
    "dependencies": 'write "dependentRequired" for names and "dependentSchemas" for schemas instead',
}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_types(value: Any) -> bool:
    types = value if isinstance(value, list) else [value]
    return bool(types) and _are_names(types) and JSON_TYPES.keys() >= set(types)


def _are_lists_of_names(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_are_names, value.values()))


# keyword -> (test of its value, the expected value in words)
VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("$id", "$ref", "pattern"), (_is_text, "a string")),
    **dict.fromkeys(("minimum", "maximum"), (_is_number, "a number")),
    **{
        end + noun: (_is_count, "a whole number, 0 or more")
        for end in ("min", "max")
        for noun in ("Contains", "Items", "Length", "Properties")
    },
    "dependentRequired": (_are_lists_of_names, "an object of lists of names"),
    "enum": (lambda value: isinstance(value, list), "an array of the allowed values"),
    "exclusiveMaximum": (_is_number, 'the limit itself, a number, instead of "maximum"'),
    "exclusiveMinimum": (_is_number, 'the limit itself, a number, instead of "minimum"'),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "required": (_are_names, "an array of property names, on the object"),
    "type": (_are_types, f"one of {', '.join(JSON_TYPES)}, or an array of them"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
}
