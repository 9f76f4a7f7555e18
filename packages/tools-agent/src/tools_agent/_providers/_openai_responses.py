"""`OpenAIResponsesProvider`: OpenAI's Responses API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant
from tools_agent._providers._attempts import Chunks
from tools_agent._providers._encoding import conversation, tool_choice, wire_names, with_settings
from tools_agent._providers._errors import reported_error
from tools_agent._providers._history import searches, with_own_parts
from tools_agent._providers._openai_chat import OpenAIClient, read_usage
from tools_agent._providers._provider import JsonObject, Request
from tools_agent._providers._reply import Api, Reply
from tools_agent._providers._sdk_provider import Client
from tools_core.formats import Format, responses, responses_strict
from tools_core.text import is_blank
from tools_runtime.search import NAME

_SETTINGS = {"max_tokens": "max_output_tokens", "reasoning_effort": "reasoning.effort", "stop": None, "seed": None}
# Models whose reasoning the API returns encrypted; it rejects such requests for others.
_REASONS = re.compile(r"(o\d|gpt-([5-9]|\d\d)(?!.*-chat)|codex)")


def _own(reply: Assistant, items: list[JsonObject]) -> list[JsonObject]:
    """Return a reply with the items that the API has sent, such as its reasoning."""
    return with_own_parts(
        reply.items,
        items,
        is_call=lambda item: item.get("type") == "function_call",
        is_empty=lambda item: item.get("type") == "message" and is_blank(_text_of(item)),
        is_thought=lambda item: item.get("type") == "reasoning",
    )


def _text_of(item: JsonObject) -> str:
    parts = item.get("content") or ()
    if isinstance(parts, str):
        return parts
    return "".join(part.get("text") or part.get("refusal") or "" for part in parts)


def _search_tool(tool: JsonObject) -> JsonObject:
    """Return the search tool in the form whose results can load definitions; other tools stay unchanged."""
    if tool["name"] != NAME:
        return tool
    form = {"type": "tool_search", "execution": "client"}
    return form | {"description": tool["description"], "parameters": tool["parameters"]}


def _with_searches(
    items: list[JsonObject], request: Request, wire: Format, matches: Mapping[str, Sequence[str]]
) -> list[JsonObject]:
    """Return a conversation with searches in the API's form: their results are the definitions."""
    deferred = {tool["name"]: tool for tool in request.deferred}
    names = {wire_name for name, wire_name in wire_names(request, wire).items() if name in deferred}
    searches = {item["call_id"] for item in items if item.get("type") == "function_call" and item["name"] == NAME}
    encoded: list[JsonObject] = []
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
    def __init__(self, api: Api, request: Request) -> None:
        super().__init__(api, request)
        self._items: dict[tuple[str, object], JsonObject] = {}
        self._text = ""  # of the complete items
        self._is_refused = False

    def events_of(self, chunk: JsonObject) -> list[JsonObject]:
        if chunk.get("object") == "response":
            chunk = {"type": f"response.{chunk.get('status') or 'completed'}", "response": chunk}
        if not str(chunk.get("type")).startswith(("response.", "error", "keepalive")):
            return []
        if chunk.get("item"):
            chunk = {**chunk, "item": _as_call(chunk["item"])}
        if (chunk.get("response") or {}).get("output"):
            output = [_as_call(item) for item in chunk["response"]["output"]]
            chunk = {**chunk, "response": {**chunk["response"], "output": output}}
        return [chunk]

    def read(self, chunk: JsonObject) -> Iterator[Delta]:
        kind = chunk["type"].removeprefix("response.")
        if kind in ("output_text.delta", "refusal.delta"):
            self._is_refused |= kind == "refusal.delta"
            yield from self.text(chunk["delta"] or "")
        elif kind in ("reasoning_summary_text.delta", "reasoning_text.delta"):
            yield ReasoningDelta(chunk["delta"])
        elif kind == "output_item.done":
            if item := chunk.get("item"):
                yield from self._add_item(item, chunk.get("output_index", len(self._items)))
        elif kind in ("completed", "incomplete"):
            for index, item in enumerate(chunk["response"].get("output") or ()):
                yield from self._add_item(item, index)
            self._end(chunk["response"], kind)
        elif kind == "failed":
            unknown = {"message": "the response failed", "code": "server_error"}
            raise reported_error(self.provider, chunk["response"].get("error") or unknown)

    def _add_item(self, item: JsonObject, index: int) -> Iterator[Delta]:
        """Keep a complete item, which may come twice, and yield its text if there was no delta of it.

        Some servers give it another id each time, others the same index to all.
        """
        key = item["type"], item.get("call_id") or index
        if key in self._items:
            return
        self._items[key] = item
        if item["type"] == "message":
            parts = item.get("content") or ()
            self._is_refused |= any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts)
            texts = "".join(self.texts) + self._half
            self._text += _text_of(item)
            if len(self._text) > len(texts) and self._text.startswith(texts):
                yield from self.text(self._text[len(texts) :])

    def _end(self, response: JsonObject, kind: str) -> None:
        reason = (response.get("incomplete_details") or {}).get("reason") or response.get("status") or kind
        self.stop = "refusal" if self._is_refused else reason
        if usage := response.get("usage"):
            self.usage = read_usage(usage, "input_tokens", "output_tokens")

    def items(self) -> list[JsonObject]:
        items = list(self._items.values())
        is_plain = all(item["type"] in ("message", "function_call") for item in items)
        if is_plain:
            return []
        if self.request.settings.get("store") or all(map(_is_complete, items)):
            return items
        # The API cannot find items by an id, since it does not store them.
        return [{key: value for key, value in item.items() if key != "id"} for item in items if _is_complete(item)]


def _as_call(item: JsonObject) -> JsonObject:
    """Return a search of tools that this program runs as a call of its tool; other items are unchanged."""
    if item.get("type") != "tool_search_call" or item.get("execution") != "client":
        return item
    arguments = json.dumps(item["arguments"]) if item.get("arguments") else ""
    call_id = item.get("call_id") or item.get("id")
    return {"type": "function_call", "call_id": call_id, "name": NAME, "arguments": arguments}


def _is_complete(item: JsonObject) -> bool:
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

    async def _send(self, client: Client, arguments: JsonObject) -> Chunks:
        return await client.responses.create(**arguments)

    def _encode(self, request: Request) -> JsonObject:
        history = self._history(request)
        messages = conversation(history, self.format, _own)
        arguments: JsonObject = {"model": request.model, "input": messages, "stream": True, "store": False}
        if not request.settings.get("store") and _REASONS.match(request.model):
            arguments["include"] = ["reasoning.encrypted_content"]
        if request.tools:
            arguments["tools"] = self.format.definitions(request.tools)
        if request.deferred:
            arguments["tools"] = [_search_tool(tool) for tool in arguments["tools"]]
            arguments["input"] = _with_searches(messages, request, self.format, searches(history))
        if choice := tool_choice(request, self.format):
            arguments["tool_choice"] = {"type": "function", "name": choice.name} if choice.name else choice.mode
        if output := self._output_form(request):
            arguments["text"] = {"format": {"type": "json_schema", **output}}
        return with_settings(arguments, request, self.name, _SETTINGS)
