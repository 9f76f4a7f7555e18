"""OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tools_core.formats._format import Answer, Definition, Format, WireCall
from tools_core.formats._media import PDF, PICTURES, Part, data_url, described, file_name, parts_of
from tools_core.formats._openai import function
from tools_core.formats._stream import AnswerError, Stream


class Responses(Format):
    """A `function_call` item is answered by a `function_call_output` item."""

    answer = "a response, or the list of its output items"
    chunk = "an event of a response"

    def _define(self, given: list[tuple[str, Definition]]) -> list[dict[str, Any]]:
        # Without `strict` the API assumes true.
        head = {"type": "function", "strict": False}
        return [head | function(name, definition, strict=self.strict) for name, definition in given]

    def _find(self, response: Any) -> Iterable[WireCall]:
        found = response
        if isinstance(found, Mapping):
            found = found["output"] if "output" in found and "type" not in found else [found]
        for item in self._items(found):
            kind = item.get("type", "message" if "role" in item else None)
            if not isinstance(kind, str) or kind.startswith("response."):
                self._refuse(item)
            if kind == "function_call":
                yield _call(item)

    def _read_chunk(self, stream: Stream, chunk: Any) -> None:
        kind = chunk.get("type") if isinstance(chunk, Mapping) else None
        if not isinstance(kind, str) or not kind.startswith(("response.", "error", "keepalive")):
            self._refuse(chunk, self.chunk)
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
        made: list[dict[str, Any]] = []
        for call, _, result in answers:
            parts = parts_of(result, error="Error: ")
            is_text = len(parts) == 1 and isinstance(parts[0], str)
            output = parts[0] if is_text else [self._part(part) for part in parts]
            made.append({"type": "function_call_output", "call_id": call.id or "", "output": output})
        return made

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "input_text", "text": part}
        if part.mime_type in PICTURES:
            return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
        if part.mime_type == PDF:
            return {"type": "input_file", "filename": file_name(part), "file_data": data_url(part)}
        return {"type": "input_text", "text": described(part)}


def _call(item: Mapping[str, Any]) -> WireCall:
    return item.get("call_id") or item.get("id"), item["name"], item.get("arguments")


responses = Responses("responses")
responses_strict = Responses("responses-strict", strict=True)
