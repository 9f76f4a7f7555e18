"""`HeadTail`: the first and the last bytes of a stream."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from tools_shell._output._text import decoded, incomplete_end, incomplete_start

KEEP = 64 * 1024
_MOST_CHUNKS = 64  # many small chunks would take more memory than their content


class Text(NamedTuple):
    """A stream as text; `omitted` counts the bytes that are missing between head and tail."""

    text: str
    omitted: int = 0
    is_utf8: bool = True


class HeadTail:
    """The first and the last `keep` bytes of a stream, in memory that does not grow with the stream."""

    __slots__ = ("_head", "_keep", "_tail", "_tail_size", "size")

    def __init__(self, keep: int = KEEP) -> None:
        self.size = 0
        self._keep = keep
        self._head = bytearray()
        self._tail: deque[bytes] = deque()  # chunks as they came: joining them each time would copy the whole tail
        self._tail_size = 0

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        room = self._keep - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk)
        self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0]) >= self._keep:
            self._tail_size -= len(self._tail.popleft())
        if len(self._tail) > _MOST_CHUNKS:
            joined = b"".join(self._tail)[-self._keep :]
            self._tail, self._tail_size = deque([joined]), len(joined)

    def text(self) -> Text:
        """Decode what was kept; a line between head and tail counts the omitted bytes."""
        head, tail = bytes(self._head), b"".join(self._tail)
        if self.size <= 2 * self._keep:
            return Text(*_spread(decoded(head + tail)))
        head = head[: len(head) - incomplete_end(head)]
        tail = tail[-self._keep :]
        tail = tail[incomplete_start(tail) :]
        omitted = self.size - len(head) - len(tail)
        (first, first_ok), (last, last_ok) = decoded(head), decoded(tail)
        return Text(f"{first}\n[... {omitted:,} bytes omitted ...]\n{last}", omitted, first_ok and last_ok)


def _spread(found: tuple[str, bool]) -> tuple[str, int, bool]:
    return found[0], 0, found[1]
