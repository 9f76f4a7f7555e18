"""OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tools_core.formats._format import Answer, Definition, Format, WireCall
from tools_core.formats._media import PDF, PICTURES, Part, data_url, description_of, file_name, parts_of
from tools_core.formats._openai import function_definition
from tools_core.formats._stream import AnswerError, Stream


class Responses(Format):
    """A `function_call` item is answered by a `function_call_output` item."""

    answer = "a response, or the list of its output items"
    chunk = "an event of a response"

    def _define(self, definitions: list[tuple[str, Definition]]) -> list[dict[str, Any]]:
        # The default of the API is true.
        head = {"type": "function", "strict": False}
        return [head | function_definition(name, definition, strict=self.strict) for name, definition in definitions]

    def _read(self, response: Any) -> Iterable[WireCall]:
        items = response
        if isinstance(response, Mapping):
            items = response["output"] if "output" in response and "type" not in response else [response]
        for item in self._items(items):
            kind = item.get("type", "message" if "role" in item else None)
            if not isinstance(kind, str) or kind.startswith("response."):
                self._reject(item)
            if kind == "function_call":
                yield _call(item)

    def _read_chunk(self, stream: Stream, chunk: Any) -> None:
        kind = chunk.get("type") if isinstance(chunk, Mapping) else None
        if not isinstance(kind, str) or not kind.startswith(("response.", "error", "keepalive")):
            self._reject(chunk, self.chunk)
        if kind in ("response.output_item.added", "response.output_item.done"):
            if chunk["item"].get("type") == "function_call":
                stream.begin(chunk["output_index"], *_call(chunk["item"]))
        elif kind == "response.function_call_arguments.delta":
            stream.add(chunk["output_index"], chunk["delta"])
        elif kind == "response.completed":
            stream.end("completed")
        elif kind == "response.incomplete":
            stream.end((chunk["response"].get("incomplete_details") or {}).get("reason") or "incomplete", is_cut=True)
        elif kind in ("error", "response.failed"):
            error = chunk if kind == "error" else chunk["response"].get("error") or {}
            raise AnswerError(f"the provider failed: {error.get('message')}")

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for call, _, result in answers:
            parts = parts_of(result, error="Error: ")
            is_text = len(parts) == 1 and isinstance(parts[0], str)
            output = parts[0] if is_text else [self._part(part) for part in parts]
            items.append({"type": "function_call_output", "call_id": call.id or "", "output": output})
        return items

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "input_text", "text": part}
        if part.mime_type in PICTURES:
            return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
        if part.mime_type == PDF:
            return {"type": "input_file", "filename": file_name(part), "file_data": data_url(part)}
        return {"type": "input_text", "text": description_of(part)}


def _call(item: Mapping[str, Any]) -> WireCall:
    return item.get("call_id") or item.get("id"), item["name"], item.get("arguments")


responses = Responses("responses")
responses_strict = Responses("responses-strict", strict=True)
