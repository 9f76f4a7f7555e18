"""`Ring`: the last characters of a stream, addressed by position."""

from __future__ import annotations

from collections import deque

_MOST_PARTS = 64  # join small chunks, which have a high overhead


class Ring:
    """Keeps the last `size` characters; positions count from the start of the stream."""

    def __init__(self, size: int) -> None:
        self.end = 0  # characters written so far
        self._size = size
        self._parts: deque[str] = deque()
        self._kept = 0  # characters in the chunks

    @property
    def start(self) -> int:
        """The first position that can still be read."""
        return max(0, self.end - self._size)

    def add(self, text: str) -> None:
        if not text:
            return
        self._parts.append(text)
        self._kept += len(text)
        self.end += len(text)
        while self._kept - len(self._parts[0]) >= self._size:
            self._kept -= len(self._parts.popleft())
        if len(self._parts) > _MOST_PARTS:
            self.read(self.end, 0)

    def read(self, position: int, limit: int) -> str:
        """Return up to `limit` characters from a position, or from the first one that is kept."""
        kept = "".join(self._parts)[-self._size :]
        self._parts, self._kept = deque([kept]), len(kept)
        at = max(position - self.start, 0)
        return kept[at : at + limit]
