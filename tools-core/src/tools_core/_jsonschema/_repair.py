"""Lossless repairs of what models send: `"2"` for an integer, a string of JSON for an object."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._value import is_plain

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})(?:\.[0-9]{1,400})?(?:[eE][-+]?[0-9]{1,4})?")
_STARTS = {
    "integer": "-0123456789",
    "number": "-0123456789",
    "boolean": "tTfF",
    "array": "[ \t\r\n",
    "object": "{ \t\r\n",
}

# Returned where nothing can be repaired without a loss.
HOPELESS: Any = object()


def starts_of(types: Iterable[str]) -> frozenset[str]:
    """Return the characters that text for one of `types` may begin with: a cheap look before `from_text`."""
    return frozenset("".join(_STARTS.get(kind, "") for kind in types))


def from_text(text: str, types: Container[str]) -> Any:
    """Read the value of one of `types` that a string spells, or return HOPELESS."""
    if ("integer" in types or "number" in types) and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        value = float(text)
        return value if value - value == 0.0 else HOPELESS
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return _container(text, types)


def _container(text: str, types: Container[str]) -> Any:
    wanted = {"{": "object", "[": "array"}.get(text.lstrip()[:1])
    if wanted is None or wanted not in types:
        return HOPELESS
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError):
        return HOPELESS
    return value if is_plain(value) else HOPELESS


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a duplicate key: one of the two values would be lost")
    return out
