"""`AnthropicProvider`: Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._output import instruction, strict_schema
from tools_agent._providers._provider import Request
from tools_agent._providers._reply import Reply
from tools_agent._providers._sdk_provider import SDKProvider, sdk
from tools_agent._providers._settings import with_settings
from tools_agent._providers._turns import alternating, argument_object, own_items, wire_names
from tools_core.formats import Format, anthropic, anthropic_strict

_SETTINGS = {
    "stop": "stop_sequences",
    "reasoning_effort": "output_config.effort",
    "temperature": None,
    "top_p": None,
    "seed": None,
}
_MAX_TOKENS = 16_000  # the API wants a limit; a file that a model writes has to fit


class AnthropicProvider(SDKProvider):
    """Anthropic's Messages API.

    The tools, the system prompt and the messages so far are marked for Anthropic's cache, which reduces the price and
    the delay of later requests; `cache=False` sends no marks. Other arguments: see `OpenAIProvider`.
    """

    name = "anthropic"
    formats = (anthropic, anthropic_strict)

    def __init__(self, model: str = "", *, cache: bool = True, **options: Any) -> None:
        super().__init__(model, **options)
        self._cache = cache

    def _make_client(self, *, is_async: bool) -> Any:
        module = sdk("anthropic", "anthropic")
        return (module.AsyncAnthropic if is_async else module.Anthropic)(max_retries=0, **self._options)

    def _send(self, client: Any, arguments: dict[str, Any], timeout: float | None) -> Any:
        return client.messages.create(**arguments, **({} if timeout is None else {"timeout": timeout}))

    def _reply(self, request: Request) -> Reply:
        return _Reply(self.name, self.format, request)

    def _encode(self, request: Request) -> dict[str, Any]:
        names = wire_names(request, self.format)

        def own(reply: Assistant) -> list[dict[str, Any]]:
            return own_items(reply, self.name) or _blocks(reply, names)

        system, messages = alternating(request, self.format, "assistant", "content", own)
        arguments: dict[str, Any] = {
            "model": request.model,
            "messages": messages,
            "max_tokens": _MAX_TOKENS,
            "stream": True,
        }
        if request.tools:
            arguments["tools"] = self.format.definitions(request.tools)
        if request.output_schema is not None:
            strict = strict_schema(request.output_schema, anthropic_strict)
            if strict and strict[1]:
                arguments["output_config"] = {"format": {"type": "json_schema", "schema": strict[0]}}
            else:
                system = f"{system}\n\n{instruction(request.output_schema)}".lstrip()
        if system:
            arguments["system"] = [{"type": "text", "text": system}]
        if self._cache:
            # The end of the previous request is marked too: the API looks back only 20 blocks from a mark.
            inputs = [message["content"] for message in messages if message["role"] == "user"][-2:]
            for blocks in (arguments.get("tools"), arguments.get("system"), *inputs):
                if blocks:
                    blocks[-1] = {**blocks[-1], "cache_control": {"type": "ephemeral"}}
        return with_settings(arguments, request, self.name, _SETTINGS)


def _blocks(message: Assistant, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a reply as content blocks."""
    arguments: list[dict[str, Any]] = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return arguments + [
        {"type": "tool_use", "id": call.id, "name": names.get(call.name, call.name), "input": argument_object(call)}
        for call in message.tool_calls
    ]


class _Reply(Reply):
    stops: ClassVar = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "tool",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
    }

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
        block = self._blocks[index]
        if delta["type"] == "text_delta":
            block["text"] += delta["text"]
            yield from self.text(delta["text"])
        elif delta["type"] == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
            if block["type"] == "tool_use":
                yield self.call_delta(index, None, None, delta["partial_json"])
        elif delta["type"] == "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta["thinking"]
            yield ReasoningDelta(delta["thinking"])
        elif delta["type"] == "signature_delta":
            block["signature"] = block.get("signature", "") + delta["signature"]
        elif delta["type"] == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Note the tokens so far, which later events repeat or raise."""
        self._usage |= {key: value for key, value in (usage or {}).items() if isinstance(value, int)}
        read, stored = (self._usage.get(f"cache_{word}_input_tokens", 0) for word in ("read", "creation"))
        self.usage = Usage(
            input_tokens=self._usage.get("input_tokens", 0) + read + stored,
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=stored,
        )

    def items(self, message: Assistant) -> list[dict[str, Any]]:
        for index, text in self._inputs.items():
            try:
                self._blocks[index]["input"] = json.loads(text or "{}")
            except ValueError:  # the API takes objects alone
                return []
        blocks = [block for block in self._blocks.values() if block.get("text") != ""]
        return [] if blocks == _blocks(message, self.names) else blocks
