"""The Model Context Protocol, from the side of a server: tools, requests and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from tools_core.formats._format import Answer, Definition, Format, WireCall
from tools_core.formats._media import Part, base64_of, file_name, parts_of, structured, text_of
from tools_core.formats._stream import data

_HINTS = {
    "read_only": "readOnlyHint", "destructive": "destructiveHint", "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}  # fmt: skip
_HALTED = "ask-tools/halted"  # in `_meta`, because the protocol has no field for the end of a conversation


class Mcp(Format):
    """Tools as `tools/list` has them, requests of `tools/call`, and one `CallToolResult` for each."""

    answer = "a `tools/call` request, its params, or a list of these"

    def _define(self, definitions: list[tuple[str, Definition]]) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        for name, definition in definitions:
            schema = (definition.get("input_schema") or {"properties": {}}) | {"type": "object"}
            tools.append({"name": name, "description": definition["description"], "inputSchema": schema})
            output = definition.get("output_schema")
            if isinstance(output, dict) and output.get("type") == "object":
                tools[-1]["outputSchema"] = output
            if hints := definition.get("annotations"):
                tools[-1]["annotations"] = {_HINTS.get(hint, hint): value for hint, value in hints.items()}
        return tools

    def _read(self, response: Any) -> Iterable[WireCall]:
        for request in self._items([response] if isinstance(response, Mapping) else response):
            params = data(request.get("params", request))
            if not isinstance(params, Mapping) or not isinstance(params.get("name"), str):
                self._reject(request)
            id_ = request.get("id")
            yield None if id_ is None else str(id_), params["name"], params.get("arguments")

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for _, _, result in answers:
            value = structured(result)
            data = {"content": [self._part(part) for part in parts_of(result)], "isError": not result.ok}
            data |= {"structuredContent": value} if isinstance(value, dict) else {}
            results.append(data | ({"_meta": {_HALTED: True}} if result.halted else {}))
        return results

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        if part.kind in ("image", "audio"):
            return {"type": part.kind, "data": base64_of(part), "mimeType": part.mime_type}
        text = text_of(part)
        content = {"blob": base64_of(part)} if text is None else {"text": text}
        return {
            "type": "resource",
            "resource": {"uri": f"attachment:///{quote(file_name(part))}", "mimeType": part.mime_type} | content,
        }


mcp = Mcp("mcp")
