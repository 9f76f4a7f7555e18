"""Diffs of changes, with limits on their length."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_filesystem._writing._text import Text

_CONTEXT = 3
_MAX_LINES, _MAX_LENGTH = 80, 300  # of one hunk; characters of a line
_MAX_HUNKS = 20
_MAX_COMPARED = 400  # lines, which are then compared one by one


class Span(NamedTuple):
    """Bytes `start` to `end` (exclusive) become `data`."""

    start: int
    end: int
    data: bytes


def replaced(data: bytes, start: int, end: int, spans: Sequence[Span]) -> list[bytes | memoryview]:
    """Return part of the content with its spans replaced, in parts that are not joined."""
    view, parts = memoryview(data), list[bytes | memoryview]()
    for span in spans:
        parts += [view[start : span.start], span.data]
        start = span.end
    return [*parts, view[start:end]]


def line_end(data: bytes, at: int) -> int:
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


def diff(text: Text, spans: Sequence[Span], numbers: Sequence[int], path: str) -> str:
    """Return a unified diff of the spans, whose line numbers are given, with at most 20 hunks of 80 lines."""
    lines, shift, done = [f"--- {path}", f"+++ {path}"], 0, 0
    for hunk, (start, end, inside) in enumerate(_grouped(text.data, spans)):
        if hunk == _MAX_HUNKS:
            lines.append("[more changes omitted]")
            break
        line = numbers[done] - text.data.count(b"\n", start, inside[0].start)
        done += len(inside)
        before = _lines(text.decoded(text.data[start:end]))
        after = _lines(text.decoded(b"".join(replaced(text.data, start, end, inside))))
        lines += _hunk(before, after, line, shift)
        shift += len(after) - len(before)
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _grouped(data: bytes, spans: Sequence[Span]) -> Iterator[tuple[int, int, list[Span]]]:
    """Yield groups of near spans as ranges of whole lines with context."""
    group: list[Span] = []
    first = last = last_line = 0
    for span in spans:
        if not group or span.end > last_line:  # else the group contains its line
            start, end = _lines_above(data, span.start), _lines_below(data, span.end)
            if group and start > last:
                yield first, last, group
                group = []
            first, last, last_line = (first if group else start), end, line_end(data, span.end)
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
    is_short = max(len(before), len(after)) <= _MAX_COMPARED
    whole = [("replace", 0, len(before), 0, len(after))]
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(_CONTEXT) if is_short else [whole]:
        (_, start, _, to_start, _), (_, _, end, _, to_end) = group[0], group[-1]
        lines.append(f"@@ -{first + start},{end - start} +{first + shift + to_start},{to_end - to_start} @@")
        for kind, i, j, to_i, to_j in group:
            if kind == "equal":
                lines += [f" {line}" for line in before[i:j]]
            else:
                lines += [f"-{line}" for line in before[i:j]] + [f"+{line}" for line in after[to_i:to_j]]
    return clipped(lines)


def clipped(lines: Sequence[str], limit: int = _MAX_LINES) -> list[str]:
    """Return the first lines of a diff, with long lines truncated."""
    short = [line if len(line) <= _MAX_LENGTH else f"{line[:_MAX_LENGTH]}[...]" for line in lines[:limit]]
    return [*short, f"[{len(lines) - limit} more lines]"] if len(lines) > limit else short
