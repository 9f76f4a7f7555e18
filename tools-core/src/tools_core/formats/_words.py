"""What a dialect has no keyword for, in words for the description."""

from __future__ import annotations

import json

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

NOTES = "\0notes"  # in a schema that was merged: words that no keyword could hold
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matching the pattern {}",
    "format": "in the format {}",
    "minLength": "at least {} character{s}",
    "maxLength": "at most {} character{s}",
    "minItems": "at least {} item{s}",
    "maxItems": "at most {} item{s}",
    "minProperties": "at least {} member{s}",
    "maxProperties": "at most {} member{s}",
    "contentEncoding": "encoded in {}",
    "contentMediaType": "of the media type {}",
}
_WORDY = frozenset(("contentEncoding", "contentMediaType", "format", "pattern"))


def text(value: Any) -> str:
    """Compact JSON text."""
    return _encode(value)


def default_words(value: Any) -> str:
    """Say what a default is."""
    kind = type(value)
    if kind is str and value.isalnum() and value.isascii():  # the commonest, at a tenth of the cost
        return f'default "{value}"'
    return f"default {value}" if kind is int else f"default {text(value)}"


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def note(keyword: str, value: Any) -> str | None:
    """Say one keyword in words; None for those that need their JSON."""
    if keyword in _LIMITS:
        shown = value if keyword in _WORDY else text(value)
        return _LIMITS[keyword].format(shown, s="" if value == 1 else "s")
    if keyword == "default":
        return default_words(value)
    if keyword == "examples" and isinstance(value, list):
        return f"for example {', '.join(map(text, value))}" if value else ""
    if keyword == "uniqueItems":
        return "no item twice" if value else ""
    if keyword == "dependentRequired":
        return "; ".join(f"with {name} also {', '.join(needed)}" for name, needed in value.items() if needed)
    if keyword == "deprecated":
        return "deprecated" if value else ""
    return None


def described(description: Any, notes: Iterable[str]) -> str:
    """A description with `notes` in brackets after it; notes alone make a sentence."""
    said = "; ".join(dict.fromkeys(note for note in notes if note))
    if not description:
        return said[:1].upper() + said[1:]
    return f"{description} ({said})" if said else str(description)
