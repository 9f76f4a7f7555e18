"""Replacements in one file: of exact text, or else in the one place that is alike."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._writing._diff import Span, line_end, line_numbers
from tools_filesystem._writing._line_endings import ending_at, places_of, with_endings_of
from tools_filesystem._writing._near_miss import near_miss
from tools_filesystem._writing._tolerant import tolerant

if TYPE_CHECKING:
    from tools_filesystem._writing._text import Text
    from tools_filesystem._writing._tolerant import Match

_MAX_PLACES = 100_000  # of one call; each takes memory and time
_NAMED = 10  # lines that a message names


def resolve(text: Text, old: str, new: str, path: str, *, replace_all: bool) -> tuple[list[Span], str]:
    """Return the changed spans in ascending order, and what differs if the text does not occur exactly.

    ToolError (`conflict`) if the edit does not fit.
    """
    old, new = (some.replace("\r\n", "\n") for some in (old, new))
    if old == new:
        message = "old_string and new_string differ only in line endings, which edit_file keeps"
        raise ToolError(f"{message}; write_file changes them", "validation_error")
    places, note = _places(text, old, overlapping=not replace_all), ""
    if not places:
        alike = [] if replace_all else tolerant(text, old, new)
        if len(alike) != 1:
            raise ToolError(f"old_string is not in {path!r}; {_hint(text, old, alike)}", "conflict")
        places, new, note = [(alike[0].start, alike[0].end)], alike[0].new, alike[0].note
    if len(places) > 1 and not replace_all:
        lines = ", ".join(map(str, line_numbers(text.data, [start for start, _ in places[:_NAMED]])))
        more = ", ..." if len(places) > _NAMED else ""
        message = f"old_string is not unique in {path!r}: {len(places)} matches, on lines {lines}{more}"
        raise ToolError(f"{message}; add lines around it, or pass replace_all=true", "conflict")
    old_data = text.data[slice(*places[0])].replace(b"\r\n", b"\n")
    spans = _spans(text, places, old_data, _encoded(text, new, path))
    if note and all(span.data == text.data[span.start : span.end] for span in spans):
        raise ToolError(f"old_string is not in {path!r}, but new_string is: {note}", "conflict")
    return spans, note


def _hint(text: Text, old: str, alike: list[Match]) -> str:
    if alike:
        lines = ", ".join(map(str, line_numbers(text.data, [match.start for match in alike[:_NAMED]])))
        return f"{len(alike)} places are alike, on lines {lines}: {alike[0].note}; add lines around it"
    return near_miss(text.decoded(text.data).replace("\r\n", "\n"), old)


def _places(text: Text, old: str, *, overlapping: bool) -> list[tuple[int, int]]:
    try:
        data = text.encoded(old)
    except UnicodeEncodeError:
        return []
    places = list(islice(places_of(text.data, data, overlapping=overlapping), _MAX_PLACES + 1))
    if len(places) > _MAX_PLACES:
        message = f"old_string has more than {_MAX_PLACES} matches"
        raise ToolError(f"{message}; make it longer, or change the file with a program", "limit_exceeded")
    return places


def _spans(text: Text, places: list[tuple[int, int]], old: bytes, new: bytes) -> list[Span]:
    if b"\n" not in new or b"\r" not in text.data:  # one byte is found faster than two
        return [Span(start, end, new) for start, end in places]
    spans: list[Span] = []
    ending, last = b"", -1
    for start, end in places:
        if start > last:  # another line
            ending, last = ending_at(text.data, start), line_end(text.data, start)
        spans.append(Span(start, end, with_endings_of(new, old, text.data[start:end], ending)))
    return spans


def _encoded(text: Text, new: str, path: str) -> bytes:
    try:
        return text.encoded(new)
    except UnicodeEncodeError as error:
        wrong = new[error.start : error.end]
        message = f"{wrong!r} cannot be written in {text.codec}, the encoding of {path!r}"
        raise ToolError(message, "validation_error") from error
