"""A short unified diff around the places that an edit changes."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from tools_filesystem._writing._edit._plan import Span, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_filesystem._writing._text import Text

_CONTEXT = 3
_MOST_LINES, _LONGEST = 80, 300  # of one hunk; characters of a line
_MOST_HUNKS = 20
_MOST_COMPARED = 400  # lines, which are then compared one by one


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
