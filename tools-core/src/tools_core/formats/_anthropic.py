"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tools_core._values._errors import InvalidArguments
from tools_core._values._tool_call import ToolCall
from tools_core.formats._format import Answer, Definition, Format, WireCall, legal_names, parameters
from tools_core.formats._history import argument_object, legal_id
from tools_core.formats._media import PDF, PICTURES, Part, base64_of, description_of, file_name, parts_of
from tools_core.formats._stream import AnswerError, Stream
from tools_core.formats._strict import strict_schema
from tools_core.text import is_blank

# Limits of all strict tools of one request together.
_MAX_TOOLS, _MAX_OPTIONAL, _MAX_UNIONS = 20, 24, 16
_LIMITS = ("max_tokens", "model_context_window_exceeded")  # reasons to stop in the middle of a block


class Anthropic(Format):
    """`tool_use` blocks are answered by one user message that holds every `tool_result` block.

    The API rejects arguments with names like `$filter` or `ids[]`: `_` replaces the invalid characters.
    """

    answer = "a message, or the list of its content blocks"
    chunk = "an event of a message"
    has_examples = True

    def _define(self, definitions: list[tuple[str, Definition]]) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        free_tools, optional, unions = _MAX_TOOLS, _MAX_OPTIONAL, _MAX_UNIONS
        for name, definition in definitions:
            schema, description = parameters(definition)
            names = _legal_members(schema)
            schema = _rename_members(schema, names)
            tool: dict[str, Any] = {"name": name, "description": description, "input_schema": schema}
            tools.append(tool)
            if examples := definition.get("examples"):
                renamed = [{names.get(key, key): value for key, value in example.items()} for example in examples]
                tool["input_examples"] = renamed
            strict = strict_schema(schema, is_openai=False) if self.strict else None
            if strict and free_tools and strict.optional <= optional and strict.unions <= unions:
                free_tools, optional, unions = free_tools - 1, optional - strict.optional, unions - strict.unions
                tool |= {"input_schema": strict.schema, "strict": True}
            elif self.strict:
                tool["strict"] = False
        return tools

    def _restore(self, call: ToolCall, definition: Mapping[str, Any]) -> ToolCall:
        names = _legal_members(definition.get("input_schema") or {})
        if all(name == legal for name, legal in names.items()):
            return call
        originals = {legal: name for name, legal in names.items()}
        try:
            arguments = {originals.get(name, name): value for name, value in call.arguments.items()}
        except InvalidArguments:  # the tool itself reports them
            return call
        return ToolCall(call.id, call.name, arguments)

    def _read(self, response: Any) -> Iterable[WireCall]:
        content, reason = response, None
        if isinstance(response, Mapping):
            reason = response.get("stop_reason")
            is_message = "content" in response and response.get("type", "message") == "message"
            content = response["content"] if is_message else [response]
            content = [] if content is None or isinstance(content, str) else content  # a message of text alone
        blocks = self._items(content)
        if blocks and blocks[-1].get("type") == "tool_use" and reason in _LIMITS:
            raise AnswerError(f"the answer was cut off ({reason}) in the call `{blocks[-1]['name']}`; raise the limit")
        for block in blocks:
            kind = block.get("type")
            if not isinstance(kind, str) or kind.startswith(("message", "content_block")):
                self._reject(block)
            if kind == "tool_use":
                yield block.get("id"), block["name"], block.get("input")

    def _read_chunk(self, stream: Stream, chunk: Any) -> None:
        kind = chunk.get("type") if isinstance(chunk, Mapping) else None
        if not isinstance(kind, str) or kind in ("message", "tool_use"):
            self._reject(chunk, self.chunk)
        if kind == "content_block_start" and chunk["content_block"]["type"] == "tool_use":
            block = chunk["content_block"]
            stream.begin(chunk["index"], block.get("id"), block["name"], block.get("input") or None)
        elif kind == "content_block_delta":
            stream.add(chunk["index"], chunk["delta"].get("partial_json") or "")
        elif kind == "message_delta" and (reason := chunk["delta"].get("stop_reason")):
            stream.end(reason, is_cut=reason in _LIMITS)

    def _reply(self, text: str, calls: list[tuple[ToolCall, str]]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        for call, name in calls:
            blocks.append({"type": "tool_use", "id": legal_id(call.id), "name": name, "input": argument_object(call)})
        return [{"role": "assistant", "content": blocks}] if blocks else []

    def _results(self, answers: list[Answer]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for call, _, result in answers:
            # The API rejects a block with blank text.
            parts = [part for part in parts_of(result) if not isinstance(part, str) or not is_blank(part)]
            is_text = len(parts) == 1 and isinstance(parts[0], str)
            content = {"content": parts[0] if is_text else [self._part(part) for part in parts]} if parts else {}
            failed = {} if result.ok else {"is_error": True}
            blocks.append({"type": "tool_result", "tool_use_id": legal_id(call.id)} | content | failed)
        return [{"role": "user", "content": blocks}] if blocks else []

    def _part(self, part: Part) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        source = {"type": "base64", "media_type": part.mime_type, "data": base64_of(part)}
        if part.mime_type in PICTURES:
            return {"type": "image", "source": source}
        if part.mime_type == PDF:
            return {"type": "document", "source": source, "title": file_name(part)}
        return {"type": "text", "text": description_of(part)}


def _legal_members(schema: Mapping[str, Any]) -> dict[str, str]:
    # Anthropic accepts the same characters in names of arguments as MCP in names of tools.
    return legal_names(schema.get("properties", ()), "mcp")


def _rename_members(schema: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    if all(name == legal for name, legal in names.items()):
        return schema
    members = {names[name]: member for name, member in schema["properties"].items()}
    return schema | {"properties": members, "required": [names.get(name, name) for name in schema.get("required", ())]}


anthropic = Anthropic("anthropic")
anthropic_strict = Anthropic("anthropic-strict", strict=True)
