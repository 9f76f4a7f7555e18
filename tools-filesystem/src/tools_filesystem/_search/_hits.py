"""Matching lines as they are shown: numbered, clamped around the match, with the lines around them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_filesystem._search._scan import Hit

_NEAR = 1 << 16  # bytes before and behind a line in which the lines around it are looked for
# Some of these would look like the end of a line, and what follows like another match.
_CONTROL = (*range(9), *range(10, 32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_VISIBLE = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROL}


class Lines:
    """The lines of one file that are shown."""

    def __init__(self, file: int, hits: list[Hit], before: int, after: int, width: int, room: int) -> None:
        self._file = file
        self._width = width
        self._rows: dict[int, tuple[str, str]] = {}
        self._size = 0
        self._clamped: set[int] = set()
        self.taken = 0  # fewer than there are hits where the file is not what was searched
        self.is_full = False  # there is no room for the rest
        for hit in hits:
            if hit.start and os.pread(file, 1, hit.start - 1) != b"\n":
                return
            if self._size > room:
                self.is_full = True
                return
            self.taken += 1
            self._put(hit.line, ":", self._matching(hit))
            self._around(hit, before, after)

    @property
    def clamped(self) -> int:
        """How many of the lines are shown in part."""
        return len(self._clamped)

    def shown(self, path: str, *, gaps: bool) -> list[str]:
        """`path:line:text`, or `path-line-text` for lines around, with `--` where lines are left out between."""
        out: list[str] = []
        last = None
        for number, (mark, text) in sorted(self._rows.items()):
            if gaps and last is not None and number > last + 1:
                out.append("--")
            out.append(f"{path}{mark}{number}{mark}{text}")
            last = number
        return out

    def _matching(self, hit: Hit) -> str:
        data, is_whole = self._line(hit.start)
        text = _decoded(data)
        if is_whole and len(text) <= self._width:
            return text
        self._clamped.add(hit.line)
        lead = hit.at - self._width // 3 if hit.at > self._width // 2 else 0
        data, is_whole = self._line(hit.start + lead)
        while lead and data and data[0] & 0xC0 == 0x80:  # the rest of a character that was cut in two
            data = data[1:]
        text = _decoded(data)
        rest = "" if is_whole and len(text) <= self._width else "…"
        return f"{'…' if lead else ''}{text[: self._width]}{rest}"

    def _line(self, start: int) -> tuple[bytes, bool]:
        """A line from a place on, as far as it can be shown, and whether that is all of it."""
        data = os.pread(self._file, 4 * self._width + 1, start)
        line, newline, _ = data.partition(b"\n")
        return line, bool(newline) or len(data) <= 4 * self._width

    def _around(self, hit: Hit, before: int, after: int) -> None:
        if before:
            begin = max(0, hit.start - _NEAR)
            lines = os.pread(self._file, hit.start - begin, begin).split(b"\n")[:-1]
            near = lines[-before:] if not begin else lines[1:][-before:]  # the first may be cut
            for number, line in enumerate(near, hit.line - len(near)):
                self._add(number, line)
        if after:
            data = os.pread(self._file, _NEAR, hit.start)
            lines = data.split(b"\n")[1:]
            if lines and (len(data) == _NEAR or not lines[-1]):
                lines.pop()  # cut, or nothing
            for number, line in enumerate(lines[:after], hit.line + 1):
                self._add(number, line)

    def _add(self, number: int, line: bytes) -> None:
        if number in self._rows:
            return
        text = _decoded(line)
        if len(text) > self._width:
            self._clamped.add(number)
            text = text[: self._width] + "…"
        self._put(number, "-", text)

    def _put(self, number: int, mark: str, text: str) -> None:
        # What marks the encoding of a file is no part of its first line.
        self._rows[number] = (mark, text.removeprefix("\ufeff") if number == 1 else text)
        self._size += len(text) + 20


def _decoded(line: bytes) -> str:
    return line.removesuffix(b"\r").decode(errors="replace").translate(_VISIBLE)
