"""Lossless repairs of frequent mistakes of models: `"2"` for an integer, JSON text for an object."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable
from typing import Any

from tools_core._jsonschema._plain_json import is_plain

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})(?:\.[0-9]{1,400})?(?:[eE][-+]?[0-9]{1,4})?")
_STARTS = {
    "integer": "-0123456789",
    "number": "-0123456789",
    "boolean": "tTfF",
    "array": "[ \t\r\n",
    "object": "{ \t\r\n",
}

NOT_REPAIRABLE: Any = object()


def starts_of(types: Iterable[str]) -> frozenset[str]:
    """Return the characters that text for one of `types` may start with: a cheap test before `from_text`."""
    return frozenset("".join(_STARTS.get(name, "") for name in types))


def from_text(text: str, types: Container[str]) -> Any:
    """Return the value of one of `types` that a string spells, or NOT_REPAIRABLE."""
    if ("integer" in types or "number" in types) and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        value = float(text)
        return value if value - value == 0.0 else NOT_REPAIRABLE
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    name = {"{": "object", "[": "array"}.get(text.lstrip()[:1])
    if name is None or name not in types:
        return NOT_REPAIRABLE
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError):
        return NOT_REPAIRABLE
    return value if is_plain(value) else NOT_REPAIRABLE


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a duplicate key: one of the two values would be lost")
    return members
