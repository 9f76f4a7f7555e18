"""Anthropic's Messages API."""

from __future__ import annotations

from tools_core.formats._format import items_of
from tools_core.formats._media import PDF, PICTURES, base64_of, described, file_name, plain_parts_of, text_of
from tools_core.formats._root import RootedFormat

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tools_core._values._content import Block
    from tools_core._values._result import Result
    from tools_core.formats._format import Answer, Definition, WireCall


class Anthropic(RootedFormat):
    """`tool_use` blocks are answered by one user message that holds every `tool_result` block."""

    __slots__ = ()

    _has_plain_names = True

    def _define(self, definition: Definition, name: str) -> dict[str, Any]:
        rooted = self._rooted(definition)
        return {"name": name, "description": rooted.description, "input_schema": rooted.schema}

    def _calls(self, response: Any) -> Iterable[WireCall]:
        for block in items_of(response, "content"):
            if block.get("type") == "tool_use":
                yield block.get("id"), block["name"], block.get("input")

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        blocks = [_result_block(call.id, result) for call, _, result in answers]
        return [{"role": "user", "content": blocks}] if blocks else []


def _result_block(id_: str | None, result: Result) -> dict[str, Any]:
    parts = plain_parts_of(result)
    made: dict[str, Any] = {"type": "tool_result", "tool_use_id": id_ or ""}
    if len(parts) == 1 and isinstance(parts[0], str):
        content: Any = parts[0]
    else:  # a block of no text is refused
        content = [{"type": "text", "text": p} if isinstance(p, str) else _block(p) for p in parts if p != ""]
    if content:
        made["content"] = content
    return made | ({"is_error": True} if not result.ok else {})


def _block(block: Block) -> dict[str, Any]:
    if block.mime_type in PICTURES:
        source = {"type": "base64", "media_type": block.mime_type, "data": base64_of(block)}
        return {"type": "image", "source": source}
    if block.mime_type == PDF:
        source = {"type": "base64", "media_type": PDF, "data": base64_of(block)}
        return {"type": "document", "source": source, "title": file_name(block)}
    text = text_of(block)
    if text:
        source = {"type": "text", "media_type": "text/plain", "data": text}
        return {"type": "document", "source": source, "title": file_name(block)}
    return {"type": "text", "text": described(block)}


anthropic = Anthropic("anthropic")
