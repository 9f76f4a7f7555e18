"""What an edit changes, as a short unified diff, made from the places that change and never from the whole file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_filesystem._edit._splice import Span
    from tools_filesystem._edit._text_file import TextFile

_CONTEXT = 3  # lines above and below
_NEAR = 2048  # bytes in which these are looked for
_MOST_LINES, _LONGEST = 40, 300


def diff(file: TextFile, spans: Sequence[Span], lines: Sequence[int]) -> str:
    """A unified diff of the spans in these lines, with at most 40 lines of each and 300 characters of a line.

    There may be fewer lines than spans; the spans that are left out are counted.
    """
    numbers = dict(zip(spans, lines, strict=False))
    shown, added = [f"--- {file.path}", f"+++ {file.path}"], 0
    for start, end, inside in _grouped(file, list(numbers)):
        old = os.pread(file.descriptor, end - start, start)
        number = numbers[inside[0]] - file.encoding.count_lines(old[: inside[0].start - start])
        before, after = _lines(file, old), _lines(file, _replaced(old, start, inside))
        if end == file.size and before[-1] == after[-1] == "":  # behind the last newline
            del before[-1], after[-1]
        shown += _hunk(before, after, number, number + added)
        added += len(after) - len(before)
    if len(spans) > len(lines):
        shown.append(f"[{len(spans) - len(lines)} more changes are not shown]")
    return "\n".join(shown)


def _grouped(file: TextFile, spans: Sequence[Span]) -> list[tuple[int, int, list[Span]]]:
    """Spans whose surroundings touch belong together."""
    groups: list[tuple[int, int, list[Span]]] = []
    for span in spans:
        start, end = _lines_above(file, span.start), _lines_below(file, span.end)
        if groups and start <= groups[-1][1]:
            first, _, inside = groups.pop()
            groups.append((first, end, [*inside, span]))
        else:
            groups.append((start, end, [span]))
    return groups


def _lines_above(file: TextFile, position: int) -> int:
    start = min(position, max(file.encoding.mark, position - _NEAR))  # a match may be the mark itself
    block = os.pread(file.descriptor, position - start, start)
    width, at = file.encoding.width, len(block)
    for _ in range(_CONTEXT + 1):
        found = file.encoding.find_last_newline(block, at)
        if found < 0:
            return start
        at = found
    return start + at + width


def _lines_below(file: TextFile, position: int) -> int:
    """Where the last line of the surroundings ends, without its newline."""
    block = os.pread(file.descriptor, _NEAR, position)
    at = -file.encoding.width
    for _ in range(_CONTEXT + 1):
        found = file.encoding.find_newline(block, at + file.encoding.width)
        if found < 0:
            return position + len(block)
        at = found
    return position + at


def _replaced(old: bytes, start: int, spans: Sequence[Span]) -> bytes:
    parts, position = [], 0
    for span in spans:
        parts += [old[position : span.start - start], span.data]
        position = span.end - start
    return b"".join([*parts, old[position:]])


def _lines(file: TextFile, data: bytes) -> list[str]:
    return file.encoding.decode(data)[0].split("\n")


def _hunk(before: list[str], after: list[str], old_number: int, new_number: int) -> list[str]:
    least = min(len(before), len(after))
    head = next((n for n in range(least) if before[n] != after[n]), least)
    tail = next((n for n in range(least - head) if before[-1 - n] != after[-1 - n]), least - head)
    above, below = before[max(0, head - _CONTEXT) : head], before[len(before) - tail :][:_CONTEXT]
    removed, made = before[head : len(before) - tail], after[head : len(after) - tail]
    count, first = len(above) + len(below), head - len(above)
    where = f"-{old_number + first},{count + len(removed)} +{new_number + first},{count + len(made)}"
    return [f"@@ {where} @@", *_marked(" ", above), *_changes(removed, made), *_marked(" ", below)]


def _changes(removed: list[str], made: list[str]) -> Iterator[str]:
    from difflib import SequenceMatcher  # only for an edit

    if max(len(removed), len(made)) > _MOST_LINES:
        yield from (*_marked("-", removed), *_marked("+", made))
        return
    for kind, start, end, new_start, new_end in SequenceMatcher(None, removed, made, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from _marked(" ", removed[start:end])
        else:
            yield from (*_marked("-", removed[start:end]), *_marked("+", made[new_start:new_end]))


def _marked(mark: str, lines: list[str]) -> list[str]:
    shown = [mark + _clipped(line) for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(f"[{len(lines) - _MOST_LINES} more lines]")
    return shown


def _clipped(line: str) -> str:
    return f"{line[:_LONGEST]}[...]" if len(line) > _LONGEST else line
