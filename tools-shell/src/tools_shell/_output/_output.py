"""`Output`: the output of one command."""

from __future__ import annotations

from tools_shell._output._redactor import RedactedStream, Redactor
from tools_shell._output._ring import Ring
from tools_shell._output._text import printable

KEEP = 64 * 1024  # characters of the head, and as many of the tail
SHOWN = 30_000  # characters shown to the model


class HeadTail:
    """Keeps the first and the last `keep` characters of a stream in bounded memory."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep = keep
        self._head = ""
        self._tail = Ring(keep)

    def add(self, text: str) -> None:
        room = self._keep - len(self._head)
        if room > 0:
            self._head += text[:room]
        if len(text) > room:
            self._tail.add(text[room:])

    @property
    def omitted(self) -> int:
        """Return the number of characters that are missing between head and tail."""
        return self._tail.start

    @property
    def text(self) -> str:
        """Return the head and the tail, with a line between them that counts the missing characters."""
        gap = f"\n[... {self.omitted:,} characters omitted ...]\n" if self.omitted else ""
        return printable(f"{self._head}{gap}{self._tail.read(0, self._keep)}")


class Output:
    """Standard output and error: separate for programs, and merged in order of arrival for models."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        redactor = redactor or Redactor()
        self.stdout, self.stderr, self.merged = HeadTail(), HeadTail(), HeadTail(SHOWN // 2)
        self._streams = [(self.stdout, RedactedStream(redactor)), (self.stderr, RedactedStream(redactor))]

    def add_stdout(self, chunk: bytes) -> None:
        self._add(0, chunk)

    def add_stderr(self, chunk: bytes) -> None:
        self._add(1, chunk)

    def _add(self, number: int, chunk: bytes, *, is_last: bool = False) -> None:
        kept, stream = self._streams[number]
        text = stream.feed(chunk, is_last=is_last)
        kept.add(text)
        self.merged.add(text)

    def finish(self) -> None:
        """Add text that was held back, at the end of the streams."""
        for number in range(2):
            self._add(number, b"", is_last=True)
