"""The metadata of `Annotated`: texts, constraints (annotated-types, pydantic, msgspec), predicates.

Every object is known by what it offers, because none of these libraries is imported here. Unknown metadata is ignored,
as `Annotated` asks of its readers. A limit becomes a keyword of the schema where that has one, and else a test of the
converted value.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from tools_core._definition._hints._basic_types import as_float
from tools_core._definition._hints._convert import FAILURES, Converter, Problems
from tools_core._definition._hints._reading import Reading, Schema, Unsupported
from tools_core._values._problem import Path, Problem

Test = tuple[Callable[[Any], Any], str]

_NUMBERS = ("integer", "number")
LENGTH_KEYWORDS = {"string": "Length", "array": "Items", "object": "Properties"}
_LONGEST = {kind: f"max{word}" for kind, word in LENGTH_KEYWORDS.items()}
_SHORTEST = {kind: f"min{word}" for kind, word in LENGTH_KEYWORDS.items()}
# The attribute of a marker, the keyword for each type that has one, and the test where the schema cannot say it.
_LIMITS: tuple[tuple[str, dict[str, str], Callable[[Any, Any], Any], str], ...] = (
    ("ge", dict.fromkeys(_NUMBERS, "minimum"), operator.ge, "must be at least"),
    ("gt", dict.fromkeys(_NUMBERS, "exclusiveMinimum"), operator.gt, "must be more than"),
    ("le", dict.fromkeys(_NUMBERS, "maximum"), operator.le, "must be at most"),
    ("lt", dict.fromkeys(_NUMBERS, "exclusiveMaximum"), operator.lt, "must be less than"),
    ("multiple_of", dict.fromkeys(_NUMBERS, "multipleOf"), lambda x, step: not x % step, "must be a multiple of"),
    ("min_length", _SHORTEST, lambda value, size: len(value) >= size, "must have a length of at least"),
    ("max_length", _LONGEST, lambda value, size: len(value) <= size, "must have a length of at most"),
)
_CHANGES = ("strip_whitespace", "to_lower", "to_upper")  # only pydantic changes the text


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
        yield from _limits(one, schema, is_converted)
    else:
        schema.update({"examples": list(one.examples)} if one.examples else {})
        if hasattr(one.json_schema_extra, "keys"):  # it may also be a function, for pydantic's own schema
            schema.update(one.json_schema_extra)


def _limits(one: Any, schema: Schema, is_converted: bool) -> Iterator[Test]:
    # Text that is converted (base64 to bytes) has another length then; arrays and objects keep theirs.
    types = [kind for kind in types_of(schema) if not is_converted or kind in ("array", "object")]
    for name, keywords, holds, words in _LIMITS:
        limit = getattr(one, name, None)
        if limit is None or callable(limit):
            continue
        fitting = [keywords[kind] for kind in types if kind in keywords]
        if types and not fitting:
            raise Unsupported(f"{name} is a limit of {', '.join(keywords)}, and this is {types[0]}", "remove it")
        if fitting and type(limit) in (int, float) and schema.keys().isdisjoint(fitting):
            schema.update(dict.fromkeys(fitting, limit))
        else:
            yield partial(_holds, holds, limit), f"{words} {limit}"
    pattern = getattr(one, "pattern", None)
    pattern = getattr(pattern, "pattern", pattern)
    if isinstance(pattern, str):
        if "string" in types and "pattern" not in schema:
            schema["pattern"] = pattern
        else:
            yield lambda value: re.search(pattern, str(value)), f"must match the pattern {pattern}"


def _holds(holds: Callable[[Any, Any], Any], limit: Any, value: Any) -> Any:
    return holds(value, limit)


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
