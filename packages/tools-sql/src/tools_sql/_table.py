"""Rows as the text that a model reads."""

import json
import math
from collections.abc import Sequence
from datetime import date, time
from typing import Any

from tools_core import Result

_MAX_VALUE = 300  # characters of a value in the text
_MAX_TEXT = 20_000  # characters of all rows in the text
_TYPES = {"bool": "boolean", "int": "integer", "float": "real", "str": "text", "dict": "json", "list": "json"}


def result_of(names: Sequence[str], rows: Sequence[Sequence[Any]], *, has_more: bool = False) -> Result:
    """Return rows as JSON values, and as text: a line for the columns with their types, and a line for each row."""
    header = " | ".join(_column(name, [row[at] for row in rows]) for at, name in enumerate(names))
    if len(header) > _MAX_TEXT:
        header = f"{header[:_MAX_TEXT]}... ({len(names):,} columns)"
    lines, left = [header], _MAX_TEXT - len(header)
    for row in rows:
        line = " | ".join(map(_text, row))
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    count = f"{len(lines) - 1} {'row' if len(lines) == 2 else 'rows'}"
    if has_more or len(lines) - 1 < len(rows):
        count = f"the first {count}; select fewer columns or rows, or raise limit"
    output = {"columns": list(names), "rows": [list(map(_json, row)) for row in rows], "has_more": has_more}
    return Result.ok(output, content="\n".join([*lines, f"({count})"]))


def _column(name: str, values: Sequence[Any]) -> str:
    value = next((value for value in values if value is not None), None)
    type_name = type(value).__name__.lower()
    return _text(name) if value is None else f"{_text(name)} ({_TYPES.get(type_name, type_name)})"


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes | memoryview):
        return f"{bytes(value[:16]).hex()}{'...' if len(value) > 16 else ''} ({len(value):,} bytes)"
    text = value if isinstance(value, str) else str(_json(value))
    if isinstance(value, dict | list):
        text = json.dumps(_json(value), ensure_ascii=False)
    elif text in ("", "NULL") or text != text.strip() or not text.isprintable() or "|" in text:
        text = json.dumps(text, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}... ({len(text):,} characters)"


def _json(value: Any) -> Any:
    """Return a value as JSON: decimals, times, ids, NaN and Infinity as text, bytes as hexadecimal digits."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    return value.isoformat() if isinstance(value, date | time) else str(value)
