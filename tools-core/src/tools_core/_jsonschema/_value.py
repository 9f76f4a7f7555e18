"""JSON values as such, whatever the schema: plain copies, and equality as JSON means it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._report import Unusable
from tools_core._values._problem import show

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from tools_core._jsonschema._report import Checked
    from tools_core._values._problem import Path

DEPTH_LIMIT = 64


def is_clean(text: str) -> bool:
    """Return whether `text` is free of lone surrogates, which UTF-8 cannot carry."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether `value` is plain JSON: exact built-in types, clean text, finite, at most 64 containers deep."""
    kind = type(value)
    items: Iterable[Any]
    if kind is dict:
        for key in value:
            if type(key) is not str or not (key.isascii() or is_clean(key)):
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
    """Copy `value` as plain JSON: exact built-in types, tuples as lists; report what is not JSON."""
    if not isinstance(value, (dict, list, tuple)):
        return _plain_scalar(value, path, report)
    if id(value) in inside:
        report.say(path, "must not contain itself")
        return Unusable()
    if len(inside) >= DEPTH_LIMIT:
        report.say(path, f"is nested too deeply (limit {DEPTH_LIMIT})")
        return Unusable()
    inside = (*inside, id(value))
    if isinstance(value, dict):
        return _plain_object(value, path, report, inside)
    return [plain(item, (path, index), report, inside) for index, item in enumerate(value)]


def _plain_scalar(value: Any, path: Path, report: Checked) -> Any:
    # The exact type, of a member of a StrEnum or IntEnum as well.
    if isinstance(value, str):
        value = str.__str__(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        value = int.__index__(value)
    elif isinstance(value, float):
        value = float.__pos__(value)
    if _is_scalar(value):
        return value
    if type(value) is str:
        report.say(path, "must not contain lone surrogates")
    else:
        report.say(path, f"must be {'a finite number' if type(value) is float else 'JSON'}, got {show(value)}")
    return Unusable()


def _plain_object(value: dict[Any, Any], path: Path, report: Checked, inside: tuple[int, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str) or not is_clean(key):
            report.say(path, f"must have text without lone surrogates as member names, got {show(key)}")
        else:
            out[str.__str__(key)] = plain(item, (path, key), report, inside)
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
    """Return whether no two items are equal as JSON."""
    return len(set(map(frozen, items))) == len(items)
