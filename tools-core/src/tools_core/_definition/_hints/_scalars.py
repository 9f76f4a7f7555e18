"""Hints for single values: text, numbers, and types of the standard library that JSON writes as text."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable
from functools import partial
from pathlib import PurePath
from typing import Any

from tools_core._definition._hints._annotations import Reading
from tools_core._definition._hints._converters import Converter, Problems, parsed
from tools_core._jsonschema._types import TYPE_NAMES
from tools_core._values._problem import Path

SCALARS: dict[Any, str] = {kind: name for kind, name in TYPE_NAMES.items() if kind not in (list, dict)}


def as_float(value: Any, _path: Path, _problems: Problems) -> Any:
    """Convert an integer to an equal float, if there is one; return any other value unchanged."""
    if type(value) is not int:
        return value
    try:
        converted = float(value)
    except OverflowError:
        return value
    return converted if converted == value else value


def read_scalar(hint: type) -> Reading | None:
    """Read a class of the standard library that JSON writes as one value; None for any other class.

    Classes are recognized by name: `uuid` takes 10 ms to import, and a hint has loaded it already.
    """
    if issubclass(hint, PurePath):
        return {"type": "string", "format": "path"}, parsed(hint, "a path")
    read = _BY_NAME.get(f"{hint.__module__}.{hint.__qualname__}")
    return read(hint) if read else None


def _text(name: str, parse: Callable[[Any], Any], expected: str) -> Reading:
    return {"type": "string", "format": name}, parsed(parse, expected)


def _bytes(_: type) -> Reading:
    parse = partial(a2b_base64, strict_mode=True)
    return {"type": "string", "contentEncoding": "base64"}, parsed(parse, "text in base64")


def _decimal(hint: type) -> Reading:
    def parse(value: Any) -> Any:
        text = str(value)  # Decimal(0.1) has 55 digits, the JSON had one
        digits = text.partition("e")[0].replace(".", "").strip("-0")
        # A float keeps up to 15 digits of its JSON and loses the others.
        if not re.fullmatch(_DECIMAL, text) or (type(value) is float and len(digits) > 15):
            raise ValueError(value)
        return hint(text)

    expected = "a decimal number like 12.50, as a string if it has more than 15 digits"
    return {"type": ["number", "string"]}, parsed(parse, expected)


_DECIMAL = r"[-+]?(?:[0-9]{1,1000}(?:\.[0-9]{0,1000})?|\.[0-9]{1,1000})(?:[eE][-+]?[0-9]{1,3})?"
_DURATION = (
    r"(?P<sign>[-+]?)P(?=.)(?:(?P<weeks>\d+(?:\.\d+)?)W)?(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?=.)(?:(?P<hours>\d+(?:\.\d+)?)H)?(?:(?P<minutes>\d+(?:\.\d+)?)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


def _timedelta(hint: type) -> Reading:
    def parse(value: str) -> Any:
        match = re.fullmatch(_DURATION, value.replace(",", "."), re.ASCII)
        if match is None:
            raise ValueError(value)
        parts = match.groupdict()
        sign = -1 if parts.pop("sign") == "-" else 1
        return sign * hint(**{unit: float(count) for unit, count in parts.items() if count})

    return _text("duration", parse, "a duration like PT1H30M")


_BY_NAME: dict[str, Callable[[Any], Reading]] = {
    "builtins.bytes": _bytes,
    "datetime.date": lambda hint: _text("date", hint.fromisoformat, "a date like 2026-11-20"),
    "datetime.datetime": lambda hint: _text(
        "date-time", hint.fromisoformat, "a date and time like 2026-11-20T14:30:00+01:00"
    ),
    "datetime.time": lambda hint: _text("time", hint.fromisoformat, "a time like 14:30:00"),
    "datetime.timedelta": _timedelta,
    "uuid.UUID": lambda hint: _text("uuid", hint, "a UUID like 12345678-1234-5678-1234-567812345678"),
    "decimal.Decimal": _decimal,
    "ipaddress.IPv4Address": lambda hint: _text("ipv4", hint, "an IPv4 address like 192.0.2.1"),
    "ipaddress.IPv6Address": lambda hint: _text("ipv6", hint, "an IPv6 address like 2001:db8::1"),
    "ipaddress.IPv4Network": lambda hint: _text("ipv4network", hint, "an IPv4 network like 192.0.2.0/24"),
    "ipaddress.IPv6Network": lambda hint: _text("ipv6network", hint, "an IPv6 network like 2001:db8::/32"),
    "ipaddress.IPv4Interface": lambda hint: _text("ipv4interface", hint, "an IPv4 interface like 192.0.2.1/24"),
    "ipaddress.IPv6Interface": lambda hint: _text("ipv6interface", hint, "an IPv6 interface like 2001:db8::1/32"),
    "re.Pattern": lambda _: _text("regex", _compiled, "a regular expression of Python"),
    "zoneinfo.ZoneInfo": lambda hint: _text("timezone", hint, "a time zone like Europe/Oslo"),
}


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(str(error)) from None


def integer_key() -> tuple[dict[str, Any], Converter]:
    """Read the hint `int` for keys of an object, which are text in JSON."""
    return {"pattern": "^(0|-?[1-9][0-9]*)$"}, parsed(int, "an integer")
