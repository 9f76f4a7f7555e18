"""`OpenAIResponsesProvider`: OpenAI's Responses API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant
from tools_agent._providers._encoding import argument_text, conversation, wire_names, with_settings
from tools_agent._providers._openai_chat import OpenAIClient, read_usage
from tools_agent._providers._provider import Request
from tools_agent._providers._reply import Reply
from tools_agent._providers._retry import reported_error
from tools_agent._search import matches_in
from tools_core.formats import Format, responses, responses_strict
from tools_core.search import NAME

_SETTINGS = {"max_tokens": "max_output_tokens", "reasoning_effort": "reasoning.effort", "stop": None, "seed": None}
# Models whose reasoning the API returns encrypted; it rejects such requests for others.
_REASONS = re.compile(r"(o\d|gpt-([5-9]|\d\d)(?!.*-chat)|codex)")


def _items(message: Assistant, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a reply as items of the API."""
    items: list[dict[str, Any]] = []
    if message.content.strip():
        items.append({"role": "assistant", "content": message.content})
    for call in message.tool_calls:
        function = {"call_id": call.id or "", "name": names.get(call.name, call.name), "arguments": argument_text(call)}
        items.append({"type": "function_call", **function})
    return items


def _search_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the search tool in the form whose results can load definitions; other tools stay unchanged."""
    if tool["name"] != NAME:
        return tool
    form = {"type": "tool_search", "execution": "client"}
    return form | {"description": tool["description"], "parameters": tool["parameters"]}


def _with_searches(items: list[dict[str, Any]], request: Request, wire: Format) -> list[dict[str, Any]]:
    """Return a conversation with searches in the API's form: their results are the definitions."""
    matches = matches_in(request.messages)
    deferred = {tool["name"]: tool for tool in request.deferred}
    names = {wire_name for name, wire_name in wire_names(request, wire).items() if name in deferred}
    searches = {item["call_id"] for item in items if item.get("type") == "function_call" and item["name"] == NAME}
    encoded: list[dict[str, Any]] = []
    for item in items:
        kind, call_id = item.get("type"), item.get("call_id")
        search = {"execution": "client", "call_id": call_id, "status": "completed"}
        if kind == "function_call" and item["name"] == NAME:
            encoded.append({"type": "tool_search_call", **search, "arguments": _json_object(item["arguments"])})
        elif kind == "function_call_output" and call_id in searches:
            names_of_call = matches.get(str(call_id), ())
            definitions = wire.definitions([deferred[name] for name in names_of_call if name in deferred])
            tools = [{**definition, "defer_loading": True} for definition in definitions]
            encoded.append({"type": "tool_search_output", **search, "tools": tools})
        elif kind == "function_call" and item["name"] in names:
            encoded.append({"namespace": item["name"], **item})  # the API looks for a loaded tool in a namespace
        else:
            encoded.append(item)
    return encoded


def _json_object(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {}


class _Reply(Reply):
    stops: ClassVar = {"completed": "stop", "max_output_tokens": "length", "incomplete": "length"}

    def __init__(self, provider: str, wire: Format, request: Request) -> None:
        super().__init__(provider, wire, request)
        self._items: dict[int, dict[str, Any]] = {}
        self._is_refused = False

    def dumped(self, chunk: Any) -> dict[str, Any]:
        dumped = super().dumped(chunk)
        item = dumped.get("item") or {}
        if item.get("type") == "tool_search_call" and item.get("execution") == "client":
            arguments = json.dumps(item["arguments"]) if item.get("arguments") else ""
            call_id = item.get("call_id") or item.get("id")
            dumped["item"] = {"type": "function_call", "call_id": call_id, "name": NAME, "arguments": arguments}
        return dumped

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        kind = chunk["type"].removeprefix("response.")
        index = chunk.get("output_index")
        if kind in ("output_text.delta", "refusal.delta"):
            self._is_refused |= kind == "refusal.delta"
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
        self.stop = "refusal" if self._is_refused else reason
        if usage := response.get("usage"):
            self.usage = read_usage(usage, "input_tokens", "output_tokens")

    def items(self, message: Assistant) -> list[dict[str, Any]]:
        items = [self._items[index] for index in sorted(self._items)]
        is_plain = all(item["type"] in ("message", "function_call") for item in items)
        ids = [item.get("call_id") for item in items if item["type"] == "function_call"]
        if is_plain or ids != [call.id for call in message.tool_calls]:
            return []
        if self.request.settings.get("store") or all(map(_is_complete, items)):
            return items
        # The API cannot find items by an id, since it does not store them.
        return [{key: value for key, value in item.items() if key != "id"} for item in items if _is_complete(item)]


def _is_complete(item: Mapping[str, Any]) -> bool:
    return item["type"] != "reasoning" or bool(item.get("encrypted_content"))


class OpenAIResponsesProvider(OpenAIClient):
    """OpenAI's Responses API.

    The API stores nothing: the session has the reasoning in encrypted form, and later requests contain it. With the
    setting `store=True` OpenAI stores it instead.
    """

    name = "openai-responses"
    formats = (responses, responses_strict)
    reply = _Reply
    loading_models = re.compile(r"gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)")

    def _send(self, client: Any, arguments: dict[str, Any]) -> Any:
        return client.responses.create(**arguments)

    def _encode(self, request: Request) -> dict[str, Any]:
        messages = conversation(request, self.name, self.format, _items)
        arguments: dict[str, Any] = {"model": request.model, "input": messages, "stream": True, "store": False}
        if not request.settings.get("store") and _REASONS.match(request.model):
            arguments["include"] = ["reasoning.encrypted_content"]
        if request.tools:
            arguments["tools"] = self.format.definitions(request.tools)
        if request.deferred:
            arguments["tools"] = [_search_tool(tool) for tool in arguments["tools"]]
            arguments["input"] = _with_searches(messages, request, self.format)
        if schema := self._json_schema(request, messages, responses_strict):
            arguments["text"] = {"format": {"type": "json_schema", **schema}}
        return with_settings(arguments, request, self.name, _SETTINGS)
