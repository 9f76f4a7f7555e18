"""Content of results as text and bytes that a provider can carry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from tools_core._values._content import Block
from tools_core.formats._format import plain
from tools_core.text import sendable

if TYPE_CHECKING:
    from tools_core._values._result import Result

# All of OpenAI, Anthropic and Gemini show these to their models.
PICTURES = frozenset(("image/gif", "image/jpeg", "image/png", "image/webp"))
PDF = "application/pdf"
Part: TypeAlias = str | Block


def parts_of(result: Result, *, error: str = "") -> tuple[Part, ...]:
    """Return the content as texts and blocks; `error` begins the text of errors where the provider has no flag."""
    content = result.content
    if not result.ok:
        content = f"{error}{content or result.error_type}"
    parts = (content,) if isinstance(content, str) else content
    return tuple(sendable(part) if isinstance(part, str) else part for part in parts)


def base64_of(block: Block) -> str:
    """Return the bytes of a block in base64."""
    text: str = block.to_dict()["data"]
    return text


def data_url(block: Block) -> str:
    """Return the bytes of a block as a URL."""
    return f"data:{block.mime_type};base64,{base64_of(block)}"


def file_name(block: Block) -> str:
    """Return the name of a block, or one made of what it is."""
    return sendable(block.name or "") or f"{block.kind}.{block.mime_type.rpartition('/')[2].partition('+')[0]}"


def text_of(block: Block) -> str | None:
    """Return the text of a file of text; None for other bytes."""
    kind = block.mime_type.partition(";")[0].strip()
    if not (kind.startswith("text/") or kind == "application/json"):
        return None
    try:
        return block.data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def described(block: Block) -> str:
    """Return the content of a file of text, else a description in place of the bytes."""
    text = text_of(block)
    head = f"[{block.kind}{f' {file_name(block)}' if block.name else ''}, {block.mime_type}"
    return f"{head}, {len(block.data):,} bytes: this model cannot be shown it]" if text is None else f"{head}]\n{text}"


def structured(result: Result) -> Any:
    """Return the data that the model reads as JSON; None for text and blocks."""
    content = result.content
    if not result.ok or isinstance(result.output, str | None) or not isinstance(content, str):
        return None
    try:
        return plain(json.loads(content))
    except ValueError:  # the tool wrote other text for the model
        return None
