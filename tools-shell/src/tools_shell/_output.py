"""`Output`: the bounded output of one command, and `Ring`: the last characters of a stream."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from tools_shell._redactor import RedactedStream, Redactor, printable, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_core import Context

KEEP = 128 * 1024  # characters for programs, half of them from the head and half from the tail
MAX_SHOWN = 30_000  # characters shown to the model
_MAX_NEWS = 2_000  # characters of output in a progress report
_MAX_PARTS = 64  # join small chunks, which have a high overhead


class Ring:
    """Keeps the last `size` characters; positions count from the start of the stream."""

    def __init__(self, size: int) -> None:
        self.end = 0  # characters written so far
        self._size = size
        self._parts: deque[str] = deque()
        self._size_of_parts = 0  # characters in the chunks

    @property
    def start(self) -> int:
        """The first position that can still be read."""
        return max(0, self.end - self._size)

    def add(self, text: str) -> None:
        if not text:
            return
        self._parts.append(text)
        self._size_of_parts += len(text)
        self.end += len(text)
        while self._size_of_parts - len(self._parts[0]) >= self._size:
            self._size_of_parts -= len(self._parts.popleft())
        if len(self._parts) > _MAX_PARTS:
            self.read(self.end, 0)

    def read(self, position: int, limit: int) -> str:
        """Return up to `limit` characters from a position, or from the first available one."""
        text = "".join(self._parts)[-self._size :]
        self._parts, self._size_of_parts = deque([text]), len(text)
        at = max(position - self.start, 0)
        return text[at : at + limit]


class Output:
    """The output of a command in order, without secrets; long output is reduced to head and tail."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._stream = RedactedStream(redactor or Redactor())
        self._head = ""
        self._tail = Ring(KEEP // 2)
        self._news = Ring(_MAX_NEWS)
        self._reported, self._report_time = 0, 0.0

    def add(self, chunk: bytes, *, is_last: bool = False) -> None:
        """Add bytes as the command wrote them."""
        text = self._stream.feed(chunk, is_last=is_last)
        self._news.add(text)
        room = KEEP // 2 - len(self._head)
        if room > 0:
            self._head += text[:room]
        if len(text) > room:
            self._tail.add(text[room:])

    def finish(self) -> None:
        """Add the incomplete rest at the end of the stream."""
        self.add(b"", is_last=True)

    def watch(self, context: Context) -> Callable[[], bool]:
        """Return a check for cancellation, which also reports new output as progress, at most once a second."""

        def is_cancelled() -> bool:
            now = time.monotonic()
            if self._news.end > self._reported and now - self._report_time >= 1:
                news = self._news.read(self._reported, _MAX_NEWS)
                self._reported, self._report_time = self._news.end, now
                context.progress(self._reported, message=printable(news))
            return context.cancelled

        return is_cancelled

    @property
    def omitted(self) -> int:
        """The number of characters that are not kept."""
        return max(len(self._head) + self._tail.end - KEEP, 0)

    def text(self) -> str:
        """Return the output; over `KEEP` characters, head and tail with the number of omitted characters."""
        tail = self._tail.read(0, KEEP)
        gap = f"\n[... {self.omitted:,} characters omitted ...]\n" if self.omitted else ""
        return printable(self._head + gap + tail)

    def page(self, limit: int) -> tuple[str, int]:
        """Return the output as a terminal shows it, up to `limit` characters, and how many are left out."""
        head, tail = self._head, self._tail.read(0, KEEP)
        text = shown(head + tail) if not self.omitted else ""
        if not self.omitted and len(text) <= limit:
            return text, 0
        first, last = (shown(head), shown(tail)) if self.omitted else (text, text)
        omitted = self.omitted + max(len(first) + len(last) if self.omitted else len(text), limit) - limit
        half = limit // 2
        return f"{first[: limit - half]}\n[... {omitted:,} characters omitted ...]\n{last[len(last) - half :]}", omitted
