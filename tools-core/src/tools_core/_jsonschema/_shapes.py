"""The form of each keyword's value, and the keywords that are refused."""

from __future__ import annotations

from tools_core._jsonschema._keywords import PYTHON_TYPES

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

REFUSED = {
    "$anchor": 'point with "$ref": "#/$defs/name" instead',
    "$dynamicAnchor": 'point with "$ref": "#/$defs/name" instead',
    "$dynamicRef": 'write "$ref": "#/$defs/name" instead',
    "$recursiveAnchor": 'write "$ref": "#" where the schema recurs instead',
    "$recursiveRef": 'write "$ref": "#" instead',
    "$vocabulary": "leave it out: the standard vocabularies of 2020-12 apply",
    "dependencies": 'write "dependentRequired" for names and "dependentSchemas" for schemas instead',
}

DIALECTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
    "http://json-schema.org/schema",
)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _are_types(value: Any) -> bool:
    return (
        value in PYTHON_TYPES
        if isinstance(value, str)
        else bool(value) and _are_names(value) and PYTHON_TYPES.keys() >= set(value)
    )


_COUNT = (_is_count, "a whole number, 0 or more")
_NUMBER = (_is_number, "a number")
_TEXT = (lambda value: isinstance(value, str), "a string")

# keyword -> (its value is well formed, what is expected there)
SHAPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "$id": _TEXT,
    "$ref": _TEXT,
    "$schema": (
        lambda value: isinstance(value, str) and value.rstrip("#") in DIALECTS,
        'the address of a published dialect such as "https://json-schema.org/draft/2020-12/schema"',
    ),
    "dependentRequired": (
        lambda value: isinstance(value, dict) and all(map(_are_names, value.values())),
        "an object of lists of names",
    ),
    "enum": (lambda value: isinstance(value, list), "an array of the values allowed"),
    "exclusiveMaximum": (_is_number, 'the limit itself, a number, in place of "maximum"'),
    "exclusiveMinimum": (_is_number, 'the limit itself, a number, in place of "minimum"'),
    "maxContains": _COUNT,
    "maxItems": _COUNT,
    "maxLength": _COUNT,
    "maxProperties": _COUNT,
    "maximum": _NUMBER,
    "minContains": _COUNT,
    "minItems": _COUNT,
    "minLength": _COUNT,
    "minProperties": _COUNT,
    "minimum": _NUMBER,
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "pattern": _TEXT,
    "required": (_are_names, "an array of property names, on the object"),
    "type": (_are_types, f"one of {', '.join(PYTHON_TYPES)}, or an array of them"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
}
