"""`AnthropicProvider`: Anthropic's Messages API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._encoding import (
    alternating,
    argument_object,
    instruction,
    strict_schema,
    wire_names,
    with_settings,
)
from tools_agent._providers._provider import Request
from tools_agent._providers._reply import Reply
from tools_agent._providers._sdk_provider import SDKProvider
from tools_agent._search import matches_in
from tools_core.formats import Format, anthropic, anthropic_strict

_SETTINGS = {
    "stop": "stop_sequences", "reasoning_effort": "output_config.effort", "temperature": None, "top_p": None,
    "seed": None,
}  # fmt: skip
_MAX_TOKENS = 16_000  # the API requires a limit; a file that a model writes has to fit


def _blocks(message: Assistant, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a reply as content blocks."""
    texts: list[dict[str, Any]] = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return texts + [
        {"type": "tool_use", "id": call.id, "name": names.get(call.name, call.name), "input": argument_object(call)}
        for call in message.tool_calls
    ]


class _Reply(Reply):
    stops: ClassVar = {
        "end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool", "max_tokens": "length",
        "model_context_window_exceeded": "length",
    }  # fmt: skip

    def __init__(self, provider: str, wire: Format, request: Request) -> None:
        super().__init__(provider, wire, request)
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._usage: dict[str, int] = {}

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        kind = chunk["type"]
        if kind == "message_start":
            self._count(chunk["message"].get("usage"))
        elif kind == "content_block_start":
            block = self._blocks[chunk["index"]] = dict(chunk["content_block"])
            if block["type"] == "tool_use":
                yield self.call_delta(chunk["index"], block["id"], block["name"], "")
            yield from self.text(block["text"] if block["type"] == "text" else "")
        elif kind == "content_block_delta":
            yield from self._read_delta(chunk["index"], chunk["delta"])
        elif kind == "message_delta":
            self.stop = chunk["delta"].get("stop_reason")
            self._count(chunk.get("usage"))

    def _read_delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[Delta]:
        block, kind = self._blocks[index], delta["type"].removesuffix("_delta")
        if kind == "text":
            block["text"] += delta["text"]
            yield from self.text(delta["text"])
        elif kind == "input_json":
            self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
            if block["type"] == "tool_use":
                yield self.call_delta(index, None, None, delta["partial_json"])
        elif kind in ("thinking", "signature"):
            block[kind] = block.get(kind, "") + delta[kind]
            if kind == "thinking":
                yield ReasoningDelta(delta["thinking"])
        elif kind == "citations":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Note the tokens so far, which later events repeat or raise."""
        self._usage |= {key: value for key, value in (usage or {}).items() if isinstance(value, int)}
        read, creation = (self._usage.get(f"cache_{word}_input_tokens", 0) for word in ("read", "creation"))
        self.usage = Usage(
            input_tokens=self._usage.get("input_tokens", 0) + read + creation,
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=creation,
        )

    def items(self, message: Assistant) -> list[dict[str, Any]]:
        for index, text in self._inputs.items():
            try:
                self._blocks[index]["input"] = json.loads(text or "{}")
            except ValueError:  # the API accepts only objects
                return []
        blocks = [block for block in self._blocks.values() if block.get("text") != ""]
        return [] if blocks == _blocks(message, self.names) else blocks


def _add_references(messages: list[dict[str, Any]], request: Request, wire: Format) -> None:
    """Let the API load the definitions that searches have found: their results become references to tools."""
    names = wire_names(request, wire)
    declared = {tool["name"] for tool in request.definitions}
    matches = matches_in(request.messages)
    for block in (block for message in messages for block in message["content"]):
        if block["type"] == "tool_result":
            loaded = [names[name] for name in matches.get(block["tool_use_id"], ()) if name in declared]
            if loaded:
                block["content"] = [{"type": "tool_reference", "tool_name": name} for name in loaded]


def _mark_for_cache(arguments: dict[str, Any], tool_count: int) -> None:
    """Mark the ends of the tools, of the system prompt and of the messages; a deferred tool cannot be marked."""
    # The end of the previous request is marked too: the API looks back only 20 blocks from a mark.
    inputs = [message["content"] for message in arguments["messages"] if message["role"] == "user"][-2:]
    ends = [(arguments.get("tools"), tool_count), (arguments.get("system"), 1)]
    for blocks, end in [*ends, *((blocks, len(blocks)) for blocks in inputs)]:
        if blocks and end:
            blocks[end - 1] = {**blocks[end - 1], "cache_control": {"type": "ephemeral"}}


class AnthropicProvider(SDKProvider):
    """Anthropic's Messages API.

    The tools, the system prompt and the messages so far are marked for Anthropic's cache, which reduces the price and
    the delay of later requests; `cache=False` sends no marks. Other arguments: see `OpenAIProvider`.
    """

    name = sdk = extra = "anthropic"
    formats = (anthropic, anthropic_strict)
    hosts = (".anthropic.com",)
    loading_models = re.compile(r"claude-(?!instant|[23]|haiku-4-[0-4])")
    reply = _Reply

    def __init__(self, model: str = "", *, cache: bool = True, **options: Any) -> None:
        super().__init__(model, **options)
        self._cache = cache

    def _create_client(self, sdk: Any, *, is_async: bool) -> Any:
        return (sdk.AsyncAnthropic if is_async else sdk.Anthropic)(max_retries=0, **self._options)

    def _send(self, client: Any, arguments: dict[str, Any]) -> Any:
        return client.messages.create(**arguments)

    def _encode(self, request: Request) -> dict[str, Any]:
        system, messages = alternating(request, self.name, self.format, _blocks, model="assistant", key="content")
        arguments: dict[str, Any] = {"model": request.model, "messages": messages, "max_tokens": _MAX_TOKENS}
        arguments["stream"] = True
        if request.definitions:
            arguments["tools"] = self.format.definitions(request.definitions)
            for tool in arguments["tools"][len(request.tools) :]:
                tool["defer_loading"] = True
        if request.deferred:
            _add_references(messages, request, self.format)
        if request.output_schema is not None:
            strict = strict_schema(request.output_schema, anthropic_strict)
            if strict and strict[1]:
                arguments["output_config"] = {"format": {"type": "json_schema", "schema": strict[0]}}
            else:
                system = f"{system}\n\n{instruction(request.output_schema)}".lstrip()
        if system:
            arguments["system"] = [{"type": "text", "text": system}]
        if self._cache:
            _mark_for_cache(arguments, len(request.tools))
        return with_settings(arguments, request, self.name, _SETTINGS)
