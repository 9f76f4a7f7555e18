"""JSON that arrives in another process as it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_LONG = 14_000  # bits of an integer: Python refuses to read ones of more than 4,300 digits
_SIMPLE = frozenset({str, bool, type(None)})
_ascii = json.JSONEncoder(separators=(",", ":"), check_circular=False, allow_nan=False).encode
_read = json.JSONDecoder().raw_decode  # `decode` looks for white space around: twice the time of a small object


def _writer() -> Callable[[Any], str]:
    """What writes compact JSON, made once: `JSONEncoder.encode` makes it each time, in half of its time."""
    made = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False)
    make: Any = getattr(json.encoder, "c_make_encoder", None)  # not documented, and not in every Python
    if make is None:
        return made.encode
    parts = make(None, made.default, json.encoder.encode_basestring, None, ":", ",", False, False, False)
    return lambda value: "".join(parts(value, 0))


_compact = _writer()


def is_exact(value: Any) -> bool:
    """Whether JSON gives this back as it is, but for tuples, which come back as lists."""
    kind = type(value)
    if kind in _SIMPLE:
        return True
    if kind is int:
        return bool(value.bit_length() < _LONG)
    if kind is float:
        return bool(value - value == 0.0)
    if kind is dict:
        for key, item in value.items():  # noqa: SIM110  (all() of a generator takes twice as long)
            if type(key) is not str or not is_exact(item):
                return False
        return True
    return (kind is list or kind is tuple) and all(map(is_exact, value))


def inexact(value: Any, path: str) -> str:
    """What keeps JSON from carrying a value, and where; `is_exact` has said that something does."""
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                return f"{path} has the key {key!r:.40}, which is no string"
            if not is_exact(item):
                return inexact(item, f"{path}.{key}" if path else key)
    if type(value) in {list, tuple}:
        return next(inexact(item, f"{path}[{index}]") for index, item in enumerate(value) if not is_exact(item))
    shown = "a number of too many digits" if type(value) is int else f"{value!r:.40}, of type {type(value).__name__}"
    return f"{path} is {shown}"


def encode(value: Any) -> bytes:
    """Write what `is_exact`."""
    text = _compact(value)
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate: only an escape can carry it
        return _ascii(value).encode()


def decode(data: bytes | bytearray | memoryview) -> Any:
    """Read one value; ValueError or RecursionError for what is none."""
    text = str(data, "utf-8")
    value, end = _read(text)
    if end != len(text):
        raise ValueError("something follows the JSON value")
    return value


def is_number(value: object) -> bool:
    """Whether a value that came is a number as progress has it: true is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
