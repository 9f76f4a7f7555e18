"""Markdown of the model as text for a terminal, while it arrives."""

from __future__ import annotations

import io
import os

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.theme import Theme

from tools_core.text import visible

# The 16 colors of the terminal, which the user has chosen for a light or a dark background.
_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold italic",
        "markdown.code": "cyan",
        "markdown.code_block": "default",
        "markdown.block_quote": "italic",
        "markdown.link": "blue",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
        "markdown.item.number": "default",
    }
)
_PARSER = MarkdownIt().enable("table")
_INDENT = (0, 0, 0, 2)  # only the chat writes in the first columns


class _LeftHeading(Heading):
    LEVEL_ALIGN = {}  # noqa: RUF012  (as in rich)  (rich reads it from the class)


class _DenseCode(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 2))


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _LeftHeading, "fence": _DenseCode, "code_block": _DenseCode}  # noqa: RUF012  (rich reads it from the class)


def render(text: str, width: int) -> str:
    """Return Markdown as lines with escape sequences for styles; an escape sequence in the text is visible."""
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    theme = "ansi_dark" if background in ("0", "8") else "ansi_light"
    # A terminal would hide the addresses of hyperlinks: they are text.
    markdown = _Markdown(visible(text, keep_layout=True).strip("\n"), code_theme=theme, hyperlinks=False)
    file = io.StringIO()
    console = Console(
        file=file, width=max(width, 20), theme=_THEME, highlight=False, emoji=False, markup=False,
        force_terminal=True, color_system="standard", legacy_windows=False,
    )  # fmt: skip
    console.print(Padding(markdown, _INDENT), end="")
    return file.getvalue().rstrip() + "\n"


def split_blocks(text: str) -> tuple[str, str]:
    """Return the Markdown blocks that are complete, and the last block, which may continue."""
    starts = [token.map[0] for token in _PARSER.parse(text) if token.level == 0 and token.map and token.nesting >= 0]
    if len(starts) < 2:
        return "", text
    lines = text.split("\n")
    return "\n".join(lines[: starts[-1]]), "\n".join(lines[starts[-1] :])
