"""Exact replacements in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._writing._diff import Span, line_end, line_numbers
from tools_filesystem._writing._near_miss import near_miss

if TYPE_CHECKING:
    from tools_filesystem._writing._text import Text

_MAX_PLACES = 100_000  # of one call; each takes memory and time
_NAMED = 10  # lines that a message names


def resolve(text: Text, old: str, new: str, path: str, *, replace_all: bool) -> list[Span]:
    """Return the changed spans in ascending order; ToolError (`conflict`) if the edit does not fit."""
    is_crlf, data, positions = _occurrences(text, old, overlapping=not replace_all)
    if not positions:
        hint = near_miss(text.decoded(text.data), old)
        raise ToolError(f"old_string is not in {path!r}; {hint}", "conflict")
    if len(positions) > 1 and not replace_all:
        lines = ", ".join(map(str, line_numbers(text.data, positions[:_NAMED])))
        more = ", ..." if len(positions) > _NAMED else ""
        message = f"old_string is not unique in {path!r}: {len(positions)} matches, on lines {lines}{more}"
        raise ToolError(f"{message}; add lines around it, or pass replace_all=true", "conflict")
    follows = "\n" in new and "\n" not in old  # only the lines around show how its lines end
    spans: list[Span] = []
    last = -1
    for at in positions:
        if follows and at > last:
            is_crlf, last = _ends_with_crlf(text.data, at), line_end(text.data, at)
        spans.append(Span(at, at + len(data), _encoded(text, new, is_crlf, path)))
    if all(span.data == data for span in spans):
        raise ToolError("new_string is what the file already has: its lines end with CRLF", "conflict")
    return spans


def _occurrences(text: Text, old: str, *, overlapping: bool) -> tuple[bool, bytes, list[int]]:
    """Return whether the old string has CRLF line endings in the file, its bytes, and their positions."""
    for is_crlf in (False, True) if "\n" in old.replace("\r\n", "") else (False,):
        try:
            data = text.encoded(_with_endings(old, is_crlf))
        except UnicodeEncodeError:
            continue
        if positions := _positions(text.data, data, overlapping=overlapping):
            if len(positions) > _MAX_PLACES:
                message = f"old_string has more than {_MAX_PLACES} matches"
                raise ToolError(f"{message}; make it longer, or change the file with a program", "limit_exceeded")
            return is_crlf, data, positions
    return False, b"", []


def _positions(data: bytes, old: bytes, *, overlapping: bool) -> list[int]:
    positions: list[int] = []
    at = data.find(old)
    while at >= 0 and len(positions) <= _MAX_PLACES:
        positions.append(at)
        at = data.find(old, at + (1 if overlapping else len(old)))
    return positions


def _encoded(text: Text, new: str, is_crlf: bool, path: str) -> bytes:
    try:
        return text.encoded(_with_endings(new, is_crlf))
    except UnicodeEncodeError as error:
        wrong = new[error.start : error.end]
        message = f"{wrong!r} cannot be written in {text.codec}, the encoding of {path!r}"
        raise ToolError(message, "validation_error") from error


def _with_endings(text: str, is_crlf: bool) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if is_crlf else text


def _ends_with_crlf(data: bytes, at: int) -> bool:
    """Return whether the line at a position, or else the one above, ends with CRLF."""
    end = data.find(b"\n", at)
    end = data.rfind(b"\n", 0, at) if end < 0 else end
    return end > 0 and data[end - 1 : end] == b"\r"
