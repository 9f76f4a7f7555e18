"""The keywords for scalars and for values as a whole: type with its repairs, choice, numbers, strings, patterns."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Container, Iterator
from functools import partial
from typing import Any

from tools_core._jsonschema._describe import WrongChoice, describe
from tools_core._jsonschema._patterns import search_of
from tools_core._jsonschema._plain_json import equality_key, plain_size
from tools_core._jsonschema._report import Node, Report
from tools_core._jsonschema._types import JSON_TYPES, Schema, choices_of, types_of
from tools_core._values._problem import NOTHING, Path, show

_BOUNDS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    # The operators are mirrored, because the limit is bound first.
    ("minimum", "must be at least", operator.le),
    ("maximum", "must be at most", operator.ge),
    ("exclusiveMinimum", "must be above", operator.lt),
    ("exclusiveMaximum", "must be below", operator.gt),
)

# Numbers as text.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})(?:\.[0-9]{1,400})?(?:[eE][-+]?[0-9]{1,4})?")
_MAX_EXACT = 2**53 - 1  # above, a float may stand for several integers
_MAX_TEXT = 200_000  # characters of an array or object as text, so that it costs little time


def typed(schema: dict[str, Any], root: Schema) -> Node:
    """Compile `type`, where values of a wrong type are repaired."""
    types = types_of(schema)
    exact = frozenset(kind for name in types for kind in JSON_TYPES[name].classes)
    is_whole = "integer" in types and "number" not in types
    expected = f"must be {describe(schema, root)}"

    def step(value: Any, path: Path, report: Report) -> Any:
        kind = type(value)
        if kind in exact:
            return value
        if is_whole and kind is float and value.is_integer():
            if abs(value) > _MAX_EXACT:
                if report.repair:  # without it, the value stays as it is
                    text = f"{expected}: write it without a fraction, which is not exact here"
                    report.add_problem(path, text, value)
                return value
            if report.repair:
                report.add_repair(path, value, show(int(value)))
            return int(value)
        if report.repair and kind is str:
            repaired = _from_text(value, types)
            if repaired is not NOTHING:
                report.add_repair(path, value, show(repaired))
                return repaired
        report.add_problem(path, expected, value)
        return value

    step.exact = exact  # type: ignore[attr-defined]  # see exact_classes
    return step


def exact_classes(node: Node) -> frozenset[type]:
    """Return the classes whose values a compiled `type` accepts unchanged; none for another schema."""
    return getattr(node, "exact", frozenset())


def _from_text(text: str, types: Container[str]) -> Any:
    """Return the value of one of `types` that a string spells, or NOTHING."""
    if ("integer" in types or "number" in types) and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        from fractions import Fraction  # with decimal, more than 5 ms for a rare repair

        value = float(text)
        is_exact = value - value == 0.0 and Fraction(text) == Fraction(repr(value))
        return value if is_exact else NOTHING
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not ("object" in types or "array" in types) or len(text) > _MAX_TEXT:
        return NOTHING
    name = {"{": "object", "[": "array"}.get(text.lstrip()[:1])
    if name is None or name not in types:
        return NOTHING
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError):
        return NOTHING
    return value if plain_size(value) else NOTHING


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a duplicate key: one of the two values would be lost")
    return members


def steps(schema: dict[str, Any]) -> Iterator[Node]:
    """Compile every other keyword for scalars that `schema` has."""
    for keyword in ("enum", "const"):
        if keyword in schema:
            yield _choice(choices_of({keyword: schema[keyword]}))
    for keyword, words, holds in _BOUNDS:
        if keyword in schema:
            yield rule((int, float), partial(holds, schema[keyword]), f"{words} {show(schema[keyword])}")
    if "multipleOf" in schema:
        divisor = schema["multipleOf"]
        yield rule((int, float), lambda value: _is_multiple(value, divisor), f"must be a multiple of {show(divisor)}")
    yield from sizes((str,), schema, "minLength", "maxLength", "character")
    if "pattern" in schema:
        text = show(schema["pattern"], 80)
        yield rule((str,), search_of(schema["pattern"]), f"must match the pattern {text}")


def _choice(choices: list[Any]) -> Node:
    keys = frozenset(map(equality_key, choices))

    def step(value: Any, path: Path, report: Report) -> Any:
        if equality_key(value) not in keys:
            report.add_problem(path, WrongChoice(choices, value), value)
        return value

    return step


def _is_multiple(value: float, divisor: float) -> bool:
    """Divide as decimal fractions, in which 0.0075 is a multiple of 0.0001."""
    if type(value) is int and type(divisor) is int:
        return value % divisor == 0
    from fractions import Fraction  # with decimal, more than 5 ms for a rare keyword

    numbers = [Fraction(repr(number)) if type(number) is float else Fraction(number) for number in (value, divisor)]
    return numbers[0] % numbers[1] == 0


def sizes(classes: tuple[type, ...], schema: dict[str, Any], least: str, most: str, noun: str) -> Iterator[Node]:
    """Compile a pair of limits on the length of a value."""
    for keyword, words, holds in ((least, "at least", operator.ge), (most, "at most", operator.le)):
        if keyword in schema:
            limit = schema[keyword]
            expected = f"must have {words} {int(limit)} {noun}{'' if limit == 1 else 's'}"
            yield _sized(classes, limit, holds, expected)


def _sized(classes: tuple[type, ...], limit: float, holds: Callable[[Any, Any], bool], expected: str) -> Node:
    def step(value: Any, path: Path, report: Report) -> Any:
        if type(value) in classes and not holds(len(value), limit):
            report.add_problem(path, f"{expected}, got {len(value)}")
        return value

    return step


def rule(classes: tuple[type, ...], holds: Callable[[Any], bool], expected: str) -> Node:
    """Compile a rule for values of these classes."""

    def step(value: Any, path: Path, report: Report) -> Any:
        if type(value) in classes and not holds(value):
            report.add_problem(path, expected, value)
        return value

    return step
