"""`AnthropicProvider`: Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Unpack

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._attempts import Chunks
from tools_agent._providers._encoding import (
    alternating,
    instructions_of,
    strict_schema,
    tool_choice,
    wire_names,
    with_settings,
)
from tools_agent._providers._history import searches, with_own_parts
from tools_agent._providers._provider import JsonObject, Request
from tools_agent._providers._reply import Api, Reply, count
from tools_agent._providers._sdk_provider import Client, Sdk, SDKOptions, SDKProvider
from tools_core import ToolCall
from tools_core.formats import Format, anthropic, anthropic_strict, argument_object
from tools_core.text import is_blank

_SETTINGS = {
    "stop": "stop_sequences", "reasoning_effort": "output_config.effort", "temperature": None, "top_p": None,
    "seed": None,
}  # fmt: skip
_PLAIN = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}}  # members that a message also has
_MAX_TOKENS = 16_000  # the API requires a limit; a file that a model writes has to fit


def _own(reply: Assistant, blocks: list[JsonObject]) -> list[JsonObject]:
    """Return a reply with the blocks that the API has sent, such as signed thoughts."""
    return with_own_parts(
        reply.items,
        blocks,
        is_call=lambda block: block["type"] == "tool_use",
        is_empty=lambda block: block["type"] == "text" and is_blank(block.get("text", "")),
        is_thought=lambda block: block["type"] in ("thinking", "redacted_thinking"),
    )


class _Reply(Reply):
    def __init__(self, api: Api, request: Request) -> None:
        super().__init__(api, request)
        self._blocks: dict[int, JsonObject] = {}
        self._inputs: dict[int, str] = {}
        self._usage: dict[str, int] = {}

    def read(self, chunk: JsonObject) -> Iterator[Delta]:
        kind = chunk["type"]
        if kind == "message_start":
            self._count((chunk.get("message") or {}).get("usage"))
        elif kind == "content_block_start" and chunk["content_block"].get("type"):
            block = self._blocks[chunk["index"]] = dict(chunk["content_block"])
            yield from self.text((block.get("text") or "") if block["type"] == "text" else "")
        elif kind == "content_block_delta":
            yield from self._read_delta(chunk["index"], chunk["delta"])
        elif kind == "message_stop":
            self.is_done = True
        elif kind == "message_delta":
            self.stop = chunk["delta"].get("stop_reason")
            self._count(chunk.get("usage"))

    def events_of(self, chunk: JsonObject) -> list[JsonObject]:
        if chunk.get("type") in ("message_delta", "content_block_delta"):
            return [{**chunk, "delta": chunk.get("delta") or {}}]
        if chunk.get("type") != "message":
            return [chunk] if isinstance(chunk.get("type"), str) else []
        self.is_done = True
        content = chunk.get("content") or ()
        blocks = enumerate([{"type": "text", "text": content}] if isinstance(content, str) else content)
        starts = [{"type": "content_block_start", "index": index, "content_block": block} for index, block in blocks]
        end = {"type": "message_delta", "delta": chunk, "usage": chunk.get("usage")}
        return [{"type": "message_start", "message": {"usage": None}}, *starts, end]

    def _read_delta(self, index: int, delta: JsonObject) -> Iterator[Delta]:
        kind = delta["type"].removesuffix("_delta")
        if kind == "input_json" and index in self._blocks:
            self._inputs[index] = self._inputs.get(index, "") + (delta.get("partial_json") or "")
        elif kind in ("text", "thinking", "signature"):
            block = self._blocks.setdefault(index, {"type": kind})  # some servers send no start
            piece = delta.get(kind) or ""
            block[kind] = (block.get(kind) or "") + piece
            if kind == "text":
                yield from self.text(piece)
            elif kind == "thinking" and piece:
                yield ReasoningDelta(piece)
        elif kind == "citations":
            block = self._blocks[index]
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]

    def _count(self, usage: object) -> None:
        """Note the tokens so far, which later events repeat or raise."""
        numbers = usage if isinstance(usage, Mapping) else {}
        self._usage |= {key: count(numbers, key) for key, value in numbers.items() if value is not None}
        read, creation = (self._usage.get(f"cache_{word}_input_tokens", 0) for word in ("read", "creation"))
        self.usage = Usage(
            input_tokens=self._usage.get("input_tokens", 0) + read + creation,
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=creation,
        )

    def items(self) -> list[JsonObject]:
        for index, text in self._inputs.items():
            self._blocks[index]["input"] = argument_object(ToolCall(None, "", text))
        blocks = [{key: value for key, value in block.items() if value is not None} for block in self._blocks.values()]
        is_plain = all(block.keys() == _PLAIN.get(block["type"]) for block in blocks)
        return [] if is_plain and "text" not in [block["type"] for block in blocks][1:] else blocks


def _add_references(
    messages: list[JsonObject], request: Request, wire: Format, matches: Mapping[str, Sequence[str]]
) -> None:
    """Let the API load the definitions that searches have found: their results become references to tools."""
    names = wire_names(request, wire)
    declared = {tool["name"] for tool in request.definitions}
    for block in (block for message in messages for block in message["content"]):
        if block["type"] == "tool_result":
            loaded = [names[name] for name in matches.get(block["tool_use_id"], ()) if name in declared]
            if loaded:
                block["content"] = [{"type": "tool_reference", "tool_name": name} for name in loaded]


def _mark_for_cache(arguments: JsonObject, tool_count: int) -> None:
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
    variable = "ANTHROPIC_BASE_URL"
    hosts = ("api.anthropic.com", ".anthropic.com")
    loading_models = re.compile(r"claude-(?!instant|[23]|haiku-4-[0-4])")
    reply = _Reply

    def __init__(self, model: str = "", *, cache: bool = True, **options: Unpack[SDKOptions]) -> None:
        super().__init__(model, **options)
        self._cache = cache

    def _create_client(self, sdk: Sdk) -> Client:
        return sdk.AsyncAnthropic(max_retries=0, **self._options)

    async def _send(self, client: Client, arguments: JsonObject) -> Chunks:
        return await client.messages.create(**arguments)

    def _takes_schema(self, request: Request) -> bool:
        return request.output_schema is None or strict_schema(request.output_schema, anthropic_strict).is_strict

    def _encode(self, request: Request) -> JsonObject:
        history = self._history(request)
        system = instructions_of(history)
        messages = alternating(history, self.format, _own, model="assistant", key="content")
        arguments: JsonObject = {"model": request.model, "messages": messages, "max_tokens": _MAX_TOKENS}
        arguments["stream"] = True
        if request.definitions:
            arguments["tools"] = self.format.definitions(request.definitions)
            for tool in arguments["tools"][len(request.tools) :]:
                tool["defer_loading"] = True
        if choice := tool_choice(request, self.format):
            kind = {"required": "any"}.get(choice.mode, choice.mode)
            arguments["tool_choice"] = {"type": kind} | ({"name": choice.name} if choice.name else {})
        if request.deferred:
            _add_references(messages, request, self.format, searches(history))
        if request.output_schema is not None:
            schema = strict_schema(request.output_schema, anthropic_strict).schema
            arguments["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if system:
            arguments["system"] = [{"type": "text", "text": system}]
        if self._cache:
            _mark_for_cache(arguments, len(request.tools))
        return with_settings(arguments, request, self.name, _SETTINGS)
