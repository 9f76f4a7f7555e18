"""An open file, read by position in blocks: memory depends on neither its size nor its lines."""

from __future__ import annotations

import errno
import os
from time import monotonic
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._ledger import Stamp
from tools_filesystem._line_index import SPACING, LineIndex, Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools_core import Context
    from tools_filesystem._read._encoding import Encoding

SECONDS = 30.0  # that a call without a limit of its own looks through a file
_BLOCK = 256 * 1024  # a multiple of every code unit
_KEPT = 128 * 1024
_SOON = 1 << 20  # bytes that are counted as quickly as a mark is found
_BEFORE = 16  # bytes in front of a mark by which it is known again


class ScanLimitError(Exception):
    """More was to be looked through than one call may, or has the time for."""


class Source:
    """Positions of lines in an open file; every position is one of a whole code unit.

    `reached` is the last place up to which the newlines from the beginning were counted, and how many there are.
    """

    def __init__(self, descriptor: int, encoding: Encoding, context: Context, index: LineIndex) -> None:
        found = os.fstat(descriptor)
        self.descriptor = descriptor
        self.encoding = encoding
        self.size = found.st_size
        self.reached = (encoding.mark, 0)
        self._stamp = Stamp.of(found)
        self._index = index if self._stamp.is_settled() else LineIndex()
        self._marked = 0
        self._scanned = 0
        self._context = context
        left = context.remaining
        # A call that has its own limit must have its result ready before it is given up.
        self._ends = monotonic() + (SECONDS if left is None else 0.9 * left)
        self._has_holes = found.st_blocks * 512 < found.st_size and hasattr(os, "SEEK_DATA")
        self._kept, self._kept_at = b"", 0

    def peek(self, position: int, length: int) -> bytes:
        """Some bytes, fewer only at the end of the file; those around them are kept for the next call."""
        start = position - self._kept_at
        if start < 0 or start + length > len(self._kept):
            self._kept, self._kept_at = self._read(position, max(length, _KEPT)), position
            start = 0
        return self._kept[start : start + length]

    def find_line(self, line: int) -> tuple[int, int]:
        """Where a line begins, and how many newlines are in front of it: fewer only at the end of the file."""
        wanted, newline = line - 1, self.encoding.encoded("\n")

        def fits(mark: Mark) -> bool:
            return mark.newlines < wanted or (mark.newlines == wanted and mark.before.endswith(newline))

        position, passed = self._last(fits)
        position, more = self.pass_lines(position, wanted - passed, before=passed)
        self.stop_at(position, passed + more)
        return position, passed + more

    def newlines_before(self, end: int) -> int:
        """How many newlines there are in front of a position."""
        position, passed = self._last(lambda mark: mark.position <= end)
        for start, block in self._blocks(position, end):
            passed += self.encoding.count_lines(block)
            self._reach(start + len(block), passed)
        self.stop_at(end, passed)
        return passed

    def stop_at(self, position: int, newlines: int) -> None:
        """Remember a place where the next call may begin, and how many newlines are in front of it."""
        self._reach(position, newlines)
        if position >= _SOON:
            self._mark(is_stop=True)

    def pass_lines(
        self, position: int, lines: int, most: int | None = None, before: int | None = None
    ) -> tuple[int, int]:
        """The position behind the next `lines` newlines, and how many were passed: fewer only at the end.

        `before` is how many are in front of `position`, where that is known. ScanLimitError when it is further away
        than `most` bytes of data.
        """
        if not lines:
            return position, 0
        encoding, passed, scanned = self.encoding, 0, self._scanned
        for start, block in self._blocks(position):
            here = encoding.count_lines(block)
            if passed + here >= lines:
                end = 0
                for _ in range(lines - passed):
                    end = encoding.find_newline(block, end) + encoding.width
                return start + end, lines
            passed += here
            if before is not None:
                self._reach(start + len(block), before + passed)
            if most is not None and self._scanned - scanned > most:
                raise ScanLimitError
        return self.size, passed

    def ends_with_newline(self) -> bool:
        """Whether the last line is a whole one."""
        newline = self.encoding.encoded("\n")
        if self.size % self.encoding.width:  # the last character is cut off, and all before it lies askew from the end
            return False
        return self._read(max(0, self.size - len(newline)), len(newline)) == newline

    def start_of_last(self, lines: int) -> tuple[int, int]:
        """Where the last `lines` lines begin, and how many there are, found from the end."""
        width, at_end = self.encoding.width, self.ends_with_newline()
        wanted = lines + at_end  # the newline at the very end begins no line
        for start, block in self._blocks_back():
            here = self.encoding.count_lines(block)
            if here < wanted:
                wanted -= here
                continue
            end = len(block)
            for _ in range(wanted - 1):
                end = self.encoding.find_last_newline(block, end)
            return start + self.encoding.find_last_newline(block, end) + width, lines
        return self.encoding.mark, lines - wanted + 1

    def _read(self, position: int, length: int) -> bytes:
        data = os.pread(self.descriptor, length, position)
        while len(data) < length and (more := os.pread(self.descriptor, length - len(data), position + len(data))):
            data += more  # some file systems give less than was asked for
        return data

    def _blocks(self, position: int, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        while True:
            if self._has_holes:
                position = self._next_data(position)
            size = _BLOCK if end is None else min(_BLOCK, end - position)
            if size <= 0 or not (block := self._read(position, size)):
                return
            self._scanned += len(block)
            yield position, block
            self._check_time()  # after a block, so that every call gets further
            position += len(block)

    def _blocks_back(self) -> Iterator[tuple[int, bytes]]:
        end, size = self.size, _BLOCK
        while end > 0:
            start = max(0, (end - 1) // _BLOCK * _BLOCK - (size - _BLOCK))
            if self._has_holes and self._next_data(start) >= end:
                end, size = start, size * 2  # a hole, and perhaps a large one
            elif size > _BLOCK:
                size //= 2
            else:
                block = self._read(start, end - start)
                yield start, block
                self._check_time()
                end = start

    def _next_data(self, position: int) -> int:
        try:
            return os.lseek(self.descriptor, position, os.SEEK_DATA)
        except OSError as error:
            return self.size if error.errno == errno.ENXIO else position  # no data from here on

    def _check_time(self) -> None:
        if self._context.cancelled:
            self._mark(is_stop=True)
            raise ToolError("nobody waits for this call any longer", "cancelled")
        if monotonic() >= self._ends:
            self._mark(is_stop=True)
            raise ScanLimitError

    def _reach(self, position: int, newlines: int) -> None:
        self.reached = position, newlines
        if position - self._marked >= SPACING:
            self._mark(is_stop=False)

    def _mark(self, *, is_stop: bool) -> None:
        position, newlines = self.reached
        self._marked = position
        self._index.add(self._stamp, Mark(position, newlines, self._before(position)), is_stop=is_stop)

    def _last(self, fits: Callable[[Mark], bool]) -> tuple[int, int]:
        """The last place that fits among those that are known, and how many newlines are in front of it."""
        mark = self._index.last(self._stamp, fits)
        if mark is not None and mark.before != self._before(mark.position):
            self._index.forget(self._stamp)  # the file was changed in a way that its times do not tell
            mark = None
        self.reached = (self.encoding.mark, 0) if mark is None else (mark.position, mark.newlines)
        self._marked = self.reached[0]
        return self.reached

    def _before(self, position: int) -> bytes:
        length = min(_BEFORE, position)
        return os.pread(self.descriptor, length, position - length)


def read_into(descriptor: int, buffer: memoryview, position: int) -> int:
    """Fill a buffer from a position on; the number of bytes is 0 at the end of the file."""
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [buffer], position)
    block = os.pread(descriptor, len(buffer), position)  # older macOS
    buffer[: len(block)] = block
    return len(block)
