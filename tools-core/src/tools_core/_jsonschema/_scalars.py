"""The keywords that look at a value as a whole: type, choice, numbers, strings."""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._describe import describe, extent
from tools_core._jsonschema._keywords import PYTHON_TYPES, types_of
from tools_core._jsonschema._regex import translate
from tools_core._jsonschema._repair import HOPELESS, from_text, starts_of
from tools_core._jsonschema._value import frozen
from tools_core._values._problem import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools_core._jsonschema._pointer import Schema
    from tools_core._jsonschema._report import Checked, Node
    from tools_core._values._problem import Path

_BOUNDS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    # The operators are mirrored, because the limit is the one bound first.
    ("minimum", "must be at least", operator.le),
    ("maximum", "must be at most", operator.ge),
    ("exclusiveMinimum", "must be above", operator.lt),
    ("exclusiveMaximum", "must be below", operator.gt),
)


def typed(schema: dict[str, Any], root: Schema) -> Node:
    """Compile `type`: also the place where a value of a wrong type is repaired."""
    types = types_of(schema)
    exact = frozenset(kind for name in types for kind in PYTHON_TYPES[name])
    whole = "integer" in types and "number" not in types
    starts = starts_of(types)
    expected = f"must be {describe(schema, root)}"

    def step(value: Any, path: Path, report: Checked) -> Any:
        kind = type(value)
        if kind in exact:
            return value
        if whole and kind is float and value.is_integer():
            if report.repair:
                report.repaired(path, value, show(int(value)))
            return int(value)
        if report.repair and kind is str and value[:1] in starts:
            repaired = from_text(value, types)
            if repaired is not HOPELESS:
                report.repaired(path, value, show(repaired))
                return repaired
        report.fail(path, expected, value)
        return value

    return step


def steps(schema: dict[str, Any], root: Schema) -> Iterator[Node]:
    """Compile every other keyword for scalars that `schema` has."""
    for keyword in ("enum", "const"):
        if keyword in schema:
            values = schema["enum"] if keyword == "enum" else [schema["const"]]
            yield _one_of(frozenset(map(frozen, values)), f"must be {describe({keyword: schema[keyword]}, root)}")
    for keyword, words, holds in _BOUNDS:
        if keyword in schema:
            yield rule((int, float), partial(holds, schema[keyword]), f"{words} {show(schema[keyword])}")
    if "multipleOf" in schema:
        divisor = schema["multipleOf"]
        yield rule((int, float), lambda value: _is_multiple(value, divisor), f"must be a multiple of {show(divisor)}")
    yield from sizes((str,), schema, "minLength", "maxLength", "character")
    if "pattern" in schema:
        search, shown = translate(schema["pattern"]).search, show(schema["pattern"], 80)
        yield rule((str,), lambda value: search(value) is not None, f"must match the pattern {shown}")


def _one_of(allowed: frozenset[Any], expected: str) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        if frozen(value) not in allowed:
            report.fail(path, expected, value)
        return value

    return step


def _is_multiple(value: float, divisor: float) -> bool:
    """Divide as decimal fractions, in which 0.0075 is a multiple of 0.0001."""
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(divisor) is float and divisor.is_integer():
        divisor = int(divisor)
    if type(divisor) is int:
        return type(value) is int and value % divisor == 0
    from fractions import Fraction  # loads only for a fractional multipleOf: costs 5 ms at import

    return (Fraction(repr(value)) if type(value) is float else Fraction(value)) % Fraction(repr(divisor)) == 0


def sizes(kinds: tuple[type, ...], schema: dict[str, Any], least: str, most: str, noun: str) -> Iterator[Node]:
    """Compile a pair of limits on the length of a value."""
    if least in schema:
        yield _sized(kinds, schema[least], operator.ge, f"must have {extent(schema[least], None, noun)}")
    if most in schema:
        yield _sized(kinds, schema[most], operator.le, f"must have {extent(None, schema[most], noun)}")


def _sized(kinds: tuple[type, ...], limit: float, holds: Callable[[int, float], bool], expected: str) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) in kinds and not holds(len(value), limit):
            report.say(path, f"{expected}, got {len(value)}")
        return value

    return step


def rule(kinds: tuple[type, ...], holds: Callable[[Any], bool], expected: str) -> Node:
    """Compile a rule for values of these Python types."""

    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) in kinds and not holds(value):
            report.fail(path, expected, value)
        return value

    return step
