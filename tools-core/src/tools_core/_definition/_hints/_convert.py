"""Converters: functions from valid JSON to what a hint asks for, and how they are put together.

A converter never changes its value and never raises: it adds what is wrong to `problems`, and what it then returns is
not used. A value may break its schema: `problems.refused` has the places of those that do. Converters of containers
look inside all the same, so that one report has the problems of both kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tools_core._values._problem import Path, Problem


class Problems(list[Problem]):
    """The problems of one conversion; `refused` has the paths of values in which the schema found one."""

    def __init__(self, found: Sequence[Problem] = ()) -> None:
        super().__init__(found)
        self.refused: set[Path] = set()
        for problem in found:
            path = problem.where
            while path is not None:
                self.refused.add(path)
                path = path[0]


Converter: TypeAlias = Callable[[Any, Path, Problems], Any]

# Raised by an author's own check (`__post_init__`, a predicate, a parser) to refuse a value.
FAILURES = (ValueError, TypeError, ArithmeticError, LookupError, AssertionError)


def parsed(parse: Callable[[Any], Any], wanted: str) -> Converter:
    """Convert with a parser that raises; `wanted` completes the sentence "must be ..."."""

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if path in problems.refused:
            return None
        try:
            return parse(value)
        except FAILURES:
            problems.append(Problem(path, f"must be {wanted}", value))

    return convert


def array(
    make: Callable[[Iterable[Any]], Any], rest: Converter | None, first: Sequence[Converter | None] = ()
) -> Converter:
    """Make a collection of the items of an array: `first` convert by position, `rest` all further ones."""

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not list:
            return None
        before = len(problems)
        items = []
        for index, item in enumerate(value):
            one = first[index] if index < len(first) else rest
            items.append(one(item, (path, index), problems) if one else item)
        # Items that failed may be of any type, even one that a set cannot hold.
        return make(items) if len(problems) == before and path not in problems.refused else None

    return convert


def entries(key: Converter | None, value: Converter | None) -> Converter:
    """Convert the keys and the values of an object that is used as a mapping."""

    def convert(given: Any, path: Path, problems: Problems) -> Any:
        if type(given) is not dict:
            return None
        out: dict[Any, Any] = {}
        for name, one in given.items():
            at = (path, name)
            out[key(name, at, problems) if key else name] = value(one, at, problems) if value else one
        return out

    return convert


def members(converters: Mapping[str, Converter], make: Callable[..., Any] | None = None) -> Converter:
    """Convert the members of an object that have a converter, and `make` an instance, which may still be refused."""

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not dict:
            return None
        before = len(problems)
        out = dict(value)
        for name, one in converters.items():
            if name in out:
                out[name] = one(out[name], (path, name), problems)
        if make is None or len(problems) > before or path in problems.refused:
            return out
        try:
            return make(**out)
        except FAILURES as error:
            problems.append(Problem(path, refusal(error)))

    return convert


def refusal(error: BaseException) -> str:
    """Return the first line of what an author's own check raised."""
    lines = str(error).splitlines() or [type(error).__name__]
    return f"is invalid: {lines[0]}"
