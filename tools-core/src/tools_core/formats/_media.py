"""Content of results as text and base64."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from tools_core._values._content import Block
from tools_core._values._result import Result
from tools_core.formats._format import plain_json
from tools_core.text import sendable

# Supported by OpenAI, Anthropic and Gemini.
PICTURES = frozenset(("image/gif", "image/jpeg", "image/png", "image/webp"))
PDF = "application/pdf"
Part: TypeAlias = str | Block


def parts_of(result: Result, *, error: str = "") -> tuple[Part, ...]:
    """Return the content as texts and blocks; `error` marks errors if the provider has no flag."""
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
    """Return the name of a block, or one derived from its type."""
    extension = block.mime_type.rpartition("/")[2].partition("+")[0]
    return sendable(block.name or "") or f"{block.kind}.{extension}"


def text_of(block: Block) -> str | None:
    """Return the text of a text file; None for other bytes."""
    kind = block.mime_type.partition(";")[0].strip()
    if not (kind.startswith("text/") or kind == "application/json"):
        return None
    try:
        return block.data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def description_of(block: Block) -> str:
    """Return the content of a text file, or a description instead of the bytes."""
    text = text_of(block)
    head = f"[{block.kind}{f' {file_name(block)}' if block.name else ''}, {block.mime_type}"
    return f"{head}, {len(block.data):,} bytes, not supported by this provider]" if text is None else f"{head}]\n{text}"


def structured(result: Result) -> Any:
    """Return the data that the model reads as JSON; None for text and blocks."""
    content = result.content
    if not result.ok or isinstance(result.output, str | None) or not isinstance(content, str):
        return None
    try:
        return plain_json(json.loads(content))
    except ValueError:  # the tool has other text for the model
        return None
