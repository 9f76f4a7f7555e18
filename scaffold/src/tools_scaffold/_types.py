"""The types that `--params` knows: how each is written in Python, and a sample of it."""

from __future__ import annotations

import re
from typing import NamedTuple


class ParameterType(NamedTuple):
    """How a model sends a sample of a type, and what Python writes for the same."""

    sent: str | int | float | bool
    code: str


TYPES = {
    "str": ParameterType("Oslo", '"Oslo"'),
    "int": ParameterType(3, "3"),
    "float": ParameterType(1.5, "1.5"),
    "bool": ParameterType(sent=True, code="True"),
    "date": ParameterType("2026-01-31", "date(2026, 1, 31)"),
    "datetime": ParameterType("2026-01-31T12:00:00+00:00", "datetime(2026, 1, 31, 12, tzinfo=UTC)"),
    "time": ParameterType("12:30:00", "time(12, 30)"),
    "Decimal": ParameterType("1.5", 'Decimal("1.5")'),
    "Path": ParameterType("notes.txt", 'Path("notes.txt")'),
    "UUID": ParameterType("6fa459ea-ee8a-4ca4-894e-db77e160355e", 'UUID("6fa459ea-ee8a-4ca4-894e-db77e160355e")'),
}
SIMPLE = frozenset({"bool", "float", "int", "list", "str"})

_whole = re.compile("[+-]?[0-9]{1,30}").fullmatch


def literal(text: str) -> str:
    """Write text as Python code, in the quotes that formatters choose."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + text.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


def read_default(kind: str, word: str) -> str:
    """Write a default of a type as Python code; ValueError says what would be right."""
    if kind == "str":
        return literal(word)
    if kind == "bool" and word.lower() in ("true", "false"):
        return word.capitalize()
    if kind == "int" and _whole(word):
        return str(int(word))
    if kind == "float" and _is_finite(word):
        return repr(float(word)).replace("e+", "e")
    if kind == "date" and (day := _day(word)):
        return day
    right = {"bool": "true or false", "int": "a whole number", "float": "a number", "date": "a day such as 2026-01-31"}
    if kind in right:
        raise ValueError(f"a default of type {kind} is {right[kind]}, not {word or 'nothing'}")
    raise ValueError(f"type {kind} takes no default here; a question mark after the type makes it optional")


def _is_finite(word: str) -> bool:
    try:
        return abs(float(word)) < float("inf")
    except ValueError:
        return False


def _day(word: str) -> str | None:
    from datetime import date  # 2 ms, and few tools have such a default

    try:
        day = date.fromisoformat(word)
    except ValueError:
        return None
    return f"date({day.year}, {day.month}, {day.day})"
