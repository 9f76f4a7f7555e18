"""`AnthropicProvider`: Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._output import definition_of, instruction
from tools_agent._providers._provider import Request
from tools_agent._providers._retry import Retry
from tools_agent._providers._sdk_provider import Reply, SDKProvider, alternating, sdk
from tools_agent._providers._turns import argument_object
from tools_core.formats import anthropic, anthropic_strict

_MAX_TOKENS = 16_000  # the API wants a limit; a file that a model writes has to fit


class AnthropicProvider(SDKProvider):
    """Anthropic's Messages API. `strict` asks for arguments that fit the tools' schemas for sure."""

    name = "anthropic"

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: Any = None,
        async_client: Any = None,
        retry: Retry | None = None,
        strict: bool = False,
    ) -> None:
        super().__init__(api_key=api_key, base_url=base_url, client=client, async_client=async_client, retry=retry)
        self.format = anthropic_strict if strict else anthropic

    def _make_client(self, *, is_async: bool) -> Any:
        module = sdk("anthropic", "anthropic")
        return (module.AsyncAnthropic if is_async else module.Anthropic)(max_retries=0, **self._options)

    def _send(self, client: Any, arguments: dict[str, Any], timeout: float | None) -> Any:
        return client.messages.create(**arguments, **({} if timeout is None else {"timeout": timeout}))

    def _reply(self, request: Request) -> Reply:
        return _Reply(self, request)

    def _encode(self, request: Request) -> dict[str, Any]:
        names = self._wire_names(request)
        system, messages = alternating(self, request, "assistant", "content", lambda reply: _blocks(reply, names))
        made: dict[str, Any] = {"model": request.model, "messages": messages, "max_tokens": _MAX_TOKENS, "stream": True}
        if request.tools:
            made["tools"] = self.format.definitions(request.tools)
        if request.output_schema is not None:
            [definition] = anthropic_strict.definitions([definition_of(request.output_schema)])
            if definition["strict"]:
                made["output_config"] = {"format": {"type": "json_schema", "schema": definition["input_schema"]}}
            else:
                system = f"{system}\n\n{instruction(request.output_schema)}".lstrip()
        if system:
            made["system"] = system
        return {**made, **request.settings}


def _blocks(message: Assistant, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a reply as content blocks."""
    made: list[dict[str, Any]] = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return made + [
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

    def __init__(self, provider: AnthropicProvider, request: Request) -> None:
        super().__init__(provider, request)
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        self._usage: dict[str, int] = {}
        self._names = provider._wire_names(request)

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
        read, written = (self._usage.get(f"cache_{word}_input_tokens", 0) for word in ("read", "creation"))
        self.usage = Usage(
            input_tokens=self._usage.get("input_tokens", 0) + read + written,
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )

    def items(self, message: Assistant) -> list[dict[str, Any]]:
        for index, text in self._inputs.items():
            try:
                self._blocks[index]["input"] = json.loads(text or "{}")
            except ValueError:  # the API takes objects alone
                return []
        blocks = [block for block in self._blocks.values() if block.get("text") != ""]
        return [] if blocks == _blocks(message, self._names) else blocks
