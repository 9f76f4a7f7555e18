"""Any Python value as clean JSON: what a person would write by hand, never a repr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from tools_core._values._content import Block, File

if TYPE_CHECKING:
    from datetime import timedelta

    from tools_core._values._problem import Path

_DEPTH_LIMIT = 200
_SCALARS = frozenset({str, int, float, bool, type(None)})
_BINARY = (bytes, bytearray, memoryview)
_KNOWN = (str, int, float, *_BINARY, Enum, Block, Mapping, AbstractSet, BaseException, type)
_RECORDS = ("model_dump", "to_dict", "_asdict", "tolist")  # pydantic; ours and pandas'; named tuples; numpy
_FORMS = (*_RECORDS, "isoformat", "total_seconds", "__fspath__", "__dataclass_fields__", "__attrs_attrs__", "__iter__")
_LONG = 14_000  # bits of an integer: 4,214 digits, and sys.get_int_max_str_digits() begins at 4,300
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_ascii = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def dumps(value: Any) -> str:
    """Write clean JSON data compactly; the text can always be encoded as UTF-8."""
    text = _compact(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate: only an escape can carry it
            return _ascii(value)
    return text


def to_json_text(value: Any) -> str:
    """Write any value as the JSON text that a model reads; bytes are described, not dumped."""
    if type(value) is bool or (type(value) is int and value.bit_length() < _LONG):
        return _compact(value)
    return dumps(_clean(value, (), brief=True))


def clean(value: Any) -> Any:
    """Copy any value into plain JSON data. Never raises.

    Dates, times and durations become ISO 8601, UUIDs, paths and Decimals text, enums their value, dataclasses,
    models and named tuples objects, sets sorted arrays, bytes a file block in base64. NaN and the infinities become
    the strings `NaN`, `Infinity` and `-Infinity` (as in the JSON mapping of Protocol Buffers), a value that contains
    itself becomes a string that says so.
    """
    return _clean(value, (), brief=False)


def foreign_part(value: Any, path: Path = None, seen: set[int] | None = None) -> tuple[Path, type] | None:
    """Return place and type of a part that has no form in JSON; None when there is no such part.

    Looks into dicts, lists, sets and the fields of dataclasses; of other containers only at their own type.
    """
    kind = type(value)
    seen = set() if seen is None else seen
    if kind in _SCALARS or id(value) in seen:
        return None
    seen.add(id(value))
    parts: Iterable[tuple[Any, Any]]
    if kind is dict:
        parts = value.items()
    elif kind is list or kind is tuple:
        parts = enumerate(value)
    elif kind is set or kind is frozenset:
        parts = ((None, item) for item in value)
    elif hasattr(kind, "__dataclass_fields__") and not any(map(partial(hasattr, kind), _RECORDS)):
        parts = (_fields(value, kind) or {}).items()
    elif issubclass(kind, _KNOWN):
        return None
    else:
        names = set[str]().union(*map(vars, kind.__mro__))  # hasattr would find those of the metaclass as well
        return (path, kind) if names.isdisjoint(_FORMS) and not _has_own_text(kind) else None
    for key, part in parts:
        if type(part) not in _SCALARS:
            found = foreign_part(part, path if key is None else (path, key), seen)
            if found is not None:
                return found
    return None


def _clean(value: Any, outer: tuple[int, ...], brief: bool) -> Any:
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if kind is int:  # Python refuses to write very long ones in decimal digits
        return value if value.bit_length() < _LONG else hex(value)
    if kind is float:
        return value if value - value == 0.0 else {"nan": "NaN", "inf": "Infinity"}.get(str(value), "-Infinity")
    if id(value) in outer:
        return "(this value contains itself)"
    if len(outer) >= _DEPTH_LIMIT:
        return f"(nested deeper than {_DEPTH_LIMIT})"
    outer = (*outer, id(value))
    try:
        if kind is dict:
            return _object(value, outer, brief)
        if kind is list or kind is tuple:
            return [_clean(item, outer, brief) for item in value]
        return _clean_other(value, kind, outer, brief)
    except Exception as error:  # noqa: BLE001  (a value's own method failed, and its class may be anybody's)
        return f"({kind.__name__} that cannot be shown: {type(error).__name__})"


def _clean_other(value: Any, kind: type, outer: tuple[int, ...], brief: bool) -> Any:
    if isinstance(value, Enum):
        return _clean(value.value, outer, brief)
    if isinstance(value, str | int | float):
        base = next(base for base in (str, int, float) if isinstance(value, base))
        return _clean(base(value), outer, brief)
    if isinstance(value, _BINARY):
        value = File(bytes(value))
    if isinstance(value, Block):
        return value.summary() if brief else value.to_dict()
    if isinstance(value, Mapping):
        return _object(value, outer, brief)
    if isinstance(value, AbstractSet):
        # Sets have no order, and the same result must always read the same.
        return sorted((_clean(item, outer, brief) for item in value), key=lambda item: (str(type(item)), dumps(item)))
    fields = _fields(value, kind)
    if fields is not None:
        return _clean(fields, outer, brief)
    text = _text(value, kind)
    if text is not None:
        return text
    return [_clean(item, outer, brief) for item in value] if isinstance(value, Iterable) else f"({kind.__name__})"


def _fields(value: Any, kind: type) -> Any:
    """Return the content of a record-like value; None for any other."""
    if isinstance(value, type):
        return None
    for method in _RECORDS:
        if callable(getattr(kind, method, None)):
            if method == "model_dump" and hasattr(kind, "model_json_schema"):
                return value.model_dump(by_alias=True)  # as the output schema names the fields
            return getattr(value, method)()
    names = getattr(kind, "__dataclass_fields__", None)
    if names is None:
        names = [attribute.name for attribute in getattr(kind, "__attrs_attrs__", ())]
    return {name: getattr(value, name) for name in names if hasattr(value, name)} if names else None


def _text(value: Any, kind: type) -> str | None:
    if isinstance(value, BaseException):
        return f"{kind.__name__}: {value}"
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if hasattr(value, "total_seconds"):
        return duration(value)
    if hasattr(value, "__fspath__"):
        return str(value.__fspath__())
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return str(value) if _has_own_text(kind) else None


def _has_own_text(kind: type) -> bool:
    return kind.__module__ != "builtins" and getattr(kind, "__str__", None) is not object.__str__


def _object(value: Mapping[Any, Any], outer: tuple[int, ...], brief: bool) -> Any:
    out = {_key(key, outer): _clean(item, outer, brief) for key, item in value.items()}
    if len(out) == len(value):
        return out
    # Keys such as 1 and "1" are one in JSON: pairs lose nothing.
    return [{"key": _clean(key, outer, brief), "value": _clean(item, outer, brief)} for key, item in value.items()]


def _key(key: Any, outer: tuple[int, ...]) -> str:
    if type(key) is str:
        return key
    plain = _clean(key, outer, brief=True)
    return plain if isinstance(plain, str) else dumps(plain)


def duration(value: timedelta) -> str:
    """Write a time span as ISO 8601 has it: `P1DT2H`, `-PT0.5S`."""
    sign = "-" if value.days < 0 else ""
    value = abs(value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    days = f"{value.days}D" if value.days else ""
    time = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M")) if n)
    if seconds or fraction:
        time += f"{seconds}{fraction}S"
    return f"{sign}P{days}T{time}" if time else f"{sign}P{days or 'T0S'}"
