"""Plain JSON values: tests, sizes and copies, and equality as JSON means it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tools_core._jsonschema._report import Report, Unusable
from tools_core._values._problem import Path, show

MAX_DEPTH = 64


def is_clean(text: str) -> bool:
    """Return whether `text` has no lone surrogates, which UTF-8 cannot encode."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_size(value: Any, depth: int = 0) -> int:
    """Return the number of members of all objects inside `value`, and one more; 0 if it is not plain JSON.

    Plain JSON has exact built-in types, clean text and finite numbers, and is at most 64 containers deep.
    """
    kind = type(value)
    if kind is not dict and kind is not list:
        return int(_is_scalar(value))
    if depth >= MAX_DEPTH:
        return 0
    size = 1
    items = value
    if kind is dict:
        size += len(value)
        for key in value:
            if type(key) is not str or not (key.isascii() or is_clean(key)):
                return 0
        items = value.values()
    for item in items:
        kind = type(item)
        if kind is int or kind is bool or item is None or (kind is str and item.isascii()):
            continue
        inner = plain_size(item, depth + 1)
        if not inner:
            return 0
        size += inner - 1
    return size


def _is_scalar(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return is_clean(value)
    if kind is float:
        return bool(value - value == 0.0)  # not so for NaN and the infinities
    return kind is int or kind is bool or value is None


def to_plain(value: Any, path: Path, report: Report, ancestors: tuple[int, ...] = ()) -> Any:
    """Copy `value` as plain JSON: exact built-in types, tuples as lists; report parts that are not JSON."""
    if not isinstance(value, (dict, list, tuple)):
        return _plain_scalar(value, path, report)
    if id(value) in ancestors:
        report.add_problem(path, "must not contain itself")
        return Unusable()
    if len(ancestors) >= MAX_DEPTH:
        report.add_problem(path, f"is nested too deeply (limit {MAX_DEPTH})")
        return Unusable()
    ancestors = (*ancestors, id(value))
    if not isinstance(value, dict):
        return [to_plain(item, (path, index), report, ancestors) for index, item in enumerate(value)]
    members: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str) or not is_clean(key):
            report.add_problem(path, f"must have text without lone surrogates as member names, got {show(key)}")
        else:
            members[str.__str__(key)] = to_plain(item, (path, key), report, ancestors)
    return members


def _plain_scalar(value: Any, path: Path, report: Report) -> Any:
    # Convert members of a StrEnum or IntEnum to the exact type too.
    if isinstance(value, str):
        value = str.__str__(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        value = int.__index__(value)
    elif isinstance(value, float):
        value = float.__pos__(value)
    if _is_scalar(value):
        return value
    if type(value) is str:
        report.add_problem(path, "must not contain lone surrogates")
    else:
        expected = "a finite number" if type(value) is float else "JSON"
        report.add_problem(path, f"must be {expected}", value)
    return Unusable()


def equality_key(value: Any) -> Hashable:
    """Return a key that is equal for two plain values exactly if they are equal as JSON.

    1 and 1.0 are the same number, true and 1 are not the same value.
    """
    kind = type(value)
    if kind is bool:
        return (bool, value)
    if issubclass(kind, list):  # a tool's own schema may have a subclass
        return (list, *map(equality_key, value))
    if issubclass(kind, dict):
        return (dict, frozenset((key, equality_key(item)) for key, item in value.items()))
    return value  # type: ignore[no-any-return]  # a scalar, or Unusable: equal to nothing else


def are_distinct(items: list[Any]) -> bool:
    """Return whether no two items are equal as JSON."""
    return len(set(map(equality_key, items))) == len(items)
