"""A short unified diff around the places that an edit changes."""

from __future__ import annotations

import re
from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_filesystem._writing._edit._plan import Span
    from tools_filesystem._writing._edit._text import Text

_CONTEXT = 3
_MOST_LINES, _LONGEST = 40, 300  # of one hunk; characters of a line
_MOST_HUNKS = 20
_MOST_COMPARED = 400  # lines, which are then compared one by one
_HEADER = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def diff(text: Text, spans: Sequence[Span], path: str) -> str:
    """Return a unified diff of the spans, with at most 20 hunks of 40 lines."""
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
        shown += _hunk(before, after, line - 1, shift)
        shift += len(after) - len(before)
    return "\n".join(shown)


def replaced(data: bytes, start: int, end: int, spans: Sequence[Span]) -> bytes:
    """Return a part of the content with the spans in it replaced."""
    parts: list[bytes] = []
    for span in spans:
        parts += [data[start : span.start], span.data]
        start = span.end
    return b"".join([*parts, data[start:end]])


def _grouped(data: bytes, spans: Sequence[Span]) -> Iterator[tuple[int, int, list[Span]]]:
    """Yield whole lines around spans, those of near ones together."""
    group: list[Span] = []
    first = last = 0
    for span in spans:
        start, end = _lines_above(data, span.start), _lines_below(data, span.end)
        if group and start <= last:
            group.append(span)
            last = end
            continue
        if group:
            yield first, last, group
        group, first, last = [span], start, end
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


def _hunk(before: list[str], after: list[str], above: int, shift: int) -> list[str]:
    if max(len(before), len(after)) > _MOST_COMPARED:
        lines = [f"@@ -{above + 1},{len(before)} +{above + 1 + shift},{len(after)} @@"]
        lines += [f"-{line}" for line in before[:_MOST_LINES]] + [f"+{line}" for line in after[:_MOST_LINES]]
    else:
        found = list(unified_diff(before, after, n=_CONTEXT, lineterm=""))[2:]
        lines = [
            _HEADER.sub(lambda m: _moved(m, above, shift), line) if line.startswith("@@") else line for line in found
        ]
    clipped = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}[...]" for line in lines[: 2 * _MOST_LINES]]
    left_out = len(lines) - len(clipped)
    return [*clipped, f"[{left_out} more lines]"] if left_out else clipped


def _moved(match: re.Match[str], above: int, shift: int) -> str:
    old, new = int(match[1]) + above, int(match[3]) + above + shift
    return f"@@ -{old}{match[2] or ''} +{new}{match[4] or ''} @@"
