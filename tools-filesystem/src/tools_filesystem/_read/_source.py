"""An open file, read by position in blocks: memory depends on neither its size nor its lines."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from tools_core import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core import Context
    from tools_filesystem._read._encoding import Encoding

SCAN = 4 << 30  # bytes that are looked through in one call; holes of a sparse file cost nothing
_BLOCK = 256 * 1024  # a multiple of every code unit
_KEPT = 128 * 1024


class ScanLimitError(Exception):
    """More was to be looked through than one call may."""


class Source:
    """Positions of lines in an open file; every position is one of a whole code unit."""

    def __init__(self, descriptor: int, encoding: Encoding, context: Context) -> None:
        found = os.fstat(descriptor)
        self.descriptor = descriptor
        self.encoding = encoding
        self.size = found.st_size
        self.left = SCAN
        self._context = context
        self._has_holes = found.st_blocks * 512 < found.st_size and hasattr(os, "SEEK_DATA")
        self._kept, self._kept_at = b"", 0

    def peek(self, position: int, length: int) -> bytes:
        """Some bytes, fewer only at the end of the file; those around them are kept for the next call."""
        start = position - self._kept_at
        if start < 0 or start + length > len(self._kept):
            self._kept, self._kept_at = self._read(position, max(length, _KEPT)), position
            start = 0
        return self._kept[start : start + length]

    def pass_lines(self, position: int, lines: int, most: int | None = None) -> tuple[int, int]:
        """The position behind the next `lines` newlines, and how many were passed: fewer only at the end.

        ScanLimitError when it is further away than `most` bytes of data.
        """
        if not lines:
            return position, 0
        encoding, passed, before = self.encoding, 0, self.left
        for start, block in self._blocks(position):
            here = encoding.count_lines(block)
            if passed + here >= lines:
                end = 0
                for _ in range(lines - passed):
                    end = encoding.find_newline(block, end) + encoding.width
                return start + end, lines
            passed += here
            if most is not None and before - self.left > most:
                raise ScanLimitError
        return self.size, passed

    def count_lines(self, position: int, end: int) -> int:
        """How many newlines there are from `position` to `end`."""
        return sum(self.encoding.count_lines(block) for _, block in self._blocks(position, end))

    def ends_with_newline(self) -> bool:
        """Whether the last line is a whole one."""
        newline = self.encoding.encoded("\n")
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
            self._spend(len(block))
            yield position, block
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
                self._spend(len(block))
                yield start, block
                end = start

    def _next_data(self, position: int) -> int:
        try:
            return os.lseek(self.descriptor, position, os.SEEK_DATA)
        except OSError as error:
            return self.size if error.errno == errno.ENXIO else position  # no data from here on

    def _spend(self, length: int) -> None:
        self.left -= length
        if self.left < 0:
            raise ScanLimitError
        if self._context.cancelled:
            raise ToolError("nobody waits for this call any longer", "cancelled")


def read_into(descriptor: int, buffer: memoryview, position: int) -> int:
    """Fill a buffer from a position on; the number of bytes is 0 at the end of the file."""
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [buffer], position)
    block = os.pread(descriptor, len(buffer), position)  # older macOS
    buffer[: len(block)] = block
    return len(block)
