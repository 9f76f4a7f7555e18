"""The metadata of `Annotated`: texts, constraints (annotated-types, pydantic, msgspec), predicates.

Every object is known by what it offers, because none of these libraries is imported here. Unknown metadata is ignored,
as `Annotated` asks of its readers. A limit becomes a keyword of the schema where that has one, and else a test of the
converted value.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tools_core._definition._hints._basic_types import as_float
from tools_core._definition._hints._convert import FAILURES, Converter, Problems
from tools_core._definition._hints._reading import Reading, Schema, Unsupported
from tools_core._values._problem import Path, Problem

Test = tuple[Callable[[Any], Any], str]

_BOUNDS: tuple[tuple[str, str, Callable[[Any, Any], Any], str], ...] = (
    ("ge", "minimum", operator.ge, "must be at least"),
    ("gt", "exclusiveMinimum", operator.gt, "must be more than"),
    ("le", "maximum", operator.le, "must be at most"),
    ("lt", "exclusiveMaximum", operator.lt, "must be less than"),
    ("multiple_of", "multipleOf", lambda value, factor: not value % factor, "must be a multiple of"),
)
_LENGTHS: tuple[tuple[str, str, Callable[[Any, Any], Any], str], ...] = (
    ("min_length", "min", lambda value, length: len(value) >= length, "must have a length of at least"),
    ("max_length", "max", lambda value, length: len(value) <= length, "must have a length of at most"),
)
_CHANGES = ("strip_whitespace", "to_lower", "to_upper")  # only pydantic changes the text
LENGTH_KEYWORDS = {"string": "Length", "array": "Items", "object": "Properties"}


def is_field(value: Any) -> bool:
    """Return whether a value is what pydantic's `Field(...)` gives."""
    return hasattr(value, "is_required") and hasattr(value, "default_factory") and hasattr(value, "metadata")


def field_default(field: Any) -> Callable[[], Any] | None:
    """Return what makes the default of a field; None when it has none."""
    return None if field.is_required() else lambda: field.get_default(call_default_factory=True)


def annotate(reading: Reading, metadata: Iterable[Any]) -> Reading:
    """Add to a reading what the metadata of its hint says."""
    schema, convert = reading
    schema, tests = dict(schema), list[Test]()
    is_converted = convert not in (None, as_float)
    for one in metadata:
        for part in (*one.metadata, one) if is_field(one) else (one,):
            tests += _add(part, schema, is_converted)
    return schema, _tested(convert, tests) if tests else convert


def _add(one: Any, schema: Schema, is_converted: bool) -> Iterator[Test]:
    """Write what the schema can say into it, and yield tests for the rest."""
    text = one if isinstance(one, str) else getattr(one, "documentation", None) or getattr(one, "description", None)
    if isinstance(text, str) and not isinstance(one, type):
        schema["description"] = text
    if isinstance(one, (str, type, re.Pattern)):
        return
    if any(kind.__name__ == "Predicate" for kind in type(one).__mro__):
        yield one.func, _predicate_text(one.func)
    elif not is_field(one):
        if hasattr(one, "__get_pydantic_core_schema__") or any(getattr(one, name, None) is True for name in _CHANGES):
            raise Unsupported(f"{type(one).__name__} runs in pydantic alone", "put it into a pydantic model")
        yield from _bounds(one, schema, is_converted)
        yield from _lengths(one, schema, is_converted)
    else:
        schema.update({"examples": list(one.examples)} if one.examples else {})
        if hasattr(one.json_schema_extra, "keys"):  # it may also be a function, for pydantic's own schema
            schema.update(one.json_schema_extra)


def _bounds(one: Any, schema: Schema, is_converted: bool) -> Iterator[Test]:
    types = [] if is_converted else types_of(schema)
    is_number = not {"integer", "number"}.isdisjoint(types)
    for name, keyword, compare, words in _BOUNDS:
        bound = getattr(one, name, None)
        if bound is None or callable(bound):
            continue
        if types and not is_number and type(bound) in (int, float):
            raise Unsupported(f"{name} is a limit of numbers, and this is of type {' or '.join(types)}", "remove it")
        if is_number and type(bound) in (int, float) and keyword not in schema:
            schema[keyword] = bound
        else:
            yield _compared(compare, bound), f"{words} {bound}"


def _lengths(one: Any, schema: Schema, is_converted: bool) -> Iterator[Test]:
    # Text that is converted (base64 to bytes) has another length then; arrays and objects keep theirs.
    types = [kind for kind in types_of(schema) if not is_converted or kind in ("array", "object")]
    for name, end, compare, words in _LENGTHS:
        length = getattr(one, name, None)
        if type(length) is not int or (end == "min" and length == 0):
            continue
        fitting = [end + LENGTH_KEYWORDS[kind] for kind in types if kind in LENGTH_KEYWORDS]
        if types and not fitting:
            kinds = " or ".join(types)
            raise Unsupported(f"{name} is a limit of text and arrays, and this is of type {kinds}", "remove it")
        if fitting and schema.keys().isdisjoint(fitting):
            schema.update(dict.fromkeys(fitting, length))
        else:
            yield _compared(compare, length), f"{words} {length}"
    pattern = getattr(one, "pattern", None)
    pattern = getattr(pattern, "pattern", pattern)
    if isinstance(pattern, str):
        if "string" in types and "pattern" not in schema:
            schema["pattern"] = pattern
        else:
            yield lambda value: re.search(pattern, str(value)), f"must match the pattern {pattern}"


def _compared(compare: Callable[[Any, Any], Any], bound: Any) -> Callable[[Any], Any]:
    return lambda value: compare(value, bound)


def types_of(schema: Schema) -> list[str]:
    """List the JSON types that a schema allows, as far as it says so itself."""
    if "anyOf" in schema:
        return [kind for one in schema["anyOf"] for kind in types_of(one)]
    types = schema.get("type", "object" if "$ref" in schema else [])
    return [types] if isinstance(types, str) else types


def _predicate_text(check: Any) -> str:
    name = getattr(check, "__name__", type(check).__name__)
    return "is refused by a check of this tool" if name == "<lambda>" else f"must satisfy {name}"


def _tested(convert: Converter | None, tests: list[Test]) -> Converter:
    def tested(value: Any, path: Path, problems: Problems) -> Any:
        before = len(problems)
        out = convert(value, path, problems) if convert else value
        if len(problems) > before or path in problems.refused or out is None:
            return out  # None passes: a limit on `X | None` is one on X
        problems += [Problem(path, text, value) for test, text in tests if not _passes(test, out)]
        return out

    return tested


def _passes(test: Callable[[Any], Any], value: Any) -> bool:
    try:
        return bool(test(value))
    except FAILURES:
        return False
