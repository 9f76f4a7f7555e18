"""`OpenAIResponsesProvider`: OpenAI's Responses API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, System, Usage, User
from tools_agent._providers._openai_client import OpenAIClient
from tools_agent._providers._output import NAME, instruction, strict_schema
from tools_agent._providers._provider import Request
from tools_agent._providers._reply import Reply
from tools_agent._providers._retry import reported_error
from tools_agent._providers._settings import with_settings
from tools_agent._providers._turns import argument_text, own_items, turns, wire_names
from tools_core.formats import Format, responses, responses_strict

_SETTINGS = {
    "max_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "stop": None,
    "seed": None,
}
# Models whose reasoning the API can hand out encrypted; it refuses the request for others.
_REASONS = re.compile(r"(o\d|gpt-([5-9]|\d\d)(?!.*-chat)|codex)")


class OpenAIResponsesProvider(OpenAIClient):
    """OpenAI's Responses API.

    Nothing is stored at the provider: the session keeps reasoning in encrypted form and sends it back. The setting
    `store=True` keeps it there instead, for as long as the provider does.
    """

    name = "openai-responses"
    formats = (responses, responses_strict)

    def _send(self, client: Any, arguments: dict[str, Any], timeout: float | None) -> Any:
        return client.responses.create(**arguments, **({} if timeout is None else {"timeout": timeout}))

    def _reply(self, request: Request) -> Reply:
        return _Reply(self.name, self.format, request)

    def _encode(self, request: Request) -> dict[str, Any]:
        names = wire_names(request, self.format)
        is_stored = request.settings.get("store", False)
        sent: list[dict[str, Any]] = []
        for turn in turns(request.messages):
            if isinstance(turn, System):
                sent.append({"role": "system", "content": turn.content})
            elif isinstance(turn, User):
                content = self.format.content([turn.content, *turn.files]) if turn.files else turn.content
                sent.append({"role": "user", "content": content})
            elif isinstance(turn, Assistant):
                items = _sent_back(own_items(turn, self.name), is_stored=is_stored)
                sent += items or _items(turn, names)
            else:
                sent += self.format.results(turn, request.tools)
        arguments: dict[str, Any] = {"model": request.model, "input": sent, "stream": True, "store": False}
        if not is_stored and _REASONS.match(request.model):
            arguments["include"] = ["reasoning.encrypted_content"]
        if request.tools:
            arguments["tools"] = self.format.definitions(request.tools)
        if request.output_schema is not None:
            if strict := strict_schema(request.output_schema, responses_strict):
                schema = {"name": NAME, "schema": strict[0], "strict": strict[1]}
                arguments["text"] = {"format": {"type": "json_schema", **schema}}
            else:
                sent.append({"role": "system", "content": instruction(request.output_schema)})
        return with_settings(arguments, request, self.name, _SETTINGS)


def _sent_back(items: list[dict[str, Any]], *, is_stored: bool) -> list[dict[str, Any]]:
    """Return items of a reply without what the API cannot find again if it did not store them."""
    if is_stored or all(item.get("encrypted_content") for item in items if item["type"] == "reasoning"):
        return items
    sendable = [item for item in items if item["type"] != "reasoning" or item.get("encrypted_content")]
    return [{key: value for key, value in item.items() if key != "id"} for item in sendable]


def _items(message: Assistant, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a reply as items of the API."""
    arguments: list[dict[str, Any]] = []
    if message.content.strip():
        arguments.append({"role": "assistant", "content": message.content})
    for call in message.tool_calls:
        function = {"call_id": call.id or "", "name": names.get(call.name, call.name), "arguments": argument_text(call)}
        arguments.append({"type": "function_call", **function})
    return arguments


class _Reply(Reply):
    stops: ClassVar = {"completed": "stop", "max_output_tokens": "length", "incomplete": "length"}

    def __init__(self, provider: str, wire: Format, request: Request) -> None:
        super().__init__(provider, wire, request)
        self._items: dict[int, dict[str, Any]] = {}
        self._refused = False

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        kind = chunk["type"].removeprefix("response.")
        index = chunk.get("output_index")
        if kind in ("output_text.delta", "refusal.delta"):
            self._refused |= kind == "refusal.delta"
            yield from self.text(chunk["delta"])
        elif kind in ("reasoning_summary_text.delta", "reasoning_text.delta"):
            yield ReasoningDelta(chunk["delta"])
        elif kind == "output_item.added" and chunk["item"]["type"] == "function_call":
            yield self.call_delta(index, chunk["item"].get("call_id"), chunk["item"]["name"], "")
        elif kind == "function_call_arguments.delta":
            yield self.call_delta(index, None, None, chunk["delta"])
        elif kind == "output_item.done":
            self._items[chunk["output_index"]] = chunk["item"]
        elif kind in ("completed", "incomplete"):
            self._end(chunk["response"], kind)
        elif kind in ("error", "failed"):
            raise reported_error(self.provider, chunk if kind == "error" else chunk["response"])

    def _end(self, response: Mapping[str, Any], kind: str) -> None:
        reason = (response.get("incomplete_details") or {}).get("reason") or response.get("status") or kind
        self.stop = "refusal" if self._refused else reason
        if usage := response.get("usage"):
            self.usage = Usage(
                input_tokens=usage.get("input_tokens") or 0,
                output_tokens=usage.get("output_tokens") or 0,
                cache_read_tokens=(usage.get("input_tokens_details") or {}).get("cached_tokens") or 0,
            )

    def items(self, message: Assistant) -> list[dict[str, Any]]:
        items = [self._items[index] for index in sorted(self._items)]
        is_plain = all(item["type"] in ("message", "function_call") for item in items)
        ids = [item.get("call_id") for item in items if item["type"] == "function_call"]
        return [] if is_plain or ids != [call.id for call in message.tool_calls] else items
