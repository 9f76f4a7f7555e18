"""`OpenAIResponsesProvider`: OpenAI's Responses API."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant
from tools_agent._providers._encoding import conversation, tool_choice, wire_names, with_settings
from tools_agent._providers._errors import reported_error
from tools_agent._providers._history import searches, with_own_parts
from tools_agent._providers._openai_chat import OpenAIClient, read_usage
from tools_agent._providers._provider import Request
from tools_agent._providers._reply import Reply
from tools_core.formats import Format, responses, responses_strict
from tools_core.search import NAME
from tools_core.text import is_blank

_SETTINGS = {"max_tokens": "max_output_tokens", "reasoning_effort": "reasoning.effort", "stop": None, "seed": None}
# Models whose reasoning the API returns encrypted; it rejects such requests for others.
_REASONS = re.compile(r"(o\d|gpt-([5-9]|\d\d)(?!.*-chat)|codex)")


def _own(reply: Assistant, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a reply with the items that the API has sent, such as its reasoning."""
    return with_own_parts(
        reply.items,
        items,
        is_call=lambda item: item.get("type") == "function_call",
        is_empty=lambda item: item.get("type") == "message" and is_blank(_text_of(item)),
        is_thought=lambda item: item.get("type") == "reasoning",
    )


def _text_of(item: Mapping[str, Any]) -> str:
    parts = item.get("content") or ()
    return "".join(part.get("text") or part.get("refusal") or "" for part in parts)


def _search_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the search tool in the form whose results can load definitions; other tools stay unchanged."""
    if tool["name"] != NAME:
        return tool
    form = {"type": "tool_search", "execution": "client"}
    return form | {"description": tool["description"], "parameters": tool["parameters"]}


def _with_searches(
    items: list[dict[str, Any]], request: Request, wire: Format, matches: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Return a conversation with searches in the API's form: their results are the definitions."""
    deferred = {tool["name"]: tool for tool in request.deferred}
    names = {wire_name for name, wire_name in wire_names(request, wire).items() if name in deferred}
    searches = {item["call_id"] for item in items if item.get("type") == "function_call" and item["name"] == NAME}
    encoded: list[dict[str, Any]] = []
    for item in items:
        kind, call_id = item.get("type"), item.get("call_id")
        search = {"execution": "client", "call_id": call_id, "status": "completed"}
        if kind == "function_call" and item["name"] == NAME:
            encoded.append({"type": "tool_search_call", **search, "arguments": json.loads(item["arguments"])})
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


class _Reply(Reply):
    stops: ClassVar = {"completed": "stop", "max_output_tokens": "length", "incomplete": "length"}

    def __init__(self, provider: str, wire: Format, request: Request, server: str | None = None) -> None:
        super().__init__(provider, wire, request, server)
        self._items: dict[str, dict[str, Any]] = {}
        self._text = ""  # of the complete items
        self._is_refused = False

    def events_of(self, chunk: dict[str, Any]) -> list[dict[str, Any]]:
        if chunk.get("object") == "response":
            chunk = {"type": f"response.{chunk.get('status') or 'completed'}", "response": chunk}
        if "item" in chunk:
            chunk = {**chunk, "item": _as_call(chunk["item"])}
        if (chunk.get("response") or {}).get("output"):
            output = [_as_call(item) for item in chunk["response"]["output"]]
            chunk = {**chunk, "response": {**chunk["response"], "output": output}}
        return [chunk]

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        kind = chunk["type"].removeprefix("response.")
        if kind in ("output_text.delta", "refusal.delta"):
            self._is_refused |= kind == "refusal.delta"
            yield from self.text(chunk["delta"])
        elif kind in ("reasoning_summary_text.delta", "reasoning_text.delta"):
            yield ReasoningDelta(chunk["delta"])
        elif kind == "output_item.done":
            yield from self._add_item(chunk["item"])
        elif kind in ("completed", "incomplete"):
            for item in chunk["response"].get("output") or ():
                yield from self._add_item(item)
            self._end(chunk["response"], kind)
        elif kind in ("error", "failed"):
            raise reported_error(self.provider, chunk if kind == "error" else chunk["response"])

    def _add_item(self, item: dict[str, Any]) -> Iterator[Delta]:
        """Keep a complete item, which may come twice, and yield its text if there was no delta of it."""
        key = f"{item['id']} {item.get('call_id')}" if item.get("id") else json.dumps(item, sort_keys=True)
        if key in self._items:
            return
        self._items[key] = item
        if item["type"] == "message":
            parts = item.get("content") or ()
            self._is_refused |= any(part.get("type") == "refusal" for part in parts)
            texts = "".join(self.texts) + self._half
            self._text += _text_of(item)
            if len(self._text) > len(texts) and self._text.startswith(texts):
                yield from self.text(self._text[len(texts) :])

    def _end(self, response: Mapping[str, Any], kind: str) -> None:
        reason = (response.get("incomplete_details") or {}).get("reason") or response.get("status") or kind
        self.stop = "refusal" if self._is_refused else reason
        if usage := response.get("usage"):
            self.usage = read_usage(usage, "input_tokens", "output_tokens")

    def items(self) -> list[dict[str, Any]]:
        items = list(self._items.values())
        is_plain = all(item["type"] in ("message", "function_call") for item in items)
        if is_plain:
            return []
        if self.request.settings.get("store") or all(map(_is_complete, items)):
            return items
        # The API cannot find items by an id, since it does not store them.
        return [{key: value for key, value in item.items() if key != "id"} for item in items if _is_complete(item)]


def _as_call(item: dict[str, Any]) -> dict[str, Any]:
    """Return a search of tools that this program runs as a call of its tool; other items are unchanged."""
    if item.get("type") != "tool_search_call" or item.get("execution") != "client":
        return item
    arguments = json.dumps(item["arguments"]) if item.get("arguments") else ""
    call_id = item.get("call_id") or item.get("id")
    return {"type": "function_call", "call_id": call_id, "name": NAME, "arguments": arguments}


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

    def _function(self, client: Any) -> Callable[..., Any]:
        function: Callable[..., Any] = client.responses.create
        return function

    def _encode(self, request: Request) -> dict[str, Any]:
        history = self._history(request)
        messages = conversation(history, self.format, _own)
        arguments: dict[str, Any] = {"model": request.model, "input": messages, "stream": True, "store": False}
        if not request.settings.get("store") and _REASONS.match(request.model):
            arguments["include"] = ["reasoning.encrypted_content"]
        if request.tools:
            arguments["tools"] = self.format.definitions(request.tools)
        if request.deferred:
            arguments["tools"] = [_search_tool(tool) for tool in arguments["tools"]]
            arguments["input"] = _with_searches(messages, request, self.format, searches(history))
        if choice := tool_choice(request, self.format):
            arguments["tool_choice"] = {"type": "function", "name": choice.name} if choice.name else choice.mode
        if schema := self._json_schema(request, messages, responses_strict):
            arguments["text"] = {"format": {"type": "json_schema", **schema}}
        return with_settings(arguments, request, self.name, _SETTINGS)
