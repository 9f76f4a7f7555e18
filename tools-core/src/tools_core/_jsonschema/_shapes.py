"""The form of each keyword's value, and the keywords that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._keywords import PYTHON_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

REFUSED = {
    "$dynamicAnchor": 'point with "$ref": "#/$defs/name" instead',
    "$dynamicRef": 'write "$ref": "#/$defs/name" instead',
    "$recursiveAnchor": 'write "$ref": "#" where the schema recurs instead',
    "$recursiveRef": 'write "$ref": "#" instead',
    "$vocabulary": "leave it out: the standard vocabularies of 2020-12 apply",
    "dependencies": 'write "dependentRequired" for names and "dependentSchemas" for schemas instead',
    "unevaluatedItems": 'write "items": false beside all "prefixItems" instead',
    "unevaluatedProperties": 'write "additionalProperties": false beside all "properties" instead',
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
    return bool(types) and _are_names(types) and PYTHON_TYPES.keys() >= set(types)


def _are_lists_of_names(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_are_names, value.values()))


# keyword -> (its value is well formed, what is expected there)
SHAPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("$anchor", "$id", "$ref", "pattern"), (_is_text, "a string")),
    **dict.fromkeys(("minimum", "maximum"), (_is_number, "a number")),
    **{
        end + noun: (_is_count, "a whole number, 0 or more")
        for end in ("min", "max")
        for noun in ("Contains", "Items", "Length", "Properties")
    },
    "dependentRequired": (_are_lists_of_names, "an object of lists of names"),
    "enum": (lambda value: isinstance(value, list), "an array of the values allowed"),
    "exclusiveMaximum": (_is_number, 'the limit itself, a number, in place of "maximum"'),
    "exclusiveMinimum": (_is_number, 'the limit itself, a number, in place of "minimum"'),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "required": (_are_names, "an array of property names, on the object"),
    "type": (_are_types, f"one of {', '.join(PYTHON_TYPES)}, or an array of them"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
}
