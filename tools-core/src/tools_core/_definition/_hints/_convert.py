"""Converters: functions from valid JSON to what a hint asks for, and how they are put together.

A converter never raises for a value its schema accepts and never changes that value: what is wrong it
adds to `problems`, and what it then returns is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tools_core._values._problem import Path, Problem, show

Converter: TypeAlias = Callable[[Any, Path, list[Problem]], Any]

# What an author's own check (`__post_init__`, a predicate, a parser) raises to say "not this value".
FAILURES = (ValueError, TypeError, ArithmeticError, LookupError, AssertionError)


def parsed(parse: Callable[[Any], Any], wanted: str) -> Converter:
    """Convert with a parser that raises; `wanted` completes the sentence "must be ..."."""

    def convert(value: Any, path: Path, problems: list[Problem]) -> Any:
        try:
            return parse(value)
        except FAILURES:
            problems.append(Problem(path, f"must be {wanted}, got {show(value)}"))

    return convert


def each(item: Converter) -> Converter:
    """Convert every item of an array."""

    def convert(value: list[Any], path: Path, problems: list[Problem]) -> list[Any]:
        return [item(one, (path, index), problems) for index, one in enumerate(value)]

    return convert


def fixed(items: Sequence[Converter | None]) -> Converter:
    """Convert the items of an array by their position, into a tuple."""

    def convert(value: list[Any], path: Path, problems: list[Problem]) -> tuple[Any, ...]:
        pairs = enumerate(zip(items, value, strict=True))
        return tuple(item(one, (path, index), problems) if item else one for index, (item, one) in pairs)

    return convert


def gathered(make: Callable[[Iterable[Any]], Any], item: Converter | None) -> Converter:
    """Turn an array into another collection, such as a set."""

    def convert(value: list[Any], path: Path, problems: list[Problem]) -> Any:
        if item is None:
            return make(value)
        before = len(problems)
        items = [item(one, (path, index), problems) for index, one in enumerate(value)]
        # Items that failed may be of any type, even one that a set cannot hold.
        return make(items) if len(problems) == before else None

    return convert


def entries(key: Converter | None, value: Converter | None) -> Converter:
    """Convert the keys and the values of an object that is used as a mapping."""

    def convert(given: dict[str, Any], path: Path, problems: list[Problem]) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for name, one in given.items():
            at = (path, name)
            out[key(name, at, problems) if key else name] = value(one, at, problems) if value else one
        return out

    return convert


def members(converters: Mapping[str, Converter]) -> Converter:
    """Convert the members of an object that have a converter, those that are there."""

    def convert(given: dict[str, Any], path: Path, problems: list[Problem]) -> dict[str, Any]:
        out = dict(given)
        for name, one in converters.items():
            if name in out:
                out[name] = one(out[name], (path, name), problems)
        return out

    return convert


def built(make: Callable[..., Any], converters: Mapping[str, Converter]) -> Converter:
    """Make an instance of a class from an object; the class may still refuse it."""
    converted = members(converters) if converters else None

    def convert(given: dict[str, Any], path: Path, problems: list[Problem]) -> Any:
        before = len(problems)
        arguments = converted(given, path, problems) if converted else given
        if len(problems) > before:
            return None
        try:
            return make(**arguments)
        except FAILURES as error:
            problems.append(Problem(path, refusal(error)))

    return convert


def refusal(error: BaseException) -> str:
    """Say what an author's own check said, on one line."""
    lines = str(error).splitlines() or [type(error).__name__]
    return f"is invalid: {lines[0]}"
