"""Applying hunks to the content of a file; bytes outside the hunks do not change."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._writing._diff import clipped
from tools_filesystem._writing._patch._placing import conflict, place
from tools_filesystem._writing._text import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_filesystem._writing._patch._placing import Placed
    from tools_filesystem._writing._patch._sections import Hunk
    from tools_filesystem._writing._text import Text

_MAX_WORK = 1_000_000_000  # hunks times bytes


class Applied(NamedTuple):
    """The new content, the numbers of added and removed lines, notes, and a diff with the real line numbers."""

    data: bytes
    added: int
    removed: int
    notes: list[str]
    diff: list[str]


def apply_hunks(data: bytes, hunks: Sequence[Hunk], path: str) -> Applied:
    """Return `data` with all hunks applied; ToolError (`conflict`) names the hunk and the first difference."""
    if len(hunks) * len(data) > _MAX_WORK:
        raise ToolError(f"{path!r} is too large for {len(hunks)} hunks at once; split the patch", "limit_exceeded")
    text = text_of(data, path)
    if text.codec == "cp1252":
        hunks = [_recoded(hunk, text.codec, path) for hunk in hunks]
    shows_mark = any(line.text.startswith(codecs.BOM_UTF8) for hunk in hunks for line in hunk.lines)
    mark = codecs.BOM_UTF8 if text.data.startswith(codecs.BOM_UTF8) and not shows_mark else b""
    # Hunks with carriage returns match them exactly; others match lines with any line ending.
    is_explicit = any(line.text.endswith(b"\r") for hunk in hunks for line in hunk.lines)
    lines = _Lines(text.data.removeprefix(mark), is_explicit=is_explicit)
    placed = place(path, lines.keys, hunks)
    notes = [f"{path!r}, hunk at patch line {one.hunk.number}: {one.note}" for one in placed if one.note]
    added, removed = (sum(hunk.count(kind) for hunk, _, _ in placed) for kind in "+-")
    return Applied(text.restored(mark + lines.patched(placed)), added, removed, notes, _diff(placed, text))


def _diff(placed: Sequence[Placed], text: Text) -> list[str]:
    shift, lines = 0, list[str]()
    for hunk, position, _ in placed:
        old, new = len(hunk.old), len(hunk.new)
        lines.append(f"@@ -{position + 1},{old} +{position + 1 + shift},{new} @@")
        lines += [line.kind + text.decoded(line.text.removesuffix(b"\r")) for line in hunk.lines]
        shift += new - old
    return clipped(lines)


class _Lines:
    """The lines of a file with their endings. After a final line feed, an empty line stands for the end."""

    def __init__(self, data: bytes, *, is_explicit: bool) -> None:
        self.is_explicit = is_explicit
        *lines, last = data.split(b"\n")
        self.lines = [*(line + b"\n" for line in lines), last]
        is_crlf = not is_explicit and b"\r\n" in data
        self.keys = [line.removesuffix(b"\r\n" if is_crlf else b"\n").removesuffix(b"\n") for line in self.lines]

    def patched(self, hunks: Sequence[Placed]) -> bytes:
        """Return the content with the hunks applied."""
        out: list[bytes] = []
        at = 0
        for hunk, position, _ in hunks:
            out += self.lines[at:position]
            at = position
            ending = self._ending(position, position + len(hunk.old))
            for line in hunk.lines:
                if line.kind == "+":
                    out.append(line.text + ending)
                else:
                    out += self.lines[at : at + 1] if line.kind == " " else []
                    at += 1
        out += self.lines[at:]
        ending = self._ending(0, len(self.lines))
        out = [line if line.endswith(b"\n") else line + ending for line in out[:-1]] + out[-1:]
        if out and out[-1].endswith(b"\n"):
            out[-1] = out[-1].removesuffix(b"\n" if self.is_explicit else b"\r\n").removesuffix(b"\n")
        return b"".join(out)

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
