"""Content of results in the words and bytes that a provider can carry."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from tools_core._values._content import Block
    from tools_core._values._result import Result

# What all of OpenAI, Anthropic and Gemini look at.
PICTURES = frozenset(("image/gif", "image/jpeg", "image/png", "image/webp"))
PDF = "application/pdf"


def parts_of(result: Result) -> tuple[str | Block, ...]:
    """The content as texts and blocks; an error's text begins with `Error: `."""
    content = result.content
    if not result.ok:
        return (f"Error: {content or result.error_type}",)
    return (content,) if isinstance(content, str) else content


def plain_parts_of(result: Result) -> tuple[str | Block, ...]:
    """The content as texts and blocks, for providers that have a flag for errors."""
    content = result.content
    if not result.ok and not content:
        content = str(result.error_type)
    return (content,) if isinstance(content, str) else content


def base64_of(block: Block) -> str:
    """The bytes of a block in base64."""
    text: str = block.to_dict()["data"]
    return text


def data_url(block: Block) -> str:
    """The bytes of a block as a URL."""
    return f"data:{block.mime_type};base64,{base64_of(block)}"


def file_name(block: Block) -> str:
    """The name of a block, or one that says what it is."""
    return block.name or f"{block.kind}.{block.mime_type.rpartition('/')[2].partition('+')[0]}"


def text_of(block: Block) -> str | None:
    """The text of a file of text; None for other bytes."""
    kind = block.mime_type.partition(";")[0].strip()
    if not (kind.startswith("text/") or kind == "application/json"):
        return None
    try:
        return block.data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def described(block: Block) -> str:
    """What is said in place of bytes that cannot be sent; the content itself of a file of text."""
    text = text_of(block)
    name = f" {block.name}" if block.name else ""
    if text is not None:
        return f"[{block.kind}{name}, {block.mime_type}]\n{text}"
    return f"[{block.kind}{name}, {block.mime_type}, {len(block.data):,} bytes: this model cannot be shown it]"


def structured(result: Result) -> tuple[bool, Any]:
    """Whether the model reads JSON, and its data."""
    if not result.ok or isinstance(result.output, str) or result.output is None:
        return False, None
    content = result.content
    if not isinstance(content, str):
        return False, None
    import json  # loaded already, by what wrote the text

    try:
        return True, json.loads(content)
    except ValueError:  # the tool has words of its own for the model
        return False, None
