"""Render text of models and tools: Markdown, diffs and content blocks, without any HTML of theirs."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup, escape

from tools_core import Block, Result
from tools_studio._snippets import pretty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")  # an <img> runs no script of an SVG
_MARKDOWN = re.compile(r"^(#{1,6} |```|[-*] .*\n[-*] |\|.*\|\n\|[ :|-]+\|)|\*\*\S|\]\(http", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", re.MULTILINE)
_DIFF_CLASSES = (("+++", "file"), ("---", "file"), ("@@", "hunk"), ("+", "added"), ("-", "removed"))
_PER = {"minute": 60, "hour": 24, "day": 7}
_MAX_ITEMS = 5  # of a list in a setting
MAX_TEXT = 200_000  # characters that a page shows


class Part(NamedTuple):
    """A part of a result: `kind` is text, markdown, diff, image, audio or file."""

    kind: str
    text: str = ""
    url: str = ""


def parts_of(result: Result) -> Iterator[Part]:
    """Yield the content that the model reads, in parts that a page can show."""
    content = result.content
    for block in [content] if isinstance(content, str) else content:
        if isinstance(block, Block):
            yield _part_of_block(block)
        else:
            kind = "diff" if _HUNK.search(block) else "markdown" if _MARKDOWN.search(block) else "text"
            yield Part(kind, clipped(block))


def program_text(result: Result) -> str:
    """Return what a program gets, as JSON text with blocks described instead of their bytes."""
    if not result.ok:
        return clipped(pretty({"error": result.error, "type": result.error_type}))
    return clipped(pretty(_described(Result.from_dict(result.to_dict()).output)))  # plain, at any depth


def clipped(text: str) -> str:
    """Return a text, or its beginning if it is too long for a page."""
    hidden = len(text) - MAX_TEXT
    return text if hidden <= 0 else f"{text[:MAX_TEXT]}\n… {hidden:,} more characters"


def markdown(text: str) -> Markup:
    """Return Markdown as HTML. HTML in it stays text, and it loads no images."""
    return Markup(_parser().render(clipped(text)))  # noqa: S704  (the parser escapes)


def diff(text: str) -> Markup:
    """Return a unified diff as HTML, a line each."""
    lines: list[str] = []
    for line in clipped(text).splitlines():
        kind = next((name for start, name in _DIFF_CLASSES if line.startswith(start)), "same")
        lines.append(Markup('<span class="{}">{}\n</span>').format(kind, line))
    return Markup().join(lines)


def setting(value: Any) -> str:
    """Return a setting of a tool on one line, without its empty members."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {setting(item)}" for name, item in value.items() if item or item is False)
    if isinstance(value, list | tuple) and len(value) > _MAX_ITEMS:
        return f"{len(value)} entries"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def seconds(duration: float) -> str:
    """Return a duration for people."""
    if duration < 1:
        return f"{duration * 1000:.0f} ms"
    return f"{duration:.1f} s" if duration < 60 else f"{duration // 60:.0f} min {duration % 60:.0f} s"


def ago(moment: float) -> str:
    """Return a point in time for people."""
    age = time.time() - moment
    if age < 60:
        return "just now"
    for unit, length in (("minute", 3600), ("hour", 86_400), ("day", 7 * 86_400)):
        if age < length:
            number = int(age * _PER[unit] / length)
            return f"{number} {unit}{'s' if number != 1 else ''} ago"
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))


def _part_of_block(block: Block) -> Part:
    family = block.mime_type.partition("/")[0]
    name = block.name or str(block)
    if block.mime_type in _IMAGES or family == "audio":
        data = base64.b64encode(block.data).decode("ascii")
        return Part("image" if family == "image" else "audio", name, f"data:{block.mime_type};base64,{data}")
    return Part("file", name)


def _described(value: Any) -> Any:
    if isinstance(value, Block):
        return value.summary()
    if isinstance(value, dict):
        return {key: _described(item) for key, item in value.items()}
    return [_described(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # for the first page with Markdown

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.add_render_rule("link_open", _open_link)
    return parser


def _open_link(_: Any, tokens: Any, index: int, *__: Any) -> str:
    return f'<a href="{escape(tokens[index].attrGet("href"))}" target="_blank" rel="noopener noreferrer">'
