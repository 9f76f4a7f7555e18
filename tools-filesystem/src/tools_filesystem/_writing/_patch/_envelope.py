"""Patches between `*** Begin Patch` and `*** End Patch`.

Every content line carries a prefix, so that no content is ever taken for a marker.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools_filesystem._writing._patch._sections import Hunk, HunkBuilder, Section, refuse, shown

if TYPE_CHECKING:
    from typing import Literal

_SECTIONS: dict[str, Literal["add", "update", "delete"]] = {
    "add file": "add",
    "update file": "update",
    "delete file": "delete",
}
_NUMBERS = re.compile(r"-(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@")


def parse_envelope(lines: list[str], position: int) -> list[Section]:
    """The sections of the lines from `position` on, which is behind the first marker."""
    return _Envelope(lines, position).sections()


class _Envelope:
    def __init__(self, lines: list[str], position: int) -> None:
        self.lines = lines
        self.position = position  # of the line to be read next, which is number `position + 1`

    def sections(self) -> list[Section]:
        found: list[Section] = []
        while True:
            self._skip_blank()
            if self.position == len(self.lines):
                refuse(self.position, "the patch breaks off: its last line is '*** End Patch'")
            line = self.lines[self.position]
            marker, path = _marker(line)
            self.position += 1
            if marker == "end patch":
                break
            if marker not in _SECTIONS:
                self._refuse_line(line)
            if not path:
                refuse(self.position, f"'{line.strip()}' lacks the path behind the colon")
            found.append(self._section(_SECTIONS[marker], path))
        self._skip_blank()
        if self.position < len(self.lines):
            refuse(self.position + 1, "text behind '*** End Patch'; content of that wording begins with its prefix")
        return found

    def _section(self, action: Literal["add", "update", "delete"], path: str) -> Section:
        number = self.position
        if action == "add":
            return Section(number, action, path, self._added())
        if action == "delete":
            return Section(number, action, path)
        destination = self._move()
        hunks = self._hunks()
        if not hunks and destination is None:
            refuse(number, "this update has no hunk: '@@', then lines that begin with ' ', '-' or '+'")
        return Section(number, action, path, hunks, destination)

    def _added(self) -> tuple[Hunk, ...]:
        hunk = HunkBuilder(self.position + 1)
        while not self._at_section():
            line = self.lines[self.position]
            self.position += 1
            if not line.startswith(("+", "\\")) or not hunk.add(self.position, line):
                reason = f"in a new file every line begins with '+', an empty one too; this is {shown(line)}"
                refuse(self.position, reason)
        return (hunk.finish(),) if hunk.lines else ()

    def _move(self) -> str | None:
        if self.position == len(self.lines):
            return None
        marker, path = _marker(self.lines[self.position])
        if marker != "move to":
            return None
        self.position += 1
        if not path:
            refuse(self.position, "'*** Move to:' lacks the path behind the colon")
        return path

    def _hunks(self) -> tuple[Hunk, ...]:
        hunks: list[Hunk] = []
        self._skip_blank()
        while not self._at_section():
            if hunks and hunks[-1].at_end:
                refuse(self.position + 1, "nothing follows '*** End of File' in a section: that hunk comes last")
            hunks.append(self._hunk())
            self._skip_blank()
        return tuple(hunks)

    def _hunk(self) -> Hunk:
        hunk = HunkBuilder(self.position + 1)
        self._heads(hunk)
        while not self._at_section():
            line = self.lines[self.position]
            if line.startswith("@@"):
                break
            self.position += 1
            if _marker(line)[0] == "end of file":
                hunk.at_end = True
                break
            if not hunk.add(self.position, line):
                self._refuse_line(line)
        hunk.drop_blank_edges()
        return hunk.finish()

    def _heads(self, hunk: HunkBuilder) -> None:
        """The `@@` lines before the content: each may carry a line that the hunk lies below, or line numbers."""
        while self.position < len(self.lines) and self.lines[self.position].startswith("@@"):
            text = self.lines[self.position][2:].rstrip("\r")
            self.position += 1
            numbers = _NUMBERS.match(text.strip())
            if numbers:
                hunk.start = int(numbers[1])
            elif text.strip(" @"):
                hunk.anchors.append(text.removeprefix(" ").encode())

    def _at_section(self) -> bool:
        if self.position == len(self.lines):
            refuse(self.position, "the patch breaks off: its last line is '*** End Patch'")
        marker = _marker(self.lines[self.position])[0]
        return marker == "end patch" or marker in _SECTIONS

    def _skip_blank(self) -> None:
        # A line of spaces alone is content: the first of them is its prefix.
        while self.position < len(self.lines) and self.lines[self.position] in ("", "\r"):
            self.position += 1

    def _refuse_line(self, line: str) -> None:
        reason = (
            f"{shown(line)} is neither content, which begins with ' ', '-' or '+', nor one of the markers '@@', "
            "'*** Add File: PATH', '*** Update File: PATH', '*** Move to: PATH' (below an update), "
            "'*** Delete File: PATH', '*** End of File', '*** End Patch'"
        )
        refuse(self.position, reason)


def _marker(line: str) -> tuple[str, str]:
    """The words of a marker line, and what is behind its colon; two empty texts for any other line."""
    if not line.startswith("*** "):
        return "", ""
    words, _, rest = line[4:].partition(":")
    return words.strip().lower(), rest.strip()
