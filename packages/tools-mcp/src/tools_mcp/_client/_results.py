"""From the result of a `tools/call` to a `Result`."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any

from mcp_types import TextResourceContents

from tools_core import Audio, File, Image, Result

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

    from tools_core._values._content import Block

_HALTED = "ask-tools/halted"  # as `tools_core.formats` writes it into `_meta`


def result_of(answer: CallToolResult) -> Result:
    """Return the Result of a call: structured content is its output, and content blocks are what the model reads."""
    parts: Any = [_part(block) for block in answer.content]
    text = "\n".join(part for part in parts if isinstance(part, str))
    content = text if all(isinstance(part, str) for part in parts) else parts
    if answer.is_error:
        made = Result.error(text or "the server reports an error without a text")
    elif answer.structured_content is not None:
        made = Result.ok(answer.structured_content, content=content or None)
    else:
        made = Result.ok(content)
    return Result.halt(made) if (answer.meta or {}).get(_HALTED) is True else made


def _part(block: ContentBlock) -> str | Block:
    if block.type == "text":
        return block.text
    if block.type == "image":
        return Image(_bytes(block.data), block.mime_type)
    if block.type == "audio":
        return Audio(_bytes(block.data), block.mime_type)
    if block.type == "resource_link":
        about = ", ".join(filter(None, (block.mime_type, block.description)))
        return f"[resource {block.name}: {block.uri}{f' ({about})' if about else ''}]"
    resource = block.resource
    if isinstance(resource, TextResourceContents):
        return resource.text
    return File(_bytes(resource.blob), resource.mime_type, name=str(resource.uri).rpartition("/")[2])


def _bytes(data: str) -> bytes:
    return b64decode(data, validate=True)
