"""Content of a server's answers as text, pictures, sounds and files."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from mcp_types import TextResourceContents

from tools_core import Audio, File, Image, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_types import BlobResourceContents, CallToolResult, ContentBlock

    Part = str | Image | Audio | File

_HALTED = "ask-tools/halted"  # as `tools_core.formats` writes it into `_meta`
_MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(;[ -~]*)?")
_ALPHABET = str.maketrans("-_", "+/")
_MEDIA: dict[str, type[Image | Audio]] = {"image": Image, "audio": Audio}


def result_of(answer: CallToolResult) -> Result:
    """Return the result of a call; its structured content is the output, and its blocks are what the model reads."""
    parts: list[Any] = [part_of(block) for block in answer.content]
    if answer.structured_content is not None and not _is_shown(answer.structured_content, parts):
        parts.append(json.dumps(answer.structured_content, ensure_ascii=False))
    content = joined(parts)
    if answer.is_error:
        text = "\n".join(part for part in parts if isinstance(part, str))
        result = Result.error(text or "the server reports an error without a text")
    elif answer.structured_content is not None:
        result = Result.ok(answer.structured_content, content=content or None)
    else:
        result = Result.ok(content)
    return Result.halt(result) if (answer.meta or {}).get(_HALTED) is True else result


def joined(parts: Sequence[Part]) -> Any:
    """Return parts as one text if all of them are text."""
    return "\n".join(map(str, parts)) if all(isinstance(part, str) for part in parts) else [*parts]


def part_of(block: ContentBlock) -> Part:
    """Return a block of content; text that says why for one that cannot be read."""
    if block.type == "text":
        return block.text
    if block.type == "resource_link":
        about = ", ".join(filter(None, (block.mime_type, block.description)))
        return f"[resource {block.name}: {block.uri}{f' ({about})' if about else ''}]"
    if block.type == "resource":
        return contents_of(block.resource)
    try:
        return _MEDIA[block.type](_bytes(block.data), _mime_type(block.mime_type))
    except ValueError as error:
        return f"[a part of the type {block.type} that cannot be read: {error}]"


def contents_of(resource: TextResourceContents | BlobResourceContents) -> Part:
    """Return the contents of a resource: text, a picture, sound or a file."""
    if isinstance(resource, TextResourceContents):
        return resource.text
    try:
        mime_type = _mime_type(resource.mime_type or "")
        kind: type[Image | Audio | File] = _MEDIA.get((mime_type or "").partition("/")[0], File)
        return kind(_bytes(resource.blob), mime_type, name=str(resource.uri).rpartition("/")[2])
    except ValueError as error:
        return f"[a part of the type resource that cannot be read: {error}]"


def _is_shown(data: Any, parts: Sequence[Any]) -> bool:
    """Return whether texts have each single value of some data."""
    if isinstance(data, dict | list):
        return all(_is_shown(item, parts) for item in (data.values() if isinstance(data, dict) else data))
    word = data if isinstance(data, str) else json.dumps(data)
    forms = {word, json.dumps(word)[1:-1], word.capitalize()}  # `True` of Python
    return data is None or any(form in part for part in parts if isinstance(part, str) for form in forms)


def _bytes(text: str) -> bytes:
    """Decode base64, also of a data URL, in the alphabet for URLs, in lines, and without padding."""
    data = "".join((text.partition(";base64,")[2] or text).split()).translate(_ALPHABET).rstrip("=")
    return b64decode(data + "=" * (-len(data) % 4), validate=True)


def _mime_type(text: str) -> str | None:
    """Return a MIME type in lower case, None for no type; ValueError for another text."""
    if not text:
        return None
    if not _MIME_TYPE.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a MIME type")
    return text.lower()
