"""Render replies, tool calls and diffs: text of models and tools can neither control the terminal nor imitate the chat.

Escape sequences are visible, and the text is indented: only the chat writes in the first column.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from tools_agent._terminal._style import Line, Style, block, draw
from tools_core import InvalidArguments, Result, ToolCall
from tools_core.command import counted
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
        "user": "bold",
        "tool": "bold",
        "note": "dim",
        "good": "green",
        "bad": "red",
        "ask": "yellow",
        "preview": "magenta",
    }
)
_DIFF_STYLES: Mapping[str, Style] = {"+": "added", "-": "removed", "@": "hunk"}
_PARSER = MarkdownIt().enable("table")
_INDENT = 2  # columns


class _LeftHeading(Heading):
    LEVEL_ALIGN = {}  # noqa: RUF012  (as in rich)


class _DenseCode(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 2))


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _LeftHeading, "fence": _DenseCode, "code_block": _DenseCode}  # noqa: RUF012


class Painter:
    """Turns renderables into text for the terminal; `is_plain` leaves out colors and Markdown."""

    def __init__(self, *, is_plain: bool) -> None:
        self.is_plain = is_plain
        background = os.environ.get("COLORFGBG", "").rpartition(";")[2]  # 0 to 6 and 8 are dark
        self.code_theme = "ansi_dark" if background in ("0", "8") else "ansi_light"

    def paint(self, renderable: RenderableType, width: int) -> str:
        """Return the text of a renderable, with escape sequences for styles unless the terminal is plain."""
        file = io.StringIO()
        console = Console(
            file=file, width=max(width, 20), theme=_THEME, highlight=False, emoji=False, markup=False,
            force_terminal=not self.is_plain, color_system=None if self.is_plain else "standard", legacy_windows=False,
        )  # fmt: skip
        lines = console.render_lines(renderable, pad=False)
        while lines and _is_blank(lines[-1]):  # Markdown leaves lines free at its end
            lines.pop()
        for line in lines:
            console.print(Segments([*line, Segment.line()]), end="")
        text = file.getvalue()
        return "".join(f"{line.rstrip()}\n" for line in text.splitlines()) if self.is_plain else text

    def markdown(self, text: str) -> RenderableType:
        """Return a reply of the model, as Markdown unless the terminal is plain."""
        escaped = visible(text, keep_layout=True).strip("\n")
        if self.is_plain:
            return indented(Text(escaped))
        # Links are text with the address behind it: a terminal would hide where they lead.
        return indented(_Markdown(escaped, code_theme=self.code_theme, hyperlinks=False))

    def lines(self, lines: Sequence[Line], width: int) -> RenderableType:
        """Return lines whose text cannot imitate their margin."""
        return Text.from_ansi(draw(lines, color=not self.is_plain, width=width))


def _is_blank(line: list[Segment]) -> bool:
    return not any(segment.text.strip() for segment in line)


def indented(renderable: RenderableType) -> RenderableType:
    """Return a renderable without the first columns, which are the chat's."""
    return Padding(renderable, (0, 0, 0, _INDENT))


def split_blocks(text: str) -> tuple[str, str]:
    """Return the Markdown blocks that are complete, and the last block, which may continue."""
    starts = [token.map[0] for token in _PARSER.parse(text) if token.level == 0 and token.map and token.nesting >= 0]
    if len(starts) < 2:
        return "", text
    lines = text.split("\n")
    return "\n".join(lines[: starts[-1]]), "\n".join(lines[starts[-1] :])


def call_line(mark: str, style: str, name: str, arguments: Any, detail: str, width: int) -> RenderableType:
    """Return a tool call on one line: its name, its arguments as far as they fit, and a detail such as its duration."""
    space = width - cell_len(f"{mark} {visible(name)}  {detail}") - 1
    summary = cropped(short_arguments(arguments), space)
    summary = f" {summary}" if summary else ""
    return Text.assemble((f"{mark} ", style), (visible(name), "tool"), summary, (f" {detail}", "note"))


def short_arguments(arguments: Any) -> str:
    """Return arguments on one line: the value of a single text, else `name=value` pairs."""
    if not isinstance(arguments, Mapping):
        return visible(str(arguments or ""))
    values = list(arguments.values())
    if len(values) == 1 and isinstance(values[0], str):
        return visible(values[0])
    return visible(" ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()))


def arguments_of(call: ToolCall) -> Any:
    """Return the arguments of a call, or the model's text if it is not valid."""
    try:
        return call.arguments
    except InvalidArguments:
        return call.raw_arguments


def folded(result: Result, width: int) -> RenderableType:
    """Return the first line of a result, and the number of its other lines."""
    lines = [line for line in str(result).splitlines() if line.strip()] or ["(no output)"]
    more = f"  +{counted(len(lines) - 1, 'line')}" if len(lines) > 1 else ""
    first = cropped(visible(lines[0].strip().expandtabs(4)), width - _INDENT - len(more) - 2)
    return indented(Text.assemble(("└ ", "note"), (first, "note" if result.ok else "bad"), (more, "note")))


def whole_call(name: str, arguments: Any, result: Result) -> list[Line]:
    """Return a call uncut: each argument with its line breaks, and the result."""
    lines = [Line.of("title", name)]
    for key, value in arguments.items() if isinstance(arguments, Mapping) else [("arguments", arguments)]:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        lines += [Line.of("note", f"{key}:", "  "), *block(text)]
    return [*lines, Line.of("note", "result:", "  "), *block(str(result), style="text" if result.ok else "error")]


def diff_lines(text: str) -> list[Line]:
    """Return the lines of a unified diff."""
    return [Line.of(_DIFF_STYLES.get(line[:1], "text"), line, "  │ ") for line in text.split("\n")]


def cropped(text: str, width: int) -> str:
    """Return text that fits into a number of columns; a longer one ends with an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…" if width > 1 else ""


def seconds(duration: float) -> str:
    """Return a duration: `0.4 s`, `12 s`, `2:05 min`."""
    if duration < 10:
        return f"{duration:.1f} s"
    return f"{duration:.0f} s" if duration < 100 else f"{int(duration) // 60}:{int(duration) % 60:02} min"
