"""`OpenAIProvider`: OpenAI's Chat Completions, and servers that are compatible with it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._encoding import (
    OUTPUT,
    argument_text,
    conversation,
    instruction,
    strict_schema,
    with_settings,
)
from tools_agent._providers._provider import Request
from tools_agent._providers._reply import Reply
from tools_agent._providers._sdk_provider import SDKProvider
from tools_core.formats import Format, openai, openai_strict

# OpenAI's models reject `max_tokens`, and servers such as Ollama and LM Studio ignore `max_completion_tokens`.
_OPENAI_MODEL = re.compile(r"(openai/)?(chatgpt|codex|gpt-\d|o\d)")
# Members of a message that `Assistant` also has, or that the API does not accept. Others, such as signatures of
# reasoning, become an item.
_MEMBERS = frozenset(("role", "content", "tool_calls", "refusal", "annotations"))
_CALL = frozenset(("function", "id", "index", "type"))
_UNSPLIT = frozenset(("id", "index", "name", "role", "type", "format"))  # not sent in pieces


def _assistant(message: Assistant, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a reply as a message of the API."""
    calls = [
        {
            "id": call.id or "",
            "type": "function",
            "function": {"name": names.get(call.name, call.name), "arguments": argument_text(call)},
        }
        for call in message.tool_calls
    ]
    assistant: dict[str, Any] = {"role": "assistant", "content": message.content or None}
    return [assistant | ({"tool_calls": calls} if calls else {})]


class _Reply(Reply):
    stops: ClassVar = {"tool_calls": "tool", "function_call": "tool"}

    def __init__(self, provider: str, wire: Format, request: Request) -> None:
        super().__init__(provider, wire, request)
        self._message: dict[str, Any] = {}
        self._is_refused = False

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        if usage := chunk.get("usage"):
            self.usage = read_usage(usage, "prompt_tokens", "completion_tokens")
        chunk["choices"] = chunk.get("choices") or []
        for choice in chunk["choices"][:1]:
            delta = choice.get("delta") or {}
            _merge(self._message, delta)
            for word in ("reasoning_content", "reasoning"):
                if isinstance(delta.get(word), str) and delta[word]:
                    yield ReasoningDelta(delta[word])
            self._is_refused |= bool(delta.get("refusal"))
            for word in ("content", "refusal"):
                yield from self.text(delta.get(word) or "")
            for call in delta.get("tool_calls") or ():
                function = call.get("function") or {}
                arguments = function.get("arguments") or ""
                yield self.call_delta(call.get("index"), call.get("id"), function.get("name"), arguments)
            if reason := choice.get("finish_reason"):
                self.stop = "refusal" if self._is_refused else reason

    def items(self, message: Assistant) -> list[dict[str, Any]]:
        calls = self._message.get("tool_calls") or []
        has_more = self._message.keys() - _MEMBERS or any(call.keys() - _CALL for call in calls)
        has_same_ids = [call.get("id") for call in calls] == [call.id for call in message.tool_calls]
        for call in calls:
            call.pop("index", None)
        return [{"role": "assistant"} | self._message] if has_more and has_same_ids else []


def _merge(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a delta to a message: text is appended, and items of lists are identified by their `index`."""
    for key, value in delta.items():
        if isinstance(value, Mapping):
            _merge(message.setdefault(key, {}), value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, Mapping):
                    _merge(_item(message.setdefault(key, []), item), item)
        elif isinstance(value, str) and key in message and key not in _UNSPLIT:
            message[key] += value
        elif value is not None:
            message[key] = value


def _item(items: list[dict[str, Any]], delta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item of a delta, which may be a new one."""
    for item in items:
        same = item.get("index") == delta.get("index") is not None
        if same and delta.get("id") in (None, "", item.get("id")):
            return item
    items.append({})
    return items[-1]


def read_usage(usage: Mapping[str, Any], prompt: str, output: str) -> Usage:
    """Return the tokens of a reply; `prompt` and `output` are the names of their numbers."""
    cached = (usage.get(f"{prompt}_details") or {}).get("cached_tokens") or 0
    return Usage(input_tokens=usage.get(prompt) or 0, output_tokens=usage.get(output) or 0, cache_read_tokens=cached)


class OpenAIClient(SDKProvider):
    """A provider over OpenAI's SDK."""

    sdk = extra = "openai"
    hosts = (".openai.com", ".azure.com")

    def _create_client(self, sdk: Any, *, is_async: bool) -> Any:
        options = dict(self._options)
        if "OPENAI_API_KEY" not in os.environ and (options.get("base_url") or os.environ.get("OPENAI_BASE_URL")):
            options.setdefault("api_key", "none")  # such a server may need no key, but the SDK does
        return (sdk.AsyncOpenAI if is_async else sdk.OpenAI)(max_retries=0, **options)

    def _json_schema(self, request: Request, messages: list[dict[str, Any]], wire: Format) -> dict[str, Any]:
        """Return the schema of the output; if the API does not accept it, add an instruction to the messages."""
        if request.output_schema is None:
            return {}
        if strict := strict_schema(request.output_schema, wire):
            return {"name": OUTPUT, "schema": strict[0], "strict": strict[1]}
        messages.append({"role": "system", "content": instruction(request.output_schema)})
        return {}


class OpenAIProvider(OpenAIClient):
    """OpenAI's Chat Completions, or with `base_url` any server that is compatible with it."""

    name = "openai"
    formats = (openai, openai_strict)
    reply = _Reply

    def _send(self, client: Any, arguments: dict[str, Any]) -> Any:
        return client.chat.completions.create(**arguments)

    def _encode(self, request: Request) -> dict[str, Any]:
        messages = conversation(request, self.name, self.format, _assistant)
        arguments: dict[str, Any] = {"model": request.model, "messages": messages, "stream": True}
        arguments["stream_options"] = {"include_usage": True}
        if request.tools:
            arguments["tools"] = self.format.definitions(request.tools)
        if schema := self._json_schema(request, messages, openai_strict):
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        needs_new_name = self._is_official or _OPENAI_MODEL.match(request.model)
        settings = {"max_tokens": "max_completion_tokens"} if needs_new_name else {}
        return with_settings(arguments, request, self.name, settings)
