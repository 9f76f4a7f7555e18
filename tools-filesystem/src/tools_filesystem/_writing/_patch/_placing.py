"""Find the place of each hunk in a file: in order, and only if there is exactly one way.

A hunk fits if its old lines occur. Its heading, its line number and the other hunks decide between several places.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, NoReturn
from unicodedata import normalize

from tools_core import ToolError
from tools_filesystem._writing._near_miss import PLAIN, first_difference, nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_filesystem._writing._patch._sections import Hunk

_MAX_PLACES = 1000  # of one hunk, before it is ambiguous
_MIN_ADDED = 8  # characters; fewer are in a file by chance
_CLOSING = b"})]"  # a line that begins with one of these belongs to the block above


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
    r"""Return the hunks with their places, in the order of the file; ToolError (`conflict`) unless there is one way.

    `lines` are those of `text.split("\\n")`: after a final line feed, an empty line stands for the end.
    """
    placing = _Placing(path, lines)
    appended = [Placed(hunk, placing.end) for hunk in hunks if placing.appends(hunk)]
    candidates = [placing.candidates(hunk) for hunk in hunks if not placing.appends(hunk)]
    by_number = _at_their_numbers(path, candidates)
    return [*_in_one_way(path, by_number), *appended]


def _at_their_numbers(path: str, candidates: list[list[Placed]]) -> list[list[Placed]]:
    """Choose by the line numbers of hunks, which may all be wrong by the same offset."""
    shift, chosen = 0, list[list[Placed]]()
    for places in candidates:
        hunk = places[0].hunk
        if hunk.start is not None:
            if shift and not hunk.old:
                reason = f"it adds lines at line {hunk.start}, but the hunk before it fits only elsewhere"
                conflict(path, hunk, f"{reason}; show a line next to it")
            expected = hunk.start - bool(hunk.old)
            stated = [place for place in places if place.position == expected + shift]
            stated = stated or [place for place in places if not place.note] or places
            if len(stated) == 1:
                shift = stated[0].position - expected
            chosen.append(stated)
        else:
            chosen.append(places)
    return chosen


def _in_one_way(path: str, candidates: Sequence[Sequence[Placed]]) -> list[Placed]:
    """Return the only way to place the hunks in order: the first and the last way are the same."""
    first: list[Placed] = []
    for places in candidates:
        end = first[-1].end if first else 0
        following = next((place for place in places if place.position >= end), None)
        if following is None:
            reason = f"its old lines are at line {places[0].position + 1}, above the end of the hunk before it"
            conflict(path, places[0].hunk, f"{reason}. Put hunks in the order of the file")
        first.append(following)
    limit = None
    for place, places in zip(reversed(first), reversed(candidates), strict=True):
        last = next(other for other in reversed(places) if limit is None or other.end <= limit)
        if place.position != last.position:
            numbers = [str(other.position + 1) for other in places if place.position <= other.position <= last.position]
            more = ", ..." if len(numbers) > 10 else ""
            reason = f"it fits in several places (lines {', '.join(numbers[:10])}{more})"
            conflict(path, place.hunk, f"{reason}; show more of the lines around the change")
        limit = last.position
    return first


class _Text:
    """Lines joined into one bytes object, which `bytes.find` searches in linear time."""

    def __init__(self, lines: list[bytes]) -> None:
        self._text = b"\n".join((b"", *lines, b""))
        self._offsets = array("q", accumulate((len(line) + 1 for line in lines), initial=0))

    def matches(self, old: list[bytes]) -> Iterator[int]:
        """Yield the positions of these lines."""
        joined = b"\n" + b"\n".join(old) + b"\n"
        at = self._text.find(joined)
        while at >= 0:
            yield bisect_right(self._offsets, at) - 1
            at = self._text.find(joined, at + 1)


class _Placing:
    def __init__(self, path: str, lines: list[bytes]) -> None:
        self.path = path
        self.lines = lines
        self.end = len(lines) - (not lines[-1])  # where lines are appended
        self._exact = _Text(lines)

    @cached_property
    def _folded(self) -> _Text:
        return _Text(list(map(_fold, self.lines)))

    def appends(self, hunk: Hunk) -> bool:
        """Return whether a hunk only adds lines, and says nothing about the place: they go to the end of the file."""
        return not hunk.old and (hunk.at_end or (hunk.start is None and not hunk.anchors))

    def candidates(self, hunk: Hunk) -> list[Placed]:
        """Return all places of a hunk; ToolError if there are none."""
        if not hunk.old:
            return self._insertions(hunk)
        matches = self._matches(hunk)
        if not matches:
            self._refuse(hunk)
        self._check_not_applied(hunk, matches)
        return self._under_headings(hunk, matches)

    def _matches(self, hunk: Hunk) -> list[Placed]:
        """Return the places whose lines are equal, or else equal except for blanks and typography.

        For a hunk with a line number, which may decide between them, return both.
        """
        for variant in hunk.variants():
            exact = self._places(variant, self._exact, variant.old)
            if exact and hunk.start is None:
                return exact
            note = "blanks at line ends, quotes, dashes or accents differ from the patch"
            old = list(map(_fold, variant.old))
            folded = self._places(variant, self._folded, old, note) if any(old) else exact
            if folded:
                equal = {place.position: place for place in exact}
                return [equal.get(place.position, place) for place in folded]
        return []

    def _places(self, hunk: Hunk, text: _Text, old: list[bytes], note: str = "") -> list[Placed]:
        places = [Placed(hunk, at, note) for at in islice(text.matches(old), _MAX_PLACES)]
        if hunk.at_end:
            first = len(self.lines) if hunk.is_marked else self.end
            if not hunk.old[-1] and self.lines[-1]:  # blanks are not the empty line that stands for the end
                first, places = self.end, [place for place in places if place.end < len(self.lines)]
            # The line that stands for the end can be replaced, and cannot be deleted.
            return [place for place in places if place.end >= first and (hunk.new or place.position < self.end)]
        last = next(line for line in reversed(hunk.lines) if line.kind != "+")
        end = self.end if last.kind == "-" else len(self.lines)  # the end is not an empty line that can be deleted
        return [place for place in places if place.position < self.end and place.end <= end]

    def _insertions(self, hunk: Hunk) -> list[Placed]:
        """Return the places of a hunk that only adds lines: below its line number or its heading."""
        if hunk.start is not None and hunk.start <= self.end:
            return [Placed(hunk, hunk.start)]
        headings = self._headings(hunk.anchors) if hunk.anchors else []
        if not headings:
            reason = "it only adds lines, and the file does not have its line number or heading"
            conflict(self.path, hunk, f"{reason}; show the line above or below with a leading ' '")
        return [Placed(hunk, at + 1) for at in headings]

    def _under_headings(self, hunk: Hunk, places: list[Placed]) -> list[Placed]:
        """Return the places in the heading's block, or else below the heading; a missing heading decides nothing."""
        if not hunk.anchors or hunk.start is not None:
            return places
        headings = self._headings(hunk.anchors)
        if not headings and len(places) > 1:
            anchors = ", ".join(map(quoted, hunk.anchors))
            conflict(self.path, hunk, f"the file has no line {anchors}, and the hunk fits in several places")
        if not headings:
            return [places[0]._replace(note=f"the heading {quoted(hunk.anchors[-1])} is not in the file")]
        below = [place for place in places if place.end > headings[0]]
        if not below and len(places) > 1:
            reason = f"its old lines are at line {places[0].position + 1}, above its heading"
            conflict(self.path, hunk, f"{reason} {quoted(hunk.anchors[-1])}")
        inside = [place for place in below if any(self._is_inside(at, place) for at in headings)]
        return inside or below or places

    def _headings(self, anchors: Sequence[bytes]) -> list[int]:
        """Return the lines that match the last heading below the earlier ones; a prefix of a line matches."""
        matches = [-1]
        for anchor in map(bytes.strip, anchors):
            below = [at for at, line in enumerate(self.lines) if at > matches[0] and line.strip().startswith(anchor)]
            matches = [at for at in below if self.lines[at].strip() == anchor] or below
            if not matches:
                break
        return matches

    def _is_inside(self, heading: int, place: Placed) -> bool:
        """Return whether a place, and every line between a heading and it, are indented more than the heading.

        A place at the end of the block may as well belong to what follows.
        """
        if place.position <= heading:
            return place.end > heading
        indent = _indent(self.lines[heading])
        between = [line for line in self.lines[heading + 1 : place.position] if line.strip()]
        first = next((line for line in self.lines[place.position : place.end] if line.strip()), b"")
        is_indented = all(_indent(line) > indent or line.strip()[0] in _CLOSING for line in between)
        return is_indented and (not between or _indent(first) > indent)

    def _check_not_applied(self, hunk: Hunk, places: list[Placed]) -> None:
        """Raise ToolError (`conflict`) for a hunk that only adds lines if it fits only next to the same lines."""
        added = sum(len(line.text.strip()) for line in hunk.lines if line.kind == "+")
        if hunk.count("-") or len(places) > 1 or added < _MIN_ADDED or hunk.start == places[0].position + 1:
            return
        at = next(self._exact.matches(hunk.new), None)
        if at is not None and at <= places[0].position < at + len(hunk.new):
            reason = f"its new lines are already at line {at + 1}; it seems to be applied"
            conflict(self.path, hunk, f"{reason}. To add them again, show more of the lines around them")

    def _refuse(self, hunk: Hunk) -> NoReturn:
        """Raise ToolError with the closest place and the first line that differs."""
        place_name = "at the end of the file" if hunk.at_end else "in the file"
        before = next(self._exact.matches(hunk.old), None)
        if before is not None:
            conflict(self.path, hunk, f"its old lines are at line {before + 1}, not {place_name}")
        after = next(self._exact.matches(hunk.new), None) if hunk.new else None
        if after is not None:
            reason = f"its old lines are not {place_name}, but its new lines are, at line {after + 1}"
            conflict(self.path, hunk, f"{reason}: it seems to be applied")
        lines, old = ([line.decode(errors="backslashreplace") for line in some] for some in (self.lines, hunk.old))
        at = nearest(lines, old, hunk.start or 0)
        if at is None:
            conflict(self.path, hunk, f"none of its old lines are {place_name}; the first is {quoted(hunk.old[0])}")
        hint = first_difference(lines, old, at, "the patch")
        conflict(self.path, hunk, f"its old lines are not {place_name}. Closest match: {hint}. Read the file again")


def _fold(line: bytes) -> bytes:
    """Return a line without blanks at its end, with ASCII quotes and dashes, and in one normal form."""
    line = line.rstrip()
    if line.isascii():
        return line
    text = line.decode("utf-8", "surrogateescape").translate(PLAIN)
    return normalize("NFC", text).encode("utf-8", "surrogateescape")


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def conflict(path: str, hunk: Hunk, reason: str) -> NoReturn:
    """Raise ToolError (`conflict`): the hunk does not fit the file."""
    message = f"{path!r}: the hunk at patch line {hunk.number} does not apply: {reason}. Nothing was changed."
    raise ToolError(message, "conflict")
