"""`Output`: the output of one command."""

from __future__ import annotations

from tools_shell._output._redactor import RedactedStream, Redactor
from tools_shell._output._ring import Ring
from tools_shell._output._text import printable

KEEP = 128 * 1024  # characters for programs, half of them from the head and half from the tail
SHOWN = 30_000  # characters shown to the model


class Output:
    """The output of a command in order, without secrets; of long output the head and the tail are kept."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._stream = RedactedStream(redactor or Redactor())
        self._head = ""
        self._tail = Ring(KEEP // 2)

    def add(self, chunk: bytes, *, is_last: bool = False) -> None:
        """Add bytes as the command wrote them."""
        text = self._stream.feed(chunk, is_last=is_last)
        room = KEEP // 2 - len(self._head)
        if room > 0:
            self._head += text[:room]
        if len(text) > room:
            self._tail.add(text[room:])

    def finish(self) -> None:
        """Add text that was held back, at the end of the stream."""
        self.add(b"", is_last=True)

    def omitted(self, limit: int = KEEP) -> int:
        """Return the number of characters that `text` leaves out."""
        return max(len(self._head) + self._tail.end - limit, 0)

    def text(self, limit: int = KEEP) -> str:
        """Return the output; beyond `limit` characters head and tail, and between them a line with their distance."""
        kept = self._head + self._tail.read(0, KEEP)
        if omitted := self.omitted(limit):
            kept = f"{kept[: limit // 2]}\n[... {omitted:,} characters omitted ...]\n{kept[-limit // 2 :]}"
        return printable(kept)
