"""`Ring`: the last bytes of a stream, found by their absolute position."""

from __future__ import annotations

KEEP = 1 << 20  # bytes


class Ring:
    """Keeps the last `size` bytes; positions count from the first byte ever written."""

    def __init__(self, size: int = KEEP) -> None:
        self.end = 0  # bytes that were written
        self._size = size
        self._memory = bytearray()  # grows up to `size`; the byte at position p is at p modulo size

    @property
    def start(self) -> int:
        """The first position that can still be read."""
        return max(0, self.end - self._size)

    def add(self, data: bytes) -> None:
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
        """Return at most `limit` bytes from a position on; nothing of what is no longer kept."""
        position = max(position, self.start)
        length = max(min(position + limit, self.end) - position, 0)
        at = position % self._size
        part = bytes(self._memory[at : at + length])
        return part + bytes(self._memory[: length - len(part)])
