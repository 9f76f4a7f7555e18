"""Applying hunks to the content of a file; bytes outside the hunks do not change."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._writing._patch._placing import conflict, place
from tools_filesystem._writing._text import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_filesystem._writing._patch._placing import Placed
    from tools_filesystem._writing._patch._sections import Hunk

_MOST_WORK = 5_000_000_000  # hunks times bytes


class Applied(NamedTuple):
    """The new content, the numbers of added and removed lines, and notes."""

    data: bytes
    added: int
    removed: int
    notes: list[str]


def apply_hunks(data: bytes, hunks: Sequence[Hunk], path: str) -> Applied:
    """Return `data` with all hunks applied; ToolError (`conflict`) names the hunk and the first difference."""
    if len(hunks) * len(data) > _MOST_WORK:
        raise ToolError(f"{path!r} is too large for {len(hunks)} hunks at once; split the patch", "limit_exceeded")
    text = text_of(data, path)
    if text.codec == "cp1252":
        hunks = [_recoded(hunk, text.codec, path) for hunk in hunks]
    shows_mark = any(line.text.startswith(codecs.BOM_UTF8) for hunk in hunks for line in hunk.lines)
    mark = codecs.BOM_UTF8 if text.data.startswith(codecs.BOM_UTF8) and not shows_mark else b""
    # Hunks with carriage returns match them exactly; others match lines with any line ending.
    is_explicit = any(line.text.endswith(b"\r") for hunk in hunks for line in hunk.lines)
    patched = _Patched(text.data.removeprefix(mark), path, is_explicit=is_explicit)
    for placed in place(path, patched.keys, hunks):
        patched.apply(placed)
    content = patched.finish()
    added, removed = (sum(hunk.count(kind) for hunk in hunks) for kind in "+-")
    return Applied(text.restored(mark + content), added, removed, patched.notes)


class _Patched:
    """A file while hunks are applied to it from top to bottom. Only its last line may lack a line feed."""

    def __init__(self, data: bytes, path: str, *, is_explicit: bool) -> None:
        self.path = path
        self.is_explicit = is_explicit
        self.lines = data.split(b"\n")
        self.lines = [line + b"\n" for line in self.lines[:-1]] + ([self.lines[-1]] if self.lines[-1] else [])
        is_crlf = not is_explicit and b"\r\n" in data
        self.keys = [line.removesuffix(b"\r\n" if is_crlf else b"\n").removesuffix(b"\n") for line in self.lines]
        self.had_end = self.has_end = data.endswith(b"\n") or not data
        self.cursor = 0
        self.out: list[bytes] = []
        self.notes: list[str] = []
        self.is_verbatim = False  # whether the last line, too, is written as the patch has it

    def apply(self, placed: Placed) -> None:
        hunk, position = placed.hunk, placed.position
        self.out += self.lines[self.cursor : position]
        if placed.note:
            self.notes.append(f"{self.path!r}, hunk of line {hunk.number}: {placed.note}")
        ending = self._ending(position, placed.end)
        for line in hunk.lines:
            if line.kind == "+":
                self.out.append(line.text + ending)
            else:
                self.out += self.lines[position : position + 1] if line.kind == " " else []
                position += 1
        self.cursor = placed.end
        if hunk.old_ends or hunk.new_ends:
            if self.cursor != len(self.lines):
                reason = "the patch says that the file ends here without a line feed, but more lines follow"
                conflict(self.path, hunk, f"{reason} line {self.cursor}")
            if hunk.old_ends and self.had_end:
                conflict(self.path, hunk, "the patch says that the file has no line feed at its end, but it has")
            self.has_end = not hunk.new_ends
            self.is_verbatim = self.is_explicit

    def finish(self) -> bytes:
        self.out += self.lines[self.cursor :]
        for number, line in enumerate(self.out):
            if not line.endswith(b"\n") and (self.has_end or number + 1 < len(self.out)):
                self.out[number] = line + self._ending(0, len(self.lines))
        if self.out and not self.has_end and self.out[-1].endswith(b"\n"):
            self.out[-1] = self.out[-1].removesuffix(b"\n" if self.is_verbatim else b"\r\n").removesuffix(b"\n")
        return b"".join(self.out)

    def _ending(self, start: int, end: int) -> bytes:
        """Return the most common line ending at a place, or else next to it, or in the file."""
        if self.is_explicit:
            return b"\n"
        for lines in (self.lines[start:end], self.lines[max(0, start - 1) : end + 1], self.lines):
            ends = [line.endswith(b"\r\n") for line in lines if line.endswith(b"\n")]
            if ends:
                return b"\r\n" if sum(ends) * 2 > len(ends) else b"\n"
        return b"\n"


def _recoded(hunk: Hunk, codec: str, path: str) -> Hunk:
    try:
        lines = tuple(line._replace(text=line.text.decode().encode(codec)) for line in hunk.lines)
        anchors = tuple(anchor.decode().encode(codec) for anchor in hunk.anchors)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        conflict(path, hunk, f"the file is in {codec}, which has no {letter!r}")
    return hunk._replace(lines=lines, anchors=anchors)
