"""Placing the hunks of a file: all together, in order, and only if there is exactly one way.

A hunk fits where its old lines occur. Its heading, its line number and the other hunks decide between several places;
if they cannot, the patch is refused.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tools_core import ToolError
from tools_filesystem._writing._near_miss import first_difference, nearest, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_filesystem._writing._patch._sections import Hunk

_MOST_PLACES = 1000  # of one hunk, before it is called ambiguous
_TELLING = 8  # added characters that are hardly there by chance
_CLOSING = b"})]"  # a line that begins so belongs to the block above


class Placed(NamedTuple):
    """A hunk and the index of its first line; `note` describes how the file differs from the patch."""

    hunk: Hunk
    position: int
    note: str = ""

    @property
    def end(self) -> int:
        """The index of the line after it."""
        return self.position + len(self.hunk.old)


def place(path: str, lines: list[bytes], hunks: Sequence[Hunk]) -> list[Placed]:
    """Return the hunks in the order of the file; ToolError (`conflict`) unless there is exactly one way."""
    placing = _Placing(path, lines)
    fitting = placing.narrowed([placing.candidates(hunk) for hunk in hunks])
    placed = _in_one_way(path, fitting, len(lines))
    for one in placed:
        placing.check_not_applied(one)
    return placed


def _in_one_way(path: str, fitting: Sequence[Sequence[Placed]], end: int) -> list[Placed]:
    earliest = _in_order(fitting)
    if len(earliest) < len(fitting):
        alone = sorted((places for places in fitting if len(places) == 1), key=lambda places: places[0].position)
        if len(alone) == len(fitting) == len(_in_order(alone)) and all(places[0].hunk.old for places in alone):
            return [places[0] for places in alone]  # each has one place, only their order in the patch is another
        first = fitting[len(earliest)][0]
        reason = f"its old lines are at line {first.position + 1}, which is above the end of the hunk before it"
        conflict(path, first.hunk, f"{reason}; hunks come in the order of the file")
    limit = end
    for first, places in zip(reversed(earliest), reversed(fitting), strict=True):
        last = next(one for one in reversed(places) if one.end <= limit)
        if first != last:
            where = [str(one.position + 1) for one in places if first.position <= one.position <= last.position]
            more = ", ..." if len(where) > 10 else ""
            reason = f"it fits in several places (lines {', '.join(where[:10])}{more})"
            conflict(path, first.hunk, f"{reason}; show more of the lines around it")
        limit = last.position
    return earliest


def _in_order(fitting: Sequence[Sequence[Placed]]) -> list[Placed]:
    """Return the first way to place the hunks in order, or as many of them as possible."""
    found: list[Placed] = []
    end = 0
    for places in fitting:
        following = next((one for one in places if one.position >= end), None)
        if following is None:
            break
        found.append(following)
        end = following.end
    return found


class _Text:
    """Lines joined into one bytes object, which `bytes.find` searches in linear time."""

    def __init__(self, lines: list[bytes]) -> None:
        self._text = b"\n".join((b"", *lines, b""))
        self._offsets = array("q", accumulate((len(line) + 1 for line in lines), initial=0))

    def matches(self, old: list[bytes], first: int = 0) -> Iterator[int]:
        """Yield the positions of these lines, from the index `first` on."""
        wanted = b"\n" + b"\n".join(old) + b"\n"
        found = self._text.find(wanted, self._offsets[first])
        while found >= 0:
            yield bisect_right(self._offsets, found) - 1
            found = self._text.find(wanted, found + 1)


class _Placing:
    def __init__(self, path: str, lines: list[bytes]) -> None:
        self.path = path
        self.lines = lines
        self._exact = _Text(lines)

    @cached_property
    def _bare(self) -> _Text:
        return _Text([line.rstrip() for line in self.lines])

    def candidates(self, hunk: Hunk) -> list[Placed]:
        """Return all places where the old lines occur, from exact to lenient comparison; ToolError without any."""
        if not hunk.old:
            return self._insertions(hunk)
        found = [Placed(hunk, at) for at in islice(self._exact.matches(hunk.old), _MOST_PLACES)]
        bare = [line.rstrip() for line in hunk.old]
        if not found and any(bare):
            note = "white space at the ends of lines differs from the patch"
            found = [Placed(hunk, at, note) for at in islice(self._bare.matches(bare), _MOST_PLACES)]
        shorter = hunk.without_last_blank()
        if not found and shorter is not None:  # an empty line that stands for the end of the file
            found = [Placed(shorter, at) for at in self._exact.matches(shorter.old)]
            found = [placed for placed in found if placed.end == len(self.lines)]
        if hunk.at_end or hunk.old_ends:
            found = [placed for placed in found if placed.end == len(self.lines)]
        if not found:
            self._refuse(hunk)
        return self._under_headings(hunk, found)

    def narrowed(self, fitting: list[list[Placed]]) -> list[list[Placed]]:
        """Choose by line numbers if they are right, or all wrong by the same offset."""
        shift = 0
        for number, found in enumerate(fitting):
            hunk = found[0].hunk
            if hunk.start is None:
                continue
            if shift and not hunk.old:
                reason = f"it adds lines at line {hunk.start}, but the hunk before it fits only elsewhere"
                conflict(self.path, hunk, f"{reason}; show a line next to it")
            expected = hunk.start - bool(hunk.old)
            fitting[number] = places = [one for one in found if one.position == expected + shift] or found
            if len(places) == 1 and places[0].position != expected:
                shift = places[0].position - expected
                said = f"the patch says line {hunk.start}, it fits only at line {expected + shift + bool(hunk.old)}"
                note = f"{places[0].note}; {said}" if places[0].note else said
                fitting[number] = [places[0]._replace(note=note)]
            elif len(places) == 1:
                shift = 0
        return fitting

    def check_not_applied(self, placed: Placed) -> None:
        """Raise ToolError (`conflict`) for a hunk that only adds lines if it fits inside of what it would make.

        At its line, that is allowed, unless more lines follow where the file should end.
        """
        hunk, old, new = placed.hunk, placed.hunk.old, placed.hunk.new
        is_short = hunk.lines[-1].kind == "+" and placed.end < len(self.lines)
        added = sum(len(line.text.strip()) for line in hunk.lines if line.kind == "+")
        if not old or len(new) <= len(old) or added < _TELLING or (hunk.start == placed.position + 1 and not is_short):
            return
        there = next(self._exact.matches(new, max(0, placed.end - len(new))), None)
        if there is not None and there <= placed.position:
            reason = f"its new lines are at line {there + 1} already; it seems to be applied"
            conflict(self.path, hunk, f"{reason}. To add them once more, show more of the lines around it")

    def _insertions(self, hunk: Hunk) -> list[Placed]:  # noqa: RET503  (conflict never returns)
        """Return where a hunk that only adds lines can go: below its heading, at its line, or into an empty file."""
        if hunk.at_end or not self.lines:
            return [Placed(hunk, len(self.lines))]
        if hunk.start is not None and hunk.start <= len(self.lines):
            return [Placed(hunk, hunk.start)]
        found = [Placed(hunk, at + 1) for at in self._headed(hunk.anchors)] if hunk.anchors else []
        if found:
            return found
        reason = "it only adds lines and does not say where: show the line above or below with a leading ' '"
        conflict(self.path, hunk, f"{reason}, or name a line of the file behind '@@ '")

    def _under_headings(self, hunk: Hunk, found: list[Placed]) -> list[Placed]:
        """Keep the places in the heading's block, or else below the heading; a missing heading decides nothing."""
        if not hunk.anchors or hunk.start is not None:
            return found
        headings = list(self._headed(hunk.anchors))
        if not headings and len(found) > 1:
            anchors = ", ".join(map(shown, hunk.anchors))
            conflict(self.path, hunk, f"the file has no line {anchors}, and the hunk fits in several places")
        if not headings:
            return [found[0]._replace(note=f"the heading {shown(hunk.anchors[-1])} is not in the file")]
        below = [one for one in found if one.end > headings[0]]
        if not below and len(found) > 1:
            reason = f"its old lines are at line {found[0].position + 1}, which is above its heading"
            conflict(self.path, hunk, f"{reason} {shown(hunk.anchors[-1])}")
        inside = [one for one in below if any(self._is_inside(at, one) for at in headings)]
        return inside or below or found

    def _headed(self, anchors: Sequence[bytes]) -> list[int]:
        """Return the lines that match the last heading below the earlier ones; a prefix of a line matches."""
        found = [-1]
        for anchor in anchors:
            wanted = anchor.strip()
            below = [number for number, line in enumerate(self.lines) if number > found[0] and wanted in line]
            found = [number for number in below if self.lines[number].strip() == wanted]
            found = found or [number for number in below if self.lines[number].strip().startswith(wanted)]
            if not found:
                break
        return found

    def _is_inside(self, heading: int, placed: Placed) -> bool:
        """Return whether a place is in a heading's block: every line between them is indented more than the heading."""
        if placed.position <= heading:
            return placed.end > heading
        indent = _indent(self.lines[heading])
        between = self.lines[heading + 1 : placed.position]
        return all(not line.strip() or _indent(line) > indent or line.strip()[0] in _CLOSING for line in between)

    def _refuse(self, hunk: Hunk) -> NoReturn:
        """Raise with the nearest place and the first line that differs."""
        where = "at the end of the file" if hunk.at_end or hunk.old_ends else "in the file"
        before = next(self._exact.matches(hunk.old), None)
        if before is not None:
            conflict(self.path, hunk, f"its old lines are at line {before + 1}, and not {where}")
        there = next(self._exact.matches(hunk.new), None) if hunk.new else None
        if there is not None:
            reason = f"its old lines are not {where}, but its new lines are, at line {there + 1}"
            conflict(self.path, hunk, f"{reason}: it seems to be applied")
        lines, wanted = ([line.decode(errors="backslashreplace") for line in some] for some in (self.lines, hunk.old))
        at = nearest(lines, wanted, hunk.start or 0)
        if at is None:
            conflict(self.path, hunk, f"not one of its old lines is {where}; the first is {shown(hunk.old[0])}")
        hint = first_difference(lines, wanted, at, "the patch")
        conflict(self.path, hunk, f"its old lines are not {where}. Nearest: {hint}. Read the file again")


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def conflict(path: str, hunk: Hunk, reason: str) -> NoReturn:
    """Raise ToolError (`conflict`): the hunk does not fit the file."""
    message = f"{path!r}: the hunk of line {hunk.number} of the patch does not fit: {reason}. Nothing was changed."
    raise ToolError(message, "conflict")
