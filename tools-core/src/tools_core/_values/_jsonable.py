"""Convert any Python value to the JSON that a person would write by hand, never to a repr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import timedelta
from enum import Enum, Flag
from math import isfinite
from typing import Any

from tools_core._values._content import BINARY, as_block
from tools_core._values._problem import NON_FINITE, Path, render_path

_MAX_DEPTH = 200
# Methods that return the content of a record: of pydantic; of our values and pandas; of named tuples; of numpy.
_RECORD_METHODS = ("model_dump", "to_dict", "_asdict", "tolist")
_LONG = 14_000  # bits of an integer: 4,214 digits, and sys.get_int_max_str_digits() begins at 4,300
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_ascii = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def dumps(value: Any) -> str:
    """Write plain JSON data compactly, as text that UTF-8 can encode."""
    text = _compact(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate: only an escape can carry it
            return _ascii(value)
    return text


def to_json_text(value: Any) -> str:
    """Write any value as the JSON text that a model reads; bytes are described instead of included."""
    return dumps(_Walk(is_brief=True).plain(value))


def clean(value: Any) -> Any:
    """Copy any value into plain JSON data. Never raises.

    Dates, times and durations become ISO 8601, UUIDs, paths and Decimals text, enums their value, dataclasses,
    models and named tuples objects, sets sorted arrays, bytes a file block in base64. NaN and the infinities become
    the strings `NaN`, `Infinity` and `-Infinity` (as in the JSON mapping of Protocol Buffers). Circular references,
    values that are nested too deeply and values without a JSON form become a short text in parentheses.
    """
    return _Walk().plain(value)


def check(value: Any, *, allow_nan: bool = True) -> None:
    """Raise if a part of the value has no JSON form.

    Raises:
        TypeError: A part is not JSON serializable; the message has its type and path.
        ValueError: A number is NaN or infinite, unless `allow_nan`.
    """
    walk = _Walk()
    walk.plain(value)
    if walk.type_error:
        raise TypeError(walk.type_error)
    if walk.value_error and not allow_nan:
        raise ValueError(walk.value_error)


class _Walk:
    """One walk through a value, with messages about the first parts that have no JSON form."""

    def __init__(self, *, is_brief: bool = False) -> None:
        self.type_error = ""
        self.value_error = ""
        self._is_brief = is_brief
        self._open: set[int] = set()  # the ids of the containers around the current value

    def plain(self, value: Any, path: Path = None) -> Any:
        kind = type(value)  # `isinstance` would ask the value, which may be a dead proxy
        if value is None or kind is str or kind is bool:
            return value
        if kind is int:  # Python refuses to write very long integers in decimal digits
            return value if value.bit_length() < _LONG else hex(value)
        if kind is float:
            return value if isfinite(value) else self._non_finite(value, path)
        if id(value) in self._open:
            return "(circular reference)"
        if len(self._open) >= _MAX_DEPTH:
            return f"(nested deeper than {_MAX_DEPTH})"
        self._open.add(id(value))
        try:
            if kind is dict:
                return self._object(value, path)
            if kind is list or kind is tuple:
                return self._array(value, path)
            return self._other(value, kind, path)
        except Exception as error:  # noqa: BLE001  (of a method of the value)
            return self._without_form(kind, path, f"({kind.__name__} that cannot be shown: {type(error).__name__})")
        finally:
            self._open.discard(id(value))

    def _array(self, values: Iterable[Any], path: Path) -> list[Any]:
        out = []  # a comprehension would be another frame for each level
        for index, value in enumerate(values):
            out.append(self.plain(value, (path, index)))
        return out

    def _object(self, value: Mapping[Any, Any], path: Path) -> Any:
        out = {}
        for key, item in value.items():
            name = key if type(key) is str else self._name(key, path)
            out[name] = self.plain(item, (path, name))
        if len(out) == len(value):
            return out
        # Keys such as 1 and "1" are equal in JSON: pairs lose nothing.
        return [{"key": self.plain(key), "value": self.plain(item)} for key, item in value.items()]

    def _name(self, key: Any, path: Path) -> str:
        plain = self.plain(key, path)
        return plain if isinstance(plain, str) else dumps(plain)

    def _other(self, value: Any, kind: type, path: Path) -> Any:
        if callable(value) and hasattr(value, "__qualname__"):
            return self._without_form(kind, path, value.__qualname__)
        if isinstance(value, Enum):
            return self.plain([member.name for member in value] if isinstance(value, Flag) else value.value, path)
        if isinstance(value, str | int | float):
            base = next(base for base in (str, int, float) if isinstance(value, base))
            return self.plain(base(value), path)
        if isinstance(value, BINARY):
            return as_block(value).summary() if self._is_brief else as_block(value).to_dict()
        if isinstance(value, Mapping):
            return self._object(value, path)
        if isinstance(value, AbstractSet):
            # Sets have no order, and the same result must always read the same.
            return sorted((self.plain(item, path) for item in value), key=lambda item: (str(type(item)), dumps(item)))
        fields = _fields(value, kind)
        if fields is not None:
            return self._object(fields, path) if type(fields) is dict else self.plain(fields, path)
        text = _text(value, kind)
        if text is not None:
            return text
        if isinstance(value, Iterable):
            return self._array(value, path)
        return self._without_form(kind, path, f"({kind.__name__})")

    def _non_finite(self, value: float, path: Path) -> str:
        text = NON_FINITE[str(value)]
        self.value_error = self.value_error or f"{text}{_place(path)} is not a JSON number; use None or text"
        return text

    def _without_form(self, kind: type, path: Path, text: str) -> str:
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        self.type_error = self.type_error or f"{name}{_place(path)} is not JSON serializable"
        return text


def _place(path: Path) -> str:
    return f" at {render_path(path)}" if path else ""


def _fields(value: Any, kind: type) -> Any:
    """Return the content of a record-like value; None for any other."""
    for method in _RECORD_METHODS:
        if callable(getattr(kind, method, None)):
            if method == "model_dump" and hasattr(kind, "model_json_schema"):
                return value.model_dump(by_alias=True)  # as the output schema names the fields
            return getattr(value, method)()
    if hasattr(kind, "__struct_fields__"):
        msgspec: Any = sys.modules["msgspec"]  # which the author of the type has loaded
        return msgspec.to_builtins(value)
    names = getattr(kind, "__dataclass_fields__", None)
    if names is None:
        names = [attribute.name for attribute in getattr(kind, "__attrs_attrs__", ())]
    return {name: getattr(value, name) for name in names if hasattr(value, name)} if names else None


def _text(value: Any, kind: type) -> str | None:
    if isinstance(value, BaseException):
        return f"{kind.__name__}: {value}"
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if isinstance(value, timedelta):
        return duration(value)
    if hasattr(value, "__fspath__"):
        return str(value.__fspath__())
    has_text = kind.__module__ != "builtins" and getattr(kind, "__str__", None) is not object.__str__
    return str(value) if has_text else None


def duration(value: timedelta) -> str:
    """Write a time span in ISO 8601: `P1DT2H`, `-PT0.5S`."""
    sign = "-" if value.days < 0 else ""
    value = abs(value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    numbers = (str(hours), str(minutes), f"{seconds}.{value.microseconds:06d}".rstrip("0").rstrip("."))
    time = "".join(f"{number}{unit}" for number, unit in zip(numbers, "HMS", strict=True) if number != "0")
    days = f"{value.days}D" if value.days else ""
    return f"{sign}P{days}T{time}" if time else f"{sign}P{days or 'T0S'}"
