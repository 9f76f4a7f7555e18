"""`Output`: everything that one command writes."""

from __future__ import annotations

from tools_shell._output._redactor import RedactedStream, Redactor
from tools_shell._output._ring import Ring
from tools_shell._output._text import printable

KEEP = 64 * 1024  # characters of the beginning, and as many of the end
SHOWN = 30_000  # characters that a model reads


class HeadTail:
    """The first and the last `keep` characters of a stream, in memory that does not grow with the stream."""

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
        """The number of characters that are missing between head and tail."""
        return self._tail.start

    @property
    def text(self) -> str:
        """The text that was kept; a line between head and tail counts what is missing."""
        gap = f"\n[... {self.omitted:,} characters omitted ...]\n" if self.omitted else ""
        return printable(f"{self._head}{gap}{self._tail.read(0, self._keep)}")


class Output:
    """Standard output and error, each by itself for programs, and merged in order of arrival for models."""

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
        """Add what was held back; nothing follows."""
        for number in range(2):
            self._add(number, b"", is_last=True)
