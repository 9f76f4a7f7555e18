"""Exact replacements in one file, and a diff of them."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._writing._near_miss import near_miss

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_filesystem._writing._text import Text

_MOST_PLACES = 100_000  # of one call; each takes memory and time
_NAMED = 10  # lines that a message names
_CONTEXT = 3
_MOST_LINES, _LONGEST = 80, 300  # of one hunk; characters of a line
_MOST_HUNKS = 20
_MOST_COMPARED = 400  # lines, which are then compared one by one


class Edit(NamedTuple):
    """One replacement; `label` names it in messages if there are several."""

    old: str
    new: str
    replace_all: bool
    label: str


class Span(NamedTuple):
    """Bytes `start` to `end` (exclusive) become `data`."""

    start: int
    end: int
    data: bytes


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


def replaced(data: bytes, start: int, end: int, spans: Sequence[Span]) -> bytes:
    """Return part of the content with its spans replaced."""
    view, parts = memoryview(data), list[bytes | memoryview]()
    for span in spans:
        parts += [view[start : span.start], span.data]
        start = span.end
    return b"".join([*parts, view[start:end]])


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
    line_end = -1
    for at in positions:
        if follows and at > line_end:
            is_crlf, line_end = _ends_with_crlf(text.data, at), _line_end(text.data, at)
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


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end


def line_numbers(data: bytes, positions: Sequence[int]) -> list[int]:
    """Return the line numbers of some ascending positions."""
    numbers: list[int] = []
    line, counted = 1, 0
    for at in positions:
        line += data.count(b"\n", counted, at)
        counted = at
        numbers.append(line)
    return numbers


def diff(text: Text, spans: Sequence[Span], path: str) -> str:
    """Return a unified diff of the spans, with at most 20 hunks of 80 lines."""
    shown, shift = [f"--- {path}", f"+++ {path}"], 0
    line, counted = 1, 0
    for hunk, (start, end, inside) in enumerate(_grouped(text.data, spans)):
        if hunk == _MOST_HUNKS:
            shown.append("[more changes are not shown]")
            break
        line += text.data.count(b"\n", counted, start)
        counted = start
        before = text.decoded(text.data[start:end]).splitlines()
        after = text.decoded(replaced(text.data, start, end, inside)).splitlines()
        shown += _hunk(before, after, line, shift)
        shift += len(after) - len(before)
    return "\n".join(shown)


def _grouped(data: bytes, spans: Sequence[Span]) -> Iterator[tuple[int, int, list[Span]]]:
    """Yield groups of near spans as ranges of whole lines with context."""
    group: list[Span] = []
    first = last = line_end = 0
    for span in spans:
        if not group or span.end > line_end:  # else the lines around it are known
            start, end = _lines_above(data, span.start), _lines_below(data, span.end)
            if group and start > last:
                yield first, last, group
                group = []
            first, last, line_end = (first if group else start), end, _line_end(data, span.end)
        group.append(span)
    yield first, last, group


def _lines_above(data: bytes, at: int) -> int:
    for _ in range(_CONTEXT + 1):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _lines_below(data: bytes, at: int) -> int:
    at -= 1
    for _ in range(_CONTEXT + 1):
        at = data.find(b"\n", at + 1)
        if at < 0:
            return len(data)
    return at + 1


def _hunk(before: list[str], after: list[str], first: int, shift: int) -> list[str]:
    lines: list[str] = []
    is_short = max(len(before), len(after)) <= _MOST_COMPARED
    whole = [("replace", 0, len(before), 0, len(after))]
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(_CONTEXT) if is_short else [whole]:
        (_, start, _, to_start, _), (_, _, end, _, to_end) = group[0], group[-1]
        lines.append(f"@@ -{first + start},{end - start} +{first + shift + to_start},{to_end - to_start} @@")
        for kind, i, j, to_i, to_j in group:
            if kind == "equal":
                lines += [f" {line}" for line in before[i:j]]
            else:
                lines += [f"-{line}" for line in before[i:j]] + [f"+{line}" for line in after[to_i:to_j]]
    clipped = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}[...]" for line in lines[:_MOST_LINES]]
    left_out = len(lines) - len(clipped)
    return [*clipped, f"[{left_out} more lines]"] if left_out else clipped
