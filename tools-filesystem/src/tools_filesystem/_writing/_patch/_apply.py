"""Hunks applied to the content of a file: whole lines; what lies outside the hunks stays as it is, byte for byte."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._writing._edit._text import text_of
from tools_filesystem._writing._patch._placing import conflict, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_filesystem._writing._patch._placing import Placed
    from tools_filesystem._writing._patch._sections import Hunk

_MOST_WORK = 5_000_000_000  # hunks times bytes


class Applied(NamedTuple):
    """The new content, how many lines came and went, what to know about it, and the change as a diff."""

    data: bytes
    added: int
    removed: int
    notes: list[str]
    diff: list[str]


def apply_hunks(data: bytes, hunks: Sequence[Hunk], path: str) -> Applied:
    """Return `data` with all hunks applied; ToolError (conflict) names the hunk, the line and the first difference."""
    if len(hunks) * len(data) > _MOST_WORK:
        raise ToolError(f"{path!r} is too large for {len(hunks)} hunks at once; split the patch", "limit_exceeded")
    text = text_of(data, path)
    content = text.data
    if text.codec == "cp1252":
        hunks = [_recoded(hunk, text.codec, path) for hunk in hunks]
    mark = b""
    if content.startswith(codecs.BOM_UTF8) and not any(_shows_mark(hunk) for hunk in hunks):
        mark, content = codecs.BOM_UTF8, content[len(codecs.BOM_UTF8) :]
    # Hunks that show carriage returns mean them; any others are about lines, whatever these end with.
    is_explicit = any(line.text.endswith(b"\r") for hunk in hunks for line in hunk.lines)
    patched = _Patched(content, path, is_explicit=is_explicit)
    for placed in place(path, patched.keys, hunks):
        patched.apply(placed)
    applied = patched.finish()
    return applied._replace(data=text.restored(mark + applied.data))


class _Patched:
    """A file while hunks are applied to it, from its beginning on."""

    def __init__(self, text: bytes, path: str, *, is_explicit: bool) -> None:
        self.path = path
        self.is_explicit = is_explicit
        self.has_end = not text or text.endswith(b"\n")
        crlf = text.count(b"\r\n")
        self.ending = b"\r\n" if crlf * 2 > text.count(b"\n") else b"\n"
        self.lines = (text if self.has_end else text + b"\n").split(b"\n")[:-1]  # with the \r of their ending
        self.keys = self.lines
        if crlf and not is_explicit:
            self.keys = [line.removesuffix(b"\r") for line in self.lines]
            if not self.has_end:
                self.keys[-1] = self.lines[-1]  # what it ends with is no line ending
        self.cursor = self.added = self.removed = 0
        self.out: list[bytes] = []
        self.tail = -1  # where in `out` the last line is, if it had no line feed
        self.notes: list[str] = []
        self.diff: list[str] = []
        self.ends = self.has_end
        self.is_verbatim = False  # whether the last line, too, is written as the patch has it

    def apply(self, placed: Placed) -> None:
        hunk, position = placed.hunk, placed.position
        end = placed.end
        self._keep(self.cursor, position)
        self._note(placed)
        ending = b"" if self.is_explicit else self._ending_at(position, end).removesuffix(b"\n")
        for line in hunk.lines:
            if line.kind == "+":
                self.out.append(line.text + ending)
            else:
                if line.kind == " ":
                    self._keep(position, position + 1)
                position += 1
        self.cursor = end
        self.added += hunk.count("+")
        self.removed += hunk.count("-")
        if hunk.old_ends or hunk.new_ends:
            self._end(hunk)
            self.is_verbatim = self.is_explicit

    def finish(self) -> Applied:
        self._keep(self.cursor, len(self.lines))
        last = len(self.out) - 1
        if 0 <= self.tail < last:  # something follows it now
            self.out[self.tail] += self.ending.removesuffix(b"\n")
        if not self.ends and self.tail != last and not self.is_verbatim:
            self.out[last] = self.out[last].removesuffix(b"\r")
        data = b"".join([line + b"\n" for line in self.out])
        if not self.ends:
            data = data[:-1]
        return Applied(data, self.added, self.removed, self.notes, self.diff)

    def _keep(self, start: int, end: int) -> None:
        self.out += self.lines[start:end]
        if not self.has_end and start < end == len(self.lines):
            self.tail = len(self.out) - 1

    def _end(self, hunk: Hunk) -> None:
        if self.cursor != len(self.lines):
            reason = "the patch says that the file ends here without a line feed, but more lines follow"
            conflict(self.path, hunk, f"{reason} line {self.cursor}")
        if hunk.old_ends and self.has_end:
            conflict(self.path, hunk, "the patch says that the file has no line feed at its end, but it has")
        self.ends = not hunk.new_ends

    def _ending_at(self, position: int, end: int) -> bytes:
        """Return what most lines of this place end with; where there are none, those next to it."""
        ended = len(self.lines) - (not self.has_end)  # the last line may have no ending to go by
        place = self.lines[position : min(end, ended)] or self.lines[max(0, position - 1) : min(end + 1, ended)]
        if not place:
            return self.ending
        return b"\r\n" if sum(line.endswith(b"\r") for line in place) * 2 > len(place) else b"\n"

    def _note(self, placed: Placed) -> None:
        hunk = placed.hunk
        if placed.note:
            self.notes.append(f"{self.path!r}, hunk of line {hunk.number}: {placed.note}")
        first, new = placed.position + bool(hunk.old), len(self.out) + bool(hunk.new)
        self.diff.append(f"@@ -{first},{len(hunk.old)} +{new},{len(hunk.new)} @@")
        self.diff += hunk.as_text()


def _shows_mark(hunk: Hunk) -> bool:
    return any(line.text.startswith(codecs.BOM_UTF8) for line in hunk.lines)


def _recoded(hunk: Hunk, codec: str, path: str) -> Hunk:
    try:
        lines = tuple(line._replace(text=line.text.decode().encode(codec)) for line in hunk.lines)
        anchors = tuple(anchor.decode().encode(codec) for anchor in hunk.anchors)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        conflict(path, hunk, f"the file is in {codec}, which has no {letter!r}")
    return hunk._replace(lines=lines, anchors=anchors)
