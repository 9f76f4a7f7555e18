"""OpenAI's Responses API."""

from __future__ import annotations

from tools_core.formats._format import items_of
from tools_core.formats._media import PDF, PICTURES, data_url, described, file_name, parts_of
from tools_core.formats._root import RootedFormat

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tools_core._values._content import Block
    from tools_core._values._result import Result
    from tools_core.formats._format import Answer, Definition, WireCall


class Responses(RootedFormat):
    """A `function_call` item is answered by a `function_call_output` item."""

    __slots__ = ()

    def _define(self, definition: Definition, name: str) -> dict[str, Any]:
        rooted = self._rooted(definition)
        return {
            "type": "function",
            "name": name,
            "description": rooted.description,
            "parameters": rooted.schema,
            "strict": False,  # left out it means true
        }

    def _calls(self, response: Any) -> Iterable[WireCall]:
        for item in items_of(response, "output"):
            if item.get("type") == "function_call":
                yield item.get("call_id") or item.get("id"), item["name"], item.get("arguments")

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        return [
            {"type": "function_call_output", "call_id": call.id or "", "output": _output(result)}
            for call, _, result in answers
        ]


def _output(result: Result) -> str | list[dict[str, Any]]:
    parts = parts_of(result)
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0]
    return [{"type": "input_text", "text": part} if isinstance(part, str) else _part(part) for part in parts]


def _part(block: Block) -> dict[str, Any]:
    if block.mime_type in PICTURES:
        return {"type": "input_image", "image_url": data_url(block), "detail": "auto"}
    if block.mime_type == PDF:
        return {"type": "input_file", "filename": file_name(block), "file_data": data_url(block)}
    return {"type": "input_text", "text": described(block)}


responses = Responses("responses")
