"""The end of a reply that still grows: its complete blocks are taken off, the rest is shown while it changes."""

from __future__ import annotations

from tools_cli._chat.markdown import render, split_blocks

_SMALL = 4_000  # characters below which each line is parsed
_GROWTH = 1.5  # a long block is parsed again after it has grown by this factor, so that the work stays linear


class LiveReply:
    """Markdown text that arrives in pieces."""

    def __init__(self) -> None:
        self._text, self._next = "", 0
        self._view = ("", 0, 0, "")  # the last text, columns, rows and view

    def feed(self, text: str) -> str:
        """Add a piece, and return the blocks that are complete."""
        self._text += text
        if "\n" not in text or len(self._text) < self._next:
            return ""
        complete, self._text = split_blocks(self._text)
        self._next = int(len(self._text) * _GROWTH) if len(self._text) > _SMALL else 0
        return complete

    def take(self) -> str:
        """Return the rest, and forget it."""
        text, self._text, self._next = self._text, "", 0
        return text

    def view(self, columns: int, rows: int) -> str:
        """Return the last rows as they look now; only as much of a long text is rendered as may be visible."""
        if self._view[:3] != (self._text, columns, rows):
            text = self._tail(columns * rows, rows * 3)
            view = "\n".join(render(text, columns).split("\n")[-rows:]) if text.strip() else ""
            self._view = (self._text, columns, rows, view)
        return self._view[3]

    def _tail(self, size: int, lines: int) -> str:
        """Return the end of the text, whole lines if possible; the end of code stays code."""
        text = self._text
        if len(text) <= size and text.count("\n") <= lines:
            return text
        first = text.lstrip().partition("\n")[0]
        tail = "\n".join(text[-size:].split("\n")[-lines:])
        return f"{first}\n{tail}" if first.startswith(("```", "~~~")) else tail
