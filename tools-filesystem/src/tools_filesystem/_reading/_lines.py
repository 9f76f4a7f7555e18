"""Lines of a file, read in bounded memory."""

from __future__ import annotations

import io
import os
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tools_core import ToolError
from tools_filesystem._reading._encoding import settle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core import Context
    from tools_filesystem._reading._encoding import Encoding

LINE = 2000  # bytes of one line that are shown
BUDGET = 100_000  # bytes of all lines
SECONDS = 30.0  # for a call without a time limit
LARGEST_WIDE = 64 << 20  # bytes of a file that is converted as a whole
_BLOCK = 256 << 10
_REMARK = 60  # characters of the remark on a long line


class Line(NamedTuple):
    """A line, or the beginning of a long one; `more` is the number of bytes left out."""

    number: int
    start: int
    text: bytes
    ending: bytes
    more: int = 0

    @property
    def end(self) -> int:
        """The position after the line."""
        return self.start + len(self.text) + len(self.ending) + self.more


class Lines:
    """Lines of an open file. UTF-16, UTF-32 and declared encodings are converted to UTF-8 first."""

    def __init__(self, descriptor: int, encoding: Encoding, context: Context) -> None:
        self._context = context
        left = context.remaining
        # Leave time to return the result before the caller's limit abandons the call.
        self._ends = monotonic() + (SECONDS if left is None else 0.9 * left)
        self._file: BinaryIO = open(os.dup(descriptor), "rb", buffering=_BLOCK)  # noqa: SIM115  (closed by `close`)
        self.mark = encoding.mark
        self.size = os.fstat(descriptor).st_size
        if encoding.is_converted:
            self._file = self._converted(encoding)
            self.mark = 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, offset: int, limit: int, budget: int) -> list[Line]:
        """Return up to `limit` lines from number `offset`, at least one, within a budget of bytes."""
        position = self._skip(offset - 1)
        lines: list[Line] = []
        spent = 0
        while position is not None and len(lines) < limit:
            line = self._line(offset + len(lines), position)
            spent += len(line.text) + len(line.ending) + len(str(line.number)) + (_REMARK if line.more else 1)
            if not (line.text or line.ending) or (lines and spent > budget):
                break
            lines.append(line)
            position = line.end
        return lines

    def count(self) -> int:
        """Return the number of lines."""
        newlines, last = 0, b"\n"
        for _, block in self._blocks(self.mark):
            newlines += block.count(b"\n")
            last = block[-1:]
        return newlines + (last != b"\n")

    def _skip(self, lines: int) -> int | None:
        """Return where the line after some lines begins; None if there are fewer."""
        if not lines:
            return self.mark
        for start, block in self._blocks(self.mark):
            here = block.count(b"\n")
            if here < lines:
                lines -= here
                continue
            end = 0
            for _ in range(lines):
                end = block.index(b"\n", end) + 1
            return start + end
        return None

    def _line(self, number: int, position: int) -> Line:
        self._file.seek(position)
        data = self._file.readline(LINE + 2)
        text = data.removesuffix(b"\n")
        if len(text) < len(data):
            bare = text.removesuffix(b"\r")
            return Line(number, position, bare, data[len(bare) :])
        if len(data) <= LINE:
            return Line(number, position, data, b"")
        start = data[: _boundary(data, LINE)]
        more = len(data) - len(start)
        for _, block in self._blocks(position + len(data)):
            end = block.find(b"\n")
            more += len(block) if end < 0 else end + 1
            if end >= 0:
                break
        return Line(number, position, start, b"", more)

    def _blocks(self, position: int) -> Iterator[tuple[int, bytes]]:
        self._file.seek(position)
        while block := self._file.read(_BLOCK):
            yield position, block
            position += len(block)
            if self._context.cancelled:
                raise ToolError("the call was cancelled", "cancelled")
            if monotonic() >= self._ends:
                message = f"timed out after {position} bytes of the file; grep finds lines by their content"
                raise ToolError(message, "limit_exceeded")

    def _converted(self, encoding: Encoding) -> BinaryIO:
        data = self._file.read(LARGEST_WIDE + 1)
        self._file.close()
        if len(data) > LARGEST_WIDE:
            message = f"files in {encoding.name} are read up to {LARGEST_WIDE >> 20} MB; convert it to UTF-8 first"
            raise ToolError(message, "limit_exceeded")
        text = encoding.decode(data[encoding.mark :])[0].encode()
        self.size = len(text)
        return io.BytesIO(text)


def _boundary(data: bytes, at: int) -> int:
    """Return the nearest beginning of a UTF-8 character at or before a place."""
    return next((at - back for back in range(4) if data[at - back] & 0xC0 != 0x80), at)


def show(
    lines: list[Line], encoding: Encoding, *, numbers: bool
) -> tuple[list[tuple[str, bool]], list[str], dict[str, Any]]:
    """Return the text of each line and whether it is faithful, notes, and facts."""
    codec = encoding._replace(codec="utf-8") if encoding.is_converted else encoding
    codec = settle(codec, b"\n".join(line.text for line in lines))
    out: list[tuple[str, bool]] = []
    is_broken = has_nul = False
    for line in lines:
        text, broken = codec.decode(line.text)
        is_broken |= broken
        has_nul |= "\0" in text
        end = f"[... {line.more} more bytes of this line]\n" if line.more else "\n" * bool(line.ending)
        line_text = (f"{line.number}\t" if numbers else "") + text.replace("\0", "\u2400") + end
        out.append((line_text, not (broken or "\0" in text or line.more)))
    name = codec.name
    facts: dict[str, Any] = {"encoding": name, "lines": len(lines)}
    facts |= {"start_line": lines[0].number, "end_line": lines[-1].number}
    endings = {line.ending for line in lines if line.ending}
    if endings:
        facts["line_endings"] = "mixed" if len(endings) > 1 else "crlf" if b"\r\n" in endings else "lf"
    notes = {"utf-8": [], "cp1252": ["not UTF-8: read as cp1252, which is a guess"]}.get(name, [f"encoding {name}"])
    if is_broken:
        notes.append(f"bytes that are not {name} are shown as \ufffd")
    if has_nul:
        notes.append("NUL bytes are shown as \u2400")
    if b"\r\n" in endings:
        which = "line endings are" if len(endings) == 1 else "some line endings are"
        notes.append(f"{which} CRLF, shown as LF")
    return out, notes, facts
