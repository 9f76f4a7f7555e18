"""The Model Context Protocol: what a server lists, takes and answers."""

from __future__ import annotations

from collections.abc import Mapping

from tools_core.formats._format import Format, items_of, schema_of
from tools_core.formats._media import base64_of, file_name, plain_parts_of, structured, text_of

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tools_core._values._content import Block
    from tools_core._values._result import Result
    from tools_core.formats._format import Answer, Definition, WireCall

_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
    "title": "title",
}
HALTED = "ask-tools/halted"  # in `_meta`: the protocol itself knows no end of a conversation


class Mcp(Format):
    """Tools as `tools/list` has them, requests of `tools/call`, and one `CallToolResult` for each."""

    __slots__ = ()

    def _define(self, definition: Definition, name: str) -> dict[str, Any]:
        made = {
            "name": name,
            "description": definition.get("description") or "",
            "inputSchema": schema_of(definition),
        }
        output = definition.get("output_schema")
        if isinstance(output, dict) and output.get("type") == "object":
            made["outputSchema"] = output
        hints = definition.get("annotations")
        if hints:
            made["annotations"] = {_HINTS.get(hint, hint): value for hint, value in hints.items()}
        return made

    def _calls(self, response: Any) -> Iterable[WireCall]:
        for request in [response] if isinstance(response, Mapping) else items_of(response):
            params = request.get("params") or request
            id_ = request.get("id")
            yield (None if id_ is None else str(id_)), params["name"], params.get("arguments")

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        return [_result(result) for _, _, result in answers]


def _result(result: Result) -> dict[str, Any]:
    content = [{"type": "text", "text": p} if isinstance(p, str) else _block(p) for p in plain_parts_of(result)]
    made: dict[str, Any] = {"content": content, "isError": not result.ok}
    is_structured, value = structured(result)
    if is_structured and isinstance(value, dict):
        made["structuredContent"] = value
    return made | ({"_meta": {HALTED: True}} if result.halted else {})


def _block(block: Block) -> dict[str, Any]:
    if block.kind in ("image", "audio"):
        return {"type": block.kind, "data": base64_of(block), "mimeType": block.mime_type}
    from urllib.parse import quote  # 2 ms that only files cost

    resource = {"uri": f"attachment:///{quote(file_name(block))}", "mimeType": block.mime_type}
    text = text_of(block)
    content = {"blob": base64_of(block)} if text is None else {"text": text}
    return {"type": "resource", "resource": resource | content}


mcp = Mcp("mcp")
