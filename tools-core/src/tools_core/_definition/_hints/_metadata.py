"""Metadata in `Annotated`: texts, `Limits`, annotated-types and pydantic's `Field`.

Objects are recognized by their attributes, because these libraries are not imported here. A limit becomes a keyword of
the schema. Metadata of these libraries without a keyword is refused, because its check would be lost; any other
metadata is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from tools_core._definition._hints._annotations import Reading, Schema, Unsupported
from tools_core._definition._hints._scalars import as_float
from tools_core._jsonschema._types import accepted_types

_NUMBERS = ("integer", "number")
# The keyword of each limit, by the type of the value.
_KEYWORDS: dict[str, dict[str, str]] = {
    "ge": dict.fromkeys(_NUMBERS, "minimum"),
    "gt": dict.fromkeys(_NUMBERS, "exclusiveMinimum"),
    "le": dict.fromkeys(_NUMBERS, "maximum"),
    "lt": dict.fromkeys(_NUMBERS, "exclusiveMaximum"),
    "multiple_of": dict.fromkeys(_NUMBERS, "multipleOf"),
    "min_length": {"string": "minLength", "array": "minItems", "object": "minProperties"},
    "max_length": {"string": "maxLength", "array": "maxItems", "object": "maxProperties"},
    "pattern": {"string": "pattern"},
}
_CHANGES = ("strip_whitespace", "to_lower", "to_upper")  # pydantic changes the text


def is_field(value: Any) -> bool:
    """Return whether a value is the result of pydantic's `Field(...)`."""
    return hasattr(value, "is_required") and hasattr(value, "default_factory") and hasattr(value, "metadata")


def field_default(field: Any) -> Callable[[], Any] | None:
    """Return a function that creates the default of a field; None if it has none."""
    return None if field.is_required() else lambda: field.get_default(call_default_factory=True)


def annotate(reading: Reading, metadata: Iterable[Any]) -> Reading:
    """Add the metadata of a hint to its schema."""
    schema, convert = dict(reading[0]), reading[1]
    is_converted = convert not in (None, as_float)
    for item in metadata:
        if is_field(item):
            for part in item.metadata:
                _add_limits(part, schema, is_converted)
            _add_field(item, schema)
        elif isinstance(text := getattr(item, "documentation", item), str):  # typing_extensions.Doc
            schema["description"] = text
        elif not isinstance(item, (type, re.Pattern)):
            _add_limits(item, schema, is_converted)
    return schema, convert


def _add_field(field: Any, schema: Schema) -> None:
    if field.description:
        schema["description"] = field.description
    if field.examples:
        schema["examples"] = list(field.examples)
    if hasattr(field.json_schema_extra, "keys"):  # it may also be a function, for pydantic's own schema
        schema.update(field.json_schema_extra)


def _add_limits(item: Any, schema: Schema, is_converted: bool) -> None:
    limits = {name: value for name in _KEYWORDS if (value := getattr(item, name, None)) is not None}
    is_foreign = type(item).__module__.partition(".")[0] in ("annotated_types", "pydantic")
    if is_foreign and (not limits or any(getattr(item, name, None) for name in _CHANGES)):
        raise Unsupported(
            f"{type(item).__name__} is not supported",
            "put it into a pydantic model, or check the value in the function",
        )
    types = [kind for kind in accepted_types(schema, schema) if kind != "null"]
    for name, value in limits.items():
        keywords = {keyword: value for kind, keyword in _KEYWORDS[name].items() if kind in types}
        if not keywords:
            kind = types[0] if types else "any type"
            raise Unsupported(f"{name} is a limit of {', '.join(_KEYWORDS[name])}, not of {kind}", "remove it")
        if is_converted and types[0] not in ("array", "object"):  # the limit applies to the converted value
            raise Unsupported(f"{name} cannot limit a type that JSON writes as {types[0]}", "check it in the function")
        if name == "pattern":
            keywords["pattern"] = getattr(value, "pattern", value)  # of a compiled one
        if schema.keys().isdisjoint(keywords):
            schema.update(keywords)
        else:
            schema["allOf"] = [*schema.get("allOf", ()), keywords]
