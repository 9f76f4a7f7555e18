"""Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tools_core._values._content import Block
from tools_core._values._tool_call import ToolCall
from tools_core.formats._format import Answer, Definition, Format, Tools, WireCall, parameters
from tools_core.formats._history import argument_object
from tools_core.formats._media import PDF, Part, base64_of, description_of, parts_of, structured
from tools_core.formats._stream import AnswerError, Stream, data

_SUPPORTED = frozenset(("image/jpeg", "image/png", "image/webp", PDF, "text/plain"))
# Reasons to finish without the intended calls.
_FAILED = ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS", "UNEXPECTED_TOOL_CALL")


class Gemini(Format):
    """`functionCall` parts are answered by one content of `functionResponse` parts."""

    answer = "a response, its content, or the list of its parts or function calls"
    chunk = "a response of a stream"

    def tools(self, tools: Tools) -> list[dict[str, Any]]:
        """Return the `tools` of a request: one tool with all definitions."""
        return [{"functionDeclarations": self.definitions(tools)}]

    def _define(self, definitions: list[tuple[str, Definition]]) -> list[dict[str, Any]]:
        declarations: list[dict[str, Any]] = []
        for name, definition in definitions:
            schema, description = parameters(definition)
            declarations.append({"name": name, "description": description, "parametersJsonSchema": schema})
        return declarations

    def _read(self, response: Any) -> Iterable[WireCall]:
        content = response
        if isinstance(response, Mapping) and "candidates" in response:
            candidate = data(response["candidates"][0]) if response["candidates"] else {}
            _finish_reason(candidate)
            content = data(candidate.get("content")) or []
        if isinstance(content, Mapping):
            content = (content["parts"] or []) if "parts" in content else [content]
        for part in self._items(content):
            call = data(_get(part, "functionCall")) or part
            if _get(call, "willContinue") or _get(call, "partialArgs"):
                raise AnswerError("arguments in parts are not supported; omit stream_function_call_arguments")
            if isinstance(call.get("name"), str):
                yield call.get("id"), call["name"], call.get("args")
            elif "candidates" in part or "parts" in part:  # parts of unknown kinds are ignored, as elsewhere
                self._reject(part)

    def _read_chunk(self, stream: Stream, chunk: Any) -> None:
        keys = ("candidates", "usageMetadata", "promptFeedback")
        if not isinstance(chunk, Mapping) or all(_get(chunk, key) is None for key in keys):
            self._reject(chunk, self.chunk)
        for candidate in (chunk.get("candidates") or ())[:1]:
            for id_, name, arguments in self._read({"candidates": [candidate]}):
                stream.begin(object(), id_, name, arguments)  # calls arrive complete
            if reason := _finish_reason(candidate):
                stream.end(reason)
        if _get(chunk, "promptFeedback"):
            stream.end("the prompt was blocked")

    def _reply(self, text: str, calls: list[tuple[ToolCall, str]]) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        for call, name in calls:
            id_ = {"id": call.id} if call.id else {}
            parts.append({"functionCall": id_ | {"name": name, "args": argument_object(call)}})
        return [{"role": "model", "parts": parts}] if parts else []

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        parts = [{"functionResponse": _response(answer)} for answer in answers]
        return [{"role": "user", "parts": parts}] if parts else []

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"text": part}
        if part.mime_type in _SUPPORTED or part.mime_type.startswith(("audio/", "image/", "video/")):
            return _inline(part)
        return {"text": description_of(part)}


def _get(value: Mapping[str, Any], key: str) -> Any:
    """Return a value from the REST API, which has camel case, or the SDK, which has snake case."""
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in key)
    return value.get(key) or value.get(snake)


def _finish_reason(candidate: Mapping[str, Any]) -> str:
    """Return why an answer ended; AnswerError if the model failed to write its calls."""
    reason = str(_get(candidate, "finishReason") or "").rpartition(".")[2]  # the SDK has an enum
    if reason in _FAILED:
        message = _get(candidate, "finishMessage")
        raise AnswerError(f"the model failed to write its calls ({message or reason}); ask it again")
    return reason


def _inline(block: Block) -> dict[str, Any]:
    return {"inlineData": {"mimeType": block.mime_type, "data": base64_of(block)}}


def _response(answer: Answer) -> dict[str, Any]:
    call, name, result = answer
    parts = parts_of(result)
    files = [part for part in parts if not isinstance(part, str) and part.mime_type in _SUPPORTED]
    texts = [part if isinstance(part, str) else description_of(part) for part in parts if part not in files]
    value = structured(result)
    if _has_reference(value):  # the API looks for a definition
        value = None
    output = {"output" if result.ok else "error": "\n".join(texts) if value is None else value}
    response = {"id": call.id, "name": name, "response": output, "parts": [_inline(part) for part in files]}
    return {key: value for key, value in response.items() if value}


def _has_reference(value: Any) -> bool:
    """Return whether JSON data has a key such as `$ref`, at any level."""
    if isinstance(value, dict):
        return any(key.startswith("$") or _has_reference(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_reference, value))


gemini = Gemini("gemini")
