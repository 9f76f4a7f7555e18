"""Where in a file a hunk belongs: where its old lines are, exactly and in one place only, or nowhere."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NoReturn

from tools_core import ToolError
from tools_filesystem._writing._patch._sections import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_filesystem._writing._patch._sections import Hunk

_MOST_PLACES = 1000  # of one anchor or hunk, before it is called ambiguous
_MOST_VOTES = 200_000  # that the search for the nearest place may cost


class Text:
    """The lines of a file, made ready for searching."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines

    @cached_property
    def _joined(self) -> tuple[bytes, array[int]]:
        offsets = array("q", accumulate((len(line) + 1 for line in self.lines), initial=0))
        return b"\n".join((b"", *self.lines, b"")), offsets

    @cached_property
    def _stripped(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for number, line in enumerate(self.lines):
            found.setdefault(line.strip(), []).append(number)
        return found

    def matches(self, old: list[bytes], start: int) -> Iterator[int]:
        """Where these lines are, from line `start` on; the system's own search, which is linear."""
        text, offsets = self._joined
        wanted = b"\n" + b"\n".join(old) + b"\n"
        found = text.find(wanted, offsets[start])
        while found >= 0:
            yield bisect_right(offsets, found) - 1
            found = text.find(wanted, found + 1)

    def lines_like(self, anchor: bytes, start: int) -> Iterator[int]:
        """Where the text of an anchor is a whole line, from line `start` on; its indentation may be left out."""
        numbers = self._stripped.get(anchor.strip(), [])
        return islice(numbers, bisect_left(numbers, start), None)


class Search:
    """The search for one hunk, from line `cursor` of a file on."""

    def __init__(self, path: str, text: Text, hunk: Hunk, cursor: int, *, is_shifted: bool) -> None:
        self.path = path
        self.text = text
        self.cursor = cursor
        self.is_shifted = is_shifted
        self.keys = text.lines
        self.hunk = hunk
        self.old = hunk.old

    def place(self) -> int:
        """The one index of `keys` where the hunk fits; ToolError when there is none, or more than one."""
        hunk, count = self.hunk, len(self.keys)
        if hunk.at_end or hunk.old_ends:
            position = count - len(self.old)
            if position >= self.cursor and self.keys[position:] == self.old:
                return position
            self._refuse(position, "at the end of the file")
        if hunk.start is not None:
            return self._numbered(hunk.start)
        if hunk.anchors:
            return self._below_anchors()
        if not self.old:
            if count:
                reason = "it only adds lines and does not say where: show the line above or below with a leading ' '"
                self._conflict(f"{reason}, or put it behind '@@ '")
            return 0
        return self._only(list(islice(self.text.matches(self.old, self.cursor), _MOST_PLACES)))

    def _numbered(self, start: int) -> int:
        expected = start - bool(self.old)
        # Once a hunk was found elsewhere, the numbers of the next ones are known to be wrong.
        can_trust = not self.is_shifted and self.cursor <= expected <= len(self.keys)
        if can_trust and self.keys[expected : expected + len(self.old)] == self.old:
            return expected
        if not self.old:
            self._conflict(f"it adds lines behind line {start}, which is no place for it; show a line next to it")
        return self._only(list(islice(self.text.matches(self.old, self.cursor), _MOST_PLACES)), expected)

    def _below_anchors(self) -> int:
        """The first place below the anchors; each may occur often as long as all lead to one place."""
        starts = list(islice(self.text.lines_like(self.hunk.anchors[0], self.cursor), _MOST_PLACES))
        if len(starts) == _MOST_PLACES:
            self._conflict(f"its anchor {shown(self.hunk.anchors[0])} occurs {_MOST_PLACES} times; name another line")
        for anchor in self.hunk.anchors[1:]:
            below = (next(self.text.lines_like(anchor, start + 1), None) for start in starts)
            starts = sorted({start for start in below if start is not None})
        if not starts:
            anchors = ", ".join(shown(anchor) for anchor in self.hunk.anchors)
            self._conflict(f"the file has no line {anchors} below line {self.cursor}, as its anchor says")
        if not self.old:
            return self._only([start + 1 for start in starts])
        places: list[int] = []
        for start in starts:
            if not places or start > places[-1]:  # else the same place is the first below this one, too
                places += islice(self.text.matches(self.old, start), 1)
        return self._only(places, starts[0])

    def _only(self, places: list[int], expected: int | None = None) -> int:
        if not places:
            self._refuse(expected, "in the file")
        if len(places) > 1:
            lines = ", ".join(str(place + 1) for place in places[:10]) + (", ..." if len(places) > 10 else "")
            self._conflict(f"it fits in several places (lines {lines}); show more of the lines around it")
        return places[0]

    def _refuse(self, expected: int | None, where: str) -> NoReturn:
        """Say what is there instead: the nearest place, and the first line that differs."""
        if not self.keys:
            self._conflict(f"its old lines are not {where}: the file is empty")
        before = next(self.text.matches(self.old, 0), None) if self.old else None
        if before is not None and where == "in the file":
            reason = f"its old lines are at line {before + 1}, which is above the hunk or anchor before it"
            self._conflict(f"{reason}; hunks come in the order of the file")
        if before is not None:
            self._conflict(f"its old lines are at line {before + 1}, and not {where}")
        there = next(self.text.matches(self.hunk.new, 0), None) if self.hunk.new else None
        if there is not None:
            self._conflict(f"its old lines are not {where}, but its new ones are, at line {there + 1}; is it applied?")
        self._conflict(f"its old lines are not {where}. {self._difference(expected)}Read the file again")

    def _difference(self, expected: int | None) -> str:
        nearest = self._nearest(expected)
        if nearest is None:
            return f"Not one of them is: the first is {shown(self.old[0])}. " if self.old else ""
        for offset, wanted in enumerate(self.old):
            number = nearest + offset
            there = self.keys[number] if 0 <= number < len(self.keys) else None
            if there != wanted:
                found = "the file has ended" if there is None else f"there is {shown(there)}"
                alike = there is not None and there.split() == wanted.split()
                hint = ", which differs only in white space" if alike else ""
                return f"Nearest: line {number + 1}, where the patch has {shown(wanted)}, and {found}{hint}. "
        return ""

    def _nearest(self, expected: int | None) -> int | None:
        """The place where most of the old lines are; of equals, the one that the hunk speaks of."""
        wanted: dict[bytes, list[int]] = {}
        for offset, line in enumerate(self.old):
            if line.strip():
                wanted.setdefault(b"".join(line.split()), []).append(offset)
        votes = (
            number - offset
            for number, key in enumerate(self.keys)
            for offset in wanted.get(b"".join(key.split()), ())[:100]
        )
        counted = Counter(islice(votes, _MOST_VOTES))
        if not counted:
            return None
        goal = expected or 0
        return min(counted, key=lambda place: (-counted[place], abs(place - goal)))

    def _conflict(self, reason: str) -> NoReturn:
        conflict(self.path, self.hunk, reason)


def conflict(path: str, hunk: Hunk, reason: str) -> NoReturn:
    """The hunk does not fit the file."""
    message = f"{path!r}: the hunk of line {hunk.number} of the patch does not fit: {reason}. Nothing was changed."
    raise ToolError(message, "conflict")
