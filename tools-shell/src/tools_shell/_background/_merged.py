"""What a background job writes, both streams as one in the order of arrival: the last of it, or all of it on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from tools_shell._background._order import Order
from tools_shell._background._ring import Ring
from tools_shell._text import split_at_end

if TYPE_CHECKING:
    from tools_shell._secrets import Redactor

Stream: TypeAlias = Literal["both", "stdout", "stderr"]

_BLOCK = 1 << 16


class Merged:
    """Positions in it count the bytes of both streams, from the first one on; who uses it holds the job's lock."""

    def __init__(self, redactor: Redactor, *, keep_all: bool) -> None:
        self.redactor = redactor
        self._ring = Ring(spill=keep_all)
        self._order = Order("stdout", "stderr")
        self._begun = {"stdout": b"", "stderr": b""}  # a character whose other bytes have not come yet
        self._last = {"both": 0, "stdout": 0, "stderr": 0}  # the end of what has come

    def add(self, name: str, chunk: bytes) -> None:
        """Take what one stream brings; a character is never torn apart by the other stream."""
        data = self._begun[name] + chunk
        whole = len(data) - split_at_end(data)
        self._begun[name] = data[whole:]
        self._write(name, data[:whole])

    def _write(self, name: str, data: bytes) -> None:
        if data:
            self._order.add(name, self._ring.end)
            self._ring.add(data)
            self._order.forget(self._ring.start)
            self._last[name] = self._last["both"] = self._ring.end

    def finish(self) -> None:
        """No more will come."""
        for name, data in self._begun.items():
            self._write(name, data)
            self._begun[name] = b""

    def start(self, stream: Stream) -> int:
        """The first position that can still be read."""
        return self._ring.start if stream == "both" else max(self._ring.start, self._order.known_from)

    def end(self, stream: Stream) -> int:
        """The end of what has come of a stream."""
        return self._last[stream]

    def back(self, count: int, stream: Stream) -> int:
        """Where the last `count` bytes of a stream begin, or those of them that can still be read."""
        end = self._last[stream]
        begin = end - count if stream == "both" else self._order.back(stream, end, count)
        return max(begin, self.start(stream))

    def take(self, position: int, limit: int, stream: Stream) -> tuple[bytes, int]:
        """So many bytes of a stream at most, and the position after them; `position` is one that can be read."""
        if stream == "both":
            data = self._ring.read(position, limit)
            return data, position + len(data)
        parts: list[bytes] = []
        end = self._last[stream]
        while limit > 0 and position < end:
            block = self._ring.read(position, min(_BLOCK, end - position))
            part, position = self._order.select(stream, position, block, limit)
            parts.append(part)
            limit -= len(part)
        return b"".join(parts), position

    def before(self, position: int, stream: Stream) -> tuple[bytes, bool]:
        """What a stream has just before a position, as much as a secret may be long; and whether that is all."""
        start = max(position - self.redactor.longest - 4, self.start(stream))
        data = self._ring.read(start, position - start)
        return data if stream == "both" else self._order.select(stream, start, data, len(data))[0], start == 0
