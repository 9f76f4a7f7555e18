"""Metadata in `Annotated`: texts, `Limits`, annotated-types and pydantic's `Field`.

Objects are recognized by their attributes, because these libraries are not imported here. A limit becomes a keyword of
the schema, or a test of the converted value if JSON Schema has no such keyword. Other metadata is ignored, unless it
comes from one of these libraries: then a check would be lost.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from tools_core._definition._hints._annotations import Reading, Schema, Unsupported
from tools_core._definition._hints._converters import FAILURES, Converter, Problems
from tools_core._definition._hints._scalars import as_float
from tools_core._values._problem import Path, Problem

Test = tuple[Callable[[Any], Any], str]

_LIBRARIES = ("annotated_types", "pydantic")
_NUMBERS = ("integer", "number")
_LENGTH_KEYWORDS = {"string": "Length", "array": "Items", "object": "Properties"}


class _Limit(NamedTuple):
    """A limit: its keyword for each type, and the test of a converted value with the text of its failure."""

    name: str
    keywords: dict[str, str]
    holds: Callable[[Any, Any], Any]
    text: str


_LIMITS = (
    _Limit("ge", dict.fromkeys(_NUMBERS, "minimum"), operator.ge, "must be at least"),
    _Limit("gt", dict.fromkeys(_NUMBERS, "exclusiveMinimum"), operator.gt, "must be more than"),
    _Limit("le", dict.fromkeys(_NUMBERS, "maximum"), operator.le, "must be at most"),
    _Limit("lt", dict.fromkeys(_NUMBERS, "exclusiveMaximum"), operator.lt, "must be less than"),
    _Limit(
        "multiple_of",
        dict.fromkeys(_NUMBERS, "multipleOf"),
        lambda value, step: not value % step,
        "must be a multiple of",
    ),
    _Limit(
        "min_length",
        {kind: f"min{word}" for kind, word in _LENGTH_KEYWORDS.items()},
        lambda value, size: len(value) >= size,
        "must have a length of at least",
    ),
    _Limit(
        "max_length",
        {kind: f"max{word}" for kind, word in _LENGTH_KEYWORDS.items()},
        lambda value, size: len(value) <= size,
        "must have a length of at most",
    ),
)
_CHANGES = ("strip_whitespace", "to_lower", "to_upper")  # pydantic changes the text


def is_field(value: Any) -> bool:
    """Return whether a value is the result of pydantic's `Field(...)`."""
    return hasattr(value, "is_required") and hasattr(value, "default_factory") and hasattr(value, "metadata")


def field_default(field: Any) -> Callable[[], Any] | None:
    """Return a function that creates the default of a field; None if it has none."""
    return None if field.is_required() else lambda: field.get_default(call_default_factory=True)


def annotate(reading: Reading, metadata: Iterable[Any]) -> Reading:
    """Add the metadata of a hint to its reading."""
    schema, convert = reading
    schema, tests = dict(schema), list[Test]()
    is_converted = convert not in (None, as_float)
    for item in metadata:
        if is_field(item):
            for part in item.metadata:
                tests += _tests_of(part, schema, is_converted)
            _add_field(item, schema)
        else:
            tests += _tests_of(item, schema, is_converted)
    return schema, _tested(convert, tests) if tests else convert


def _add_field(field: Any, schema: Schema) -> None:
    if field.description:
        schema["description"] = field.description
    if field.examples:
        schema["examples"] = list(field.examples)
    if hasattr(field.json_schema_extra, "keys"):  # it may also be a function, for pydantic's own schema
        schema.update(field.json_schema_extra)


def _tests_of(item: Any, schema: Schema, is_converted: bool) -> Iterator[Test]:
    """Write text and limits into the schema, and yield tests for limits without a keyword."""
    text = item if isinstance(item, str) else getattr(item, "documentation", None)  # typing_extensions.Doc
    if isinstance(text, str) and not isinstance(item, type):
        schema["description"] = text
    if isinstance(item, (str, type, re.Pattern)):
        return
    limits = [(limit, value) for limit in _LIMITS if (value := getattr(item, limit.name, None)) is not None]
    pattern = getattr(item, "pattern", None)
    is_foreign = type(item).__module__.partition(".")[0] in _LIBRARIES
    if is_foreign and (not (limits or pattern) or any(getattr(item, name, None) for name in _CHANGES)):
        raise Unsupported(
            f"{type(item).__name__} is not supported",
            "put it into a pydantic model, or check the value in the function",
        )
    # Converted text, such as base64, has another length; arrays and objects keep theirs.
    types = [kind for kind in types_of(schema) if not is_converted or kind in ("array", "object")]
    for limit, value in limits:
        keywords = [limit.keywords[kind] for kind in types if kind in limit.keywords]
        if types and not keywords:
            raise Unsupported(f"{limit.name} is a limit of {', '.join(limit.keywords)}, not of {types[0]}", "remove it")
        if keywords and type(value) in (int, float) and schema.keys().isdisjoint(keywords):
            schema.update(dict.fromkeys(keywords, value))
        else:
            yield partial(_holds, limit, value), f"{limit.text} {value}"
    pattern = getattr(pattern, "pattern", pattern)  # of a compiled one
    if isinstance(pattern, str):
        if types and "string" not in types:
            raise Unsupported(f"pattern is a limit of string, not of {types[0]}", "remove it")
        if types and "pattern" not in schema:
            schema["pattern"] = pattern
        else:
            yield lambda value: re.search(pattern, str(value)), f"must match the pattern {pattern}"


def _holds(limit: _Limit, bound: Any, value: Any) -> Any:
    return limit.holds(value, bound)


def types_of(schema: Schema) -> list[str]:
    """Return the JSON types that a schema names."""
    if "anyOf" in schema:
        return [kind for part in schema["anyOf"] for kind in types_of(part)]
    types = schema.get("type", "object" if "$ref" in schema else [])
    return [types] if isinstance(types, str) else types


def _tested(convert: Converter | None, tests: list[Test]) -> Converter:
    def tested(value: Any, path: Path, problems: Problems) -> Any:
        before = len(problems)
        converted = convert(value, path, problems) if convert else value
        if len(problems) > before or path in problems.refused or converted is None:
            return converted  # None passes: a limit on `X | None` is a limit on X
        problems += [Problem(path, text, value) for test, text in tests if not _passes(test, converted)]
        return converted

    return tested


def _passes(test: Callable[[Any], Any], value: Any) -> bool:
    try:
        return bool(test(value))
    except FAILURES:
        return False
