"""The keywords of JSON Schema 2020-12 that this library enforces."""

from __future__ import annotations

from typing import Any

PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}

# Where subschemas are found.
ONE_SCHEMA = frozenset((
    "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
))  # fmt: skip
SCHEMA_LIST = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
SCHEMA_MAP = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))

# Every keyword that narrows what is valid; all others are annotations.
CONSTRAINTS = ONE_SCHEMA | SCHEMA_LIST | frozenset((
    "$ref", "const", "dependentRequired", "dependentSchemas", "enum", "exclusiveMaximum", "exclusiveMinimum",
    "maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems", "minLength",
    "minProperties", "minimum", "multipleOf", "pattern", "patternProperties", "properties", "required", "type",
    "uniqueItems",
))  # fmt: skip


def types_of(schema: dict[str, Any]) -> tuple[str, ...]:
    """Return the JSON types that the keyword `type` names; none when it is absent."""
    types = schema.get("type", ())
    return (types,) if isinstance(types, str) else tuple(types)
