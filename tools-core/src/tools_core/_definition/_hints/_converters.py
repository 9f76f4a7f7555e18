"""Converters: functions from valid JSON to the type of a hint.

A converter neither changes its value nor raises: it adds to `problems`, and then its return value is not used. It also
gets values that violate the schema, so that one report has the problems of both kinds; `problems.refused` has their
paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

from tools_core._values._problem import Path, Problem


class Problems(list[Problem]):
    """The problems of a conversion; `refused` has the paths of the values that violate the schema."""

    def __init__(self, schema_problems: Sequence[Problem] = ()) -> None:
        super().__init__(schema_problems)
        self.refused: set[Path] = set()
        for problem in schema_problems:
            path = problem.where
            while path is not None:
                self.refused.add(path)
                path = path[0]


# Called with a value, its path (see `Problem.where`) and the problems so far.
Converter: TypeAlias = Callable[[Any, Any, Problems], Any]

# Raised by parsers, and by an author's checks such as `__post_init__`, to refuse a value.
FAILURES = (ValueError, TypeError, ArithmeticError, LookupError, AssertionError)


def parsed(parse: Callable[[Any], Any], expected: str) -> Converter:
    """Convert with a parser that raises; `expected` completes the sentence "must be ..."."""

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if path in problems.refused:
            return None
        try:
            return parse(value)
        except FAILURES:
            problems.append(Problem(path, f"must be {expected}", value))

    return convert


def array(
    factory: Callable[[Iterable[Any]], Any], rest: Converter | None, first: Sequence[Converter | None] = ()
) -> Converter:
    """Convert an array to a collection: `first` converts items by position, `rest` all further items."""

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not list:
            return None
        before = len(problems)
        items = []
        for index, item in enumerate(value):
            converter = first[index] if index < len(first) else rest
            items.append(converter(item, (path, index), problems) if converter else item)
        if len(problems) > before or path in problems.refused:
            return None
        try:
            return factory(items)
        except TypeError as error:  # a set cannot hold arrays and objects
            problems.append(Problem(path, refusal(error)))

    return convert


def entries(key: Converter | None, value: Converter | None) -> Converter:
    """Convert the keys and the values of an object that is used as a mapping."""

    def convert(mapping: Any, path: Path, problems: Problems) -> Any:
        if type(mapping) is not dict:
            return None
        converted: dict[Any, Any] = {}
        for name, item in mapping.items():
            item_path = (path, name)
            new_name = key(name, item_path, problems) if key else name
            converted[new_name] = value(item, item_path, problems) if value else item
        return converted

    return convert


def members(
    converters: Mapping[str, Converter],
    factory: Callable[..., Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Converter:
    """Convert the members of an object that have a converter, defaults included; `factory` creates an instance."""

    def convert(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not dict:
            return None
        before = len(problems)
        missing = {name: default for name, default in defaults.items() if name not in value} if defaults else {}
        converted = {**value, **deepcopy(missing)}
        for name, converter in converters.items():
            if name in converted:
                converted[name] = converter(converted[name], (path, name), problems)
        if factory is None or len(problems) > before or path in problems.refused:
            return converted
        try:
            return factory(**converted)
        except FAILURES as error:
            problems.append(Problem(path, refusal(error)))

    return convert


def refusal(error: BaseException) -> str:
    """Return the first line of an exception that an author's check raised."""
    lines = str(error).splitlines() or [type(error).__name__]
    return f"is invalid: {lines[0]}"
