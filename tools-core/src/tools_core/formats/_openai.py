"""OpenAI: Chat Completions, which many other providers speak, and the Responses API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tools_core._values._tool_call import ToolCall
from tools_core.formats._format import Answer, Definition, Format, WireCall, parameters
from tools_core.formats._history import argument_text, legal_id
from tools_core.formats._media import PDF, PICTURES, Part, base64_of, data_url, description_of, file_name, parts_of
from tools_core.formats._stream import Stream, check_cut, data
from tools_core.formats._strict import strict_schema
from tools_core.text import is_blank

_CALL = frozenset(("arguments", "function", "id", "index", "name", "type"))
_LIMITS = ("length", "content_filter", "error")  # reasons of an end within the answer
_AUDIO = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/x-wav": "wav"}


class OpenAI(Format):
    """Chat Completions: each call is answered by a text message; one user message with all pictures follows."""

    answer = "a chat completion, its message, or the list of its tool calls"
    chunk = "a chunk of a chat completion"

    def _define(self, definitions: list[tuple[str, Definition]]) -> list[dict[str, Any]]:
        return [
            {"type": "function", "function": _function(name, definition, strict=self.strict)}
            for name, definition in definitions
        ]

    def _read(self, response: Any) -> Iterable[WireCall]:
        message, reason = response, None
        if isinstance(message, Mapping) and message.get("choices"):
            choice = data(message["choices"][0])
            message, reason = data(choice.get("message")), choice.get("finish_reason")
            if message is None and "message" in choice:  # a filtered answer
                return
        items = message
        if isinstance(message, Mapping):
            is_message = not message.keys().isdisjoint(("choices", "role", "tool_calls"))
            items = _calls_of(message) if is_message else [message]
        calls = self._items(items)
        for number, call in enumerate(calls, 1):
            is_bare = "arguments" in call and "type" not in call
            function = data(call if is_bare else call.get("function"))
            if isinstance(function, Mapping) and "name" in function:
                if reason in _LIMITS and number == len(calls):
                    check_cut(reason, function["name"], function.get("arguments"))
                yield call.get("id"), function["name"], function.get("arguments")
            elif call.get("type") != "custom":  # a call of a custom tool has no JSON arguments
                self._reject(call)

    def _read_chunk(self, stream: Stream, chunk: Any) -> None:
        is_chunk = isinstance(chunk, Mapping) and not chunk.keys().isdisjoint(("choices", "usage"))
        choices = (chunk.get("choices") or []) if is_chunk else None
        if not isinstance(choices, list) or any("message" in choice and "delta" not in choice for choice in choices):
            self._reject(chunk, self.chunk)
        for choice in choices:
            if choice.get("index"):  # use the first of several answers, as `calls` does
                continue
            delta = choice.get("delta") or {}
            for call in _calls_of(delta):
                function = call.get("function") or call
                name, arguments = function.get("name") or "", function.get("arguments")
                members = {key: value for key, value in call.items() if key not in _CALL and value is not None}
                stream.piece(call.get("index"), call.get("id"), name, arguments, members)
            if reason := choice.get("finish_reason"):
                stream.end(reason, is_cut=reason in _LIMITS)

    def _reply(self, text: str, calls: list[tuple[ToolCall, str]]) -> list[dict[str, Any]]:
        tool_calls = [
            {
                "id": call.id or "",
                "type": "function",
                "function": {"name": name, "arguments": argument_text(call)},
            }
            for call, name in calls
        ]
        message = {"role": "assistant", "content": text or None}
        return [message | ({"tool_calls": tool_calls} if calls else {})] if text or calls else []

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        pictures: list[dict[str, Any]] = []
        for call, name, result in answers:
            texts: list[str] = []
            for part in parts_of(result, error="Error: "):
                if isinstance(part, str):
                    texts.append(part)
                elif part.mime_type in PICTURES or part.mime_type == PDF:
                    label = f"{part.kind} {len(pictures) // 2 + 1}"
                    texts.append(f"[{label}, in the message that follows]")
                    pictures += [self._part(f"{label}, from {name} ({call.id}):"), self._part(part)]
                else:
                    texts.append(description_of(part))
            messages.append({"role": "tool", "tool_call_id": call.id or "", "content": _output("\n".join(texts))})
        return [*messages, {"role": "user", "content": pictures}] if pictures else messages

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        if part.mime_type in PICTURES:
            return {"type": "image_url", "image_url": {"url": data_url(part)}}
        if part.mime_type == PDF:
            return {"type": "file", "file": {"filename": file_name(part), "file_data": data_url(part)}}
        if part.mime_type in _AUDIO:
            return {"type": "input_audio", "input_audio": {"data": base64_of(part), "format": _AUDIO[part.mime_type]}}
        return {"type": "text", "text": description_of(part)}


class Responses(Format):
    """The Responses API: a `function_call` item is answered by a `function_call_output` item."""

    answer = "a response, or the list of its output items"
    chunk = "an event of a response"

    def _define(self, definitions: list[tuple[str, Definition]]) -> list[dict[str, Any]]:
        # The default of the API is true.
        head = {"type": "function", "strict": False}
        return [head | _function(name, definition, strict=self.strict) for name, definition in definitions]

    def _read(self, response: Any) -> Iterable[WireCall]:
        items, reason = response, None
        if isinstance(response, Mapping):
            if response.get("status") == "incomplete":
                reason = (response.get("incomplete_details") or {}).get("reason") or "incomplete"
            items = (response["output"] or []) if "output" in response and "type" not in response else [response]
        items = self._items(items)
        for number, item in enumerate(items, 1):
            kind = item.get("type", "message" if "role" in item else None)
            if not isinstance(kind, str) or kind.startswith("response."):
                self._reject(item)
            if kind == "function_call":
                if "name" not in item:
                    self._reject(item)
                _, name, arguments = call = _call(item)
                if reason and number == len(items):
                    check_cut(reason, name, arguments)
                yield call

    def _read_chunk(self, stream: Stream, chunk: Any) -> None:
        kind = chunk.get("type") if isinstance(chunk, Mapping) else None
        if not isinstance(kind, str) or not kind.startswith(("response.", "error", "keepalive")):
            self._reject(chunk, self.chunk)
        if kind in ("response.output_item.added", "response.output_item.done"):
            used = stream.complete_keys if kind == "response.output_item.done" else None
            _begin(stream, chunk.get("output_index"), chunk.get("item") or {}, used)
        elif kind == "response.function_call_arguments.delta":
            stream.add(_key(chunk.get("output_index"), chunk.get("item_id")), chunk.get("delta") or "")
        elif kind == "response.function_call_arguments.done":
            stream.replace(_key(chunk.get("output_index"), chunk.get("item_id")), chunk.get("arguments"))
        elif kind in ("response.completed", "response.incomplete"):
            used = set()
            for index, item in enumerate(chunk["response"].get("output") or ()):  # some servers send it only here
                _begin(stream, index, item, used)
            if kind == "response.completed":
                stream.end("completed")
                return
            stream.end((chunk["response"].get("incomplete_details") or {}).get("reason") or "incomplete", is_cut=True)

    def _reply(self, text: str, calls: list[tuple[ToolCall, str]]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = [{"role": "assistant", "content": text}] if text else []
        for call, name in calls:
            function = {"call_id": legal_id(call.id), "name": name, "arguments": argument_text(call)}
            items.append({"type": "function_call", **function})
        return items

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for call, _, result in answers:
            parts = [part for part in parts_of(result, error="Error: ") if part != ""]
            is_text = all(isinstance(part, str) for part in parts)
            output = _output("\n".join(map(str, parts))) if is_text else [self._part(part) for part in parts]
            items.append({"type": "function_call_output", "call_id": legal_id(call.id), "output": output})
        return items

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "input_text", "text": part}
        if part.mime_type in PICTURES:
            return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
        if part.mime_type == PDF:
            return {"type": "input_file", "filename": file_name(part), "file_data": data_url(part)}
        return {"type": "input_text", "text": description_of(part)}


def _calls_of(message: Mapping[str, Any]) -> Any:
    """Return the calls of a message or a delta, also in the older form of one `function_call`."""
    return message.get("tool_calls") or ([message["function_call"]] if message.get("function_call") else [])


def _output(text: str) -> str:
    """Return the text of a result, which some servers refuse if it is blank."""
    return "(no output)" if is_blank(text) else text


def _function(name: str, definition: Definition, *, strict: bool) -> dict[str, Any]:
    """Return the function that both APIs of OpenAI define."""
    schema, description = parameters(definition)
    strict_form = strict_schema(schema, is_openai=True) if strict else None
    function = {"name": name, "description": description, "parameters": strict_form.schema if strict_form else schema}
    return function | {"strict": strict_form is not None} if strict else function


def _key(index: int | None, id: str | None) -> Any:
    return id if index is None else index


def _begin(stream: Stream, index: int | None, item: Mapping[str, Any], used: set[Any] | None) -> None:
    """Read an item of a response, which comes up to three times; `used` are keys of other calls that came again."""
    if item.get("type") != "function_call":
        return
    id_, name, arguments = _call(item)
    key = _key(index, item.get("id"))
    if used is not None:
        key, id_ = stream.find(id_, name, arguments, used) or (key, id_)
        used.add(key)
    stream.begin(key, id_, name, arguments)


def _call(item: Mapping[str, Any]) -> WireCall:
    return item.get("call_id") or item.get("id"), item["name"], item.get("arguments")


openai = OpenAI("openai")
openai_strict = OpenAI("openai-strict", strict=True)
responses = Responses("responses")
responses_strict = Responses("responses-strict", strict=True)
