"""JSON values as such, whatever the schema: what is one, made plain, and equality as JSON means it."""

from __future__ import annotations

from tools_core._jsonschema._report import Unusable
from tools_core._values._problem import show

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable
    from typing import Any

    from tools_core._jsonschema._report import Checked
    from tools_core._values._problem import Path

DEPTH_LIMIT = 64


def is_clean(text: str) -> bool:
    """Say whether `text` is free of lone surrogates, which no UTF-8 can carry."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_plain(value: Any, depth: int = 0) -> bool:
    """Say whether `value` is plain JSON: exact built-in types, clean text, finite, at most 64 containers deep."""
    kind = type(value)
    items: Iterable[Any]
    if kind is dict:
        if not all(type(key) is str and is_clean(key) for key in value):
            return False
        items = value.values()
    elif kind is list:
        items = value
    else:
        return _is_scalar(value)
    if depth >= DEPTH_LIMIT:
        return False
    for item in items:
        kind = type(item)
        if kind is int or kind is bool or item is None or (kind is str and item.isascii()):
            continue
        if not is_plain(item, depth + 1):
            return False
    return True


def _is_scalar(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return is_clean(value)
    if kind is float:
        return bool(value - value == 0.0)  # not so for NaN and the infinities
    return kind is int or kind is bool or value is None


def plain(value: Any, path: Path, report: Checked, inside: tuple[int, ...] = ()) -> Any:
    """Copy `value` as plain JSON: exact built-in types, tuples as lists; report what is no JSON."""
    kind = type(value)
    # By its type and not by isinstance, which a value can deceive with a `__class__` of its own.
    if issubclass(kind, str):
        return _plain_text(value, path, report)
    if value is None or kind is bool:
        return value
    if issubclass(kind, int):
        return int.__index__(value)
    if issubclass(kind, float):
        if value - value == 0.0:
            return float.__pos__(value)
        report.say(path, f"must be a finite number, got {show(float.__pos__(value))}")
    elif not issubclass(kind, (dict, list, tuple)):
        report.say(path, f"must be JSON, got {show(value)}")
    elif id(value) in inside:
        report.say(path, "must not contain itself")
    elif len(inside) >= DEPTH_LIMIT:
        report.say(path, f"is nested too deeply (limit {DEPTH_LIMIT})")
    else:
        inside = (*inside, id(value))
        if issubclass(kind, dict):
            return _plain_object(value, path, report, inside)
        walk = list.__iter__ if issubclass(kind, list) else tuple.__iter__
        return [plain(item, (path, index), report, inside) for index, item in enumerate(walk(value))]
    return Unusable()


def _plain_text(value: str, path: Path, report: Checked) -> Any:
    text = str.__str__(value)  # exact, whatever a subclass says of itself
    if is_clean(text):
        return text
    report.say(path, "must not contain lone surrogates")
    return Unusable()


def _plain_object(value: dict[Any, Any], path: Path, report: Checked, inside: tuple[int, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, item in dict.items(value):
        if not issubclass(type(key), str):
            report.say(path, f"must have text as member names, got {show(key)}")
            continue
        name = str.__str__(key)
        if not is_clean(name):
            report.say(path, f"must not contain lone surrogates, got the member name {show(name)}")
            continue
        out[name] = plain(item, (path, name), report, inside)
    return out


def frozen(value: Any) -> Hashable:
    """Map a plain JSON value to a key that is equal exactly when the values are equal as JSON.

    1 and 1.0 are the same number, true and 1 are not the same value.
    """
    kind = type(value)
    if kind is bool:
        return (bool, value)
    if issubclass(kind, list):  # the frozen list and dict of a tool's own schema, too
        return (list, *map(frozen, value))
    if issubclass(kind, dict):
        return (dict, frozenset((key, frozen(item)) for key, item in value.items()))
    return value  # type: ignore[no-any-return]  # a scalar, or Unusable: equal to nothing else


def distinct(items: list[Any]) -> bool:
    """Say whether no two items are equal as JSON."""
    return len(set(map(frozen, items))) == len(items)
