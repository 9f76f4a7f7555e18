"""The last bytes of a stream that goes on: positions are absolute, and what has fallen out is counted."""

from __future__ import annotations

import errno
import os
import weakref
from contextlib import suppress

KEEP = 1 << 20  # bytes in memory
KEEP_ON_DISK = 1 << 28


class Ring:
    """At most `size` bytes are kept in memory; who uses it holds a lock, as that of the job.

    With `spill` a nameless file keeps more, at most `spill_size` bytes of it. Where that fails, as on a full disk, it
    goes on without: then `start` says so.
    """

    def __init__(self, size: int = KEEP, *, spill: bool = False, spill_size: int = KEEP_ON_DISK) -> None:
        self.end = 0  # how much was written in all
        self._size = size
        self._memory = bytearray()  # grows up to `size`; the byte at position p is at p modulo size
        self._spill: int | None = None
        self._spill_size = spill_size
        if spill:
            with suppress(OSError):  # no folder takes a file
                self._spill = _file_on_disk()
                self._close_spill = weakref.finalize(self, os.close, self._spill)

    @property
    def start(self) -> int:
        """The first position that can still be read."""
        return max(0, self.end - (self._size if self._spill is None else max(self._size, self._spill_size)))

    def add(self, data: bytes) -> None:
        """Take what comes next; the oldest makes room for it."""
        self._keep_on_disk(data)
        rest = memoryview(data)
        room = self._size - len(self._memory)
        self._memory += rest[:room]
        rest = rest[room:][-self._size :]
        self.end += len(data)
        at = (self.end - len(rest)) % self._size
        first, second = rest[: self._size - at], rest[self._size - at :]
        self._memory[at : at + len(first)] = first
        self._memory[: len(second)] = second

    def read(self, position: int, limit: int) -> bytes:
        """At most so many bytes from a position on; empty where there is nothing yet, or nothing any more."""
        end = min(position + limit, self.end)
        if position < self.start or end <= position:
            return b""
        if position >= self.end - self._size:
            return self._from_memory(position, end)
        return self._from_disk(position, end)

    def _keep_on_disk(self, data: bytes) -> None:
        if self._spill is None:
            return
        rest, position = memoryview(data)[-self._spill_size :], self.end + max(0, len(data) - self._spill_size)
        try:
            while rest:
                at = position % self._spill_size
                written = os.pwrite(self._spill, rest[: self._spill_size - at], at)
                rest, position = rest[written:], position + written
        except OSError:  # the disk is full
            self._go_without()

    def _go_without(self) -> None:
        """Leave the disk to others: what is in memory is not lost, and `start` tells the rest."""
        self._spill = None
        self._close_spill()

    def _from_memory(self, position: int, end: int) -> bytes:
        at, length = position % self._size, end - position
        part = bytes(self._memory[at : at + length])
        return part + bytes(self._memory[: length - len(part)])

    def _from_disk(self, position: int, end: int) -> bytes:
        parts = []
        while position < end and self._spill is not None:
            at = position % self._spill_size
            part = os.pread(self._spill, min(end - position, self._spill_size - at), at)
            if not part:
                self._go_without()
                raise OSError(errno.EIO, "somebody has cut off the file with the output: read again what is left")
            parts.append(part)
            position += len(part)
        return b"".join(parts)


def _file_on_disk() -> int:
    """A file without a name; not `nameless_file`, which is memory where it can be."""
    import tempfile  # for those who ask for a file

    descriptor, path = tempfile.mkstemp(prefix="tools-shell-")
    os.unlink(path)
    return descriptor
