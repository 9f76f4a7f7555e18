"""Styled lines: text that cannot control a terminal, with a style that each front end draws in its own way."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from tools_core.text import visible

Style = Literal["title", "text", "added", "removed", "hunk", "note", "error"]

_CODES = {"title": "1", "added": "32", "removed": "31", "hunk": "36", "note": "2", "error": "31"}


class Line(NamedTuple):
    """A line of output: `margin` is the program's own, `text` may come from a model or a tool."""

    style: Style
    text: str
    margin: str = ""

    @classmethod
    def of(cls, style: Style, text: str, margin: str = "") -> Line:
        """Return a line with tabs as spaces, and with escapes for line ends and invisible characters."""
        text = visible(text.expandtabs(4), keep_layout=True)
        return cls(style, text.replace("\n", "\\n").replace("\r", "\\r"), margin)


def block(text: str, margin: str = "  │ ", style: Style = "text") -> list[Line]:
    """Return a text with its own line breaks, each line with a margin that the text cannot imitate."""
    return [Line.of(style, line, margin) for line in text.removesuffix("\n").split("\n")]


def draw(lines: Iterable[Line], *, color: bool = False, width: int | None = None) -> str:
    """Return lines as text, with ANSI colors if asked. With a width, long lines continue behind their margin."""
    rows = []
    for line in lines:
        code = _CODES.get(line.style) if color else None
        parts = _wrapped(line.text, width - _cells(line.margin) - 1 if width else None)
        rows += [line.margin + (f"\x1b[{code}m{part}\x1b[0m" if code and part else part) for part in parts]
    return "\n".join(row.rstrip() for row in rows)


def _wrapped(text: str, width: int | None) -> Iterator[str]:
    """Yield the parts of a line that fit the width."""
    if width is None or len(text) * 2 <= width:
        yield text
        return
    start = used = space = 0  # `space` follows the last space, behind which a line may break
    for index, char in enumerate(text):
        cells = _cells(char)
        if used + cells > max(width, 20):
            end = space if space - start > width // 2 else index
            yield text[start:end]
            start, used = end, _cells(text[end:index])
        used += cells
        if char == " ":
            space = index + 1
    yield text[start:]


def _cells(text: str) -> int:
    """Return the columns that a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
