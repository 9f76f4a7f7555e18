"""Exact replacements in one file."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._writing._diff import Span, line_end, line_numbers
from tools_filesystem._writing._near_miss import near_miss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_filesystem._writing._text import Text

_MOST_PLACES = 100_000  # of one call; each takes memory and time
_NAMED = 10  # lines that a message names


class Edit(NamedTuple):
    """One replacement; `label` names it in messages if there are several."""

    old: str
    new: str
    replace_all: bool
    label: str


def resolve(text: Text, edits: Sequence[Edit], path: str) -> list[Span]:
    """Return the changed spans in ascending order; ToolError (`conflict`) if an edit does not fit.

    All edits apply to the original text; overlapping edits are refused.
    """
    spans: list[tuple[Span, str]] = []
    for edit in edits:
        spans += [(span, edit.label) for span in _spans(text, edit, path)]
        _check_count(len(spans), "the edits have")
    spans.sort()
    for (first, label), (second, other) in pairwise(spans):
        if second.start < first.end:
            line = text.data.count(b"\n", 0, second.start) + 1
            message = f"{label.rstrip(': ')} and {other.rstrip(': ')} overlap in line {line}; make them one edit"
            raise ToolError(message, "conflict")
    return [span for span, _ in spans]


def _spans(text: Text, edit: Edit, path: str) -> list[Span]:
    is_crlf, wanted, positions = _found(text, edit)
    if not positions:
        hint = near_miss(text.decoded(text.data), edit.old, edit.new)
        raise ToolError(f"{edit.label}old_string is not in {path!r}; {hint}", "conflict")
    if len(positions) > 1 and not edit.replace_all:
        lines = ", ".join(map(str, line_numbers(text.data, positions[:_NAMED])))
        more = ", ..." if len(positions) > _NAMED else ""
        message = f"{edit.label}old_string is not unique in {path!r}: {len(positions)} matches, on lines {lines}{more}"
        raise ToolError(f"{message}; add lines around it, or pass replace_all=true", "conflict")
    follows = "\n" in edit.new and "\n" not in edit.old  # only the lines around tell how its lines end
    spans: list[Span] = []
    last = -1
    for at in positions:
        if follows and at > last:
            is_crlf, last = _ends_with_crlf(text.data, at), line_end(text.data, at)
        spans.append(Span(at, at + len(wanted), _written(text, edit.new, is_crlf, edit.label, path)))
    if all(span.data == wanted for span in spans):
        raise ToolError(f"{edit.label}new_string is what the file has already: its lines end with CRLF", "conflict")
    return spans


def _found(text: Text, edit: Edit) -> tuple[bool, bytes, list[int]]:
    """Return whether the old string has CRLF line endings in the file, its bytes, and their positions."""
    for is_crlf in (False, True) if "\n" in edit.old.replace("\r\n", "") else (False,):
        try:
            wanted = text.encoded(_with_endings(edit.old, is_crlf))
        except UnicodeEncodeError:
            continue
        if positions := _positions(text.data, wanted, overlapping=not edit.replace_all):
            _check_count(len(positions), f"{edit.label}old_string has")
            return is_crlf, wanted, positions
    return False, b"", []


def _check_count(count: int, what: str) -> None:
    if count > _MOST_PLACES:
        message = f"{what} more than {_MOST_PLACES} matches; make old_string longer, or change the file with a program"
        raise ToolError(message, "limit_exceeded")


def _positions(data: bytes, wanted: bytes, *, overlapping: bool) -> list[int]:
    found: list[int] = []
    at = data.find(wanted)
    while at >= 0 and len(found) <= _MOST_PLACES:
        found.append(at)
        at = data.find(wanted, at + (1 if overlapping else len(wanted)))
    return found


def _written(text: Text, new: str, is_crlf: bool, label: str, path: str) -> bytes:
    try:
        return text.encoded(_with_endings(new, is_crlf))
    except UnicodeEncodeError as error:
        wrong = new[error.start : error.end]
        message = f"{label}{wrong!r} cannot be written in {text.codec}, the encoding of {path!r}"
        raise ToolError(message, "validation_error") from error


def _with_endings(text: str, is_crlf: bool) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if is_crlf else text


def _ends_with_crlf(data: bytes, at: int) -> bool:
    """Return whether the line at a position, or else the one above, ends with CRLF."""
    end = data.find(b"\n", at)
    end = data.rfind(b"\n", 0, at) if end < 0 else end
    return end > 0 and data[end - 1 : end] == b"\r"
