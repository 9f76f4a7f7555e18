"""`OpenAIProvider`: OpenAI's Chat Completions, and the servers that are compatible with it."""

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
from tools_agent._providers._settings import with_settings
from tools_agent._providers._turns import argument_text, own_items, turns, wire_names
from tools_core.formats import Format, openai, openai_strict

# OpenAI's models reject `max_tokens`, and servers such as Ollama and LM Studio ignore `max_completion_tokens`.
_OPENAI_MODEL = re.compile(r"(openai/)?(chatgpt|codex|gpt-\d|o\d)")
# Members of a message that `Assistant` has itself, or that the API does not take back; others, such as signatures of
# reasoning, become an item.
_MEMBERS = frozenset(("role", "content", "tool_calls", "refusal", "annotations"))
_CALL = frozenset(("function", "id", "index", "type"))
_UNSPLIT = frozenset(("id", "index", "name", "role", "type", "format"))  # not sent in pieces


class OpenAIProvider(OpenAIClient):
    """OpenAI's Chat Completions, or with `base_url` any server that is compatible with it."""

    name = "openai"
    formats = (openai, openai_strict)

    def _send(self, client: Any, arguments: dict[str, Any], timeout: float | None) -> Any:
        return client.chat.completions.create(**arguments, **({} if timeout is None else {"timeout": timeout}))

    def _reply(self, request: Request) -> Reply:
        return _Reply(self.name, self.format, request)

    def _encode(self, request: Request) -> dict[str, Any]:
        names = wire_names(request, self.format)
        messages: list[dict[str, Any]] = []
        for turn in turns(request.messages):
            if isinstance(turn, System):
                messages.append({"role": "system", "content": turn.content})
            elif isinstance(turn, User):
                content = self.format.content([turn.content, *turn.files]) if turn.files else turn.content
                messages.append({"role": "user", "content": content})
            elif isinstance(turn, Assistant):
                messages += own_items(turn, self.name) or [assistant(turn, names)]
            else:
                messages += self.format.results(turn, request.tools)
        arguments: dict[str, Any] = {"model": request.model, "messages": messages, "stream": True}
        arguments["stream_options"] = {"include_usage": True}
        if request.tools:
            arguments["tools"] = self.format.definitions(request.tools)
        if request.output_schema is not None:
            if strict := strict_schema(request.output_schema, openai_strict):
                schema = {"name": NAME, "schema": strict[0], "strict": strict[1]}
                arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
            else:
                messages.append({"role": "system", "content": instruction(request.output_schema)})
        needs_new_name = self._is_openai or _OPENAI_MODEL.match(request.model)
        names = {"max_tokens": "max_completion_tokens"} if needs_new_name else {}
        return with_settings(arguments, request, self.name, names)


def assistant(message: Assistant, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a reply as a message of the API."""
    calls = [
        {
            "id": call.id or "",
            "type": "function",
            "function": {"name": names.get(call.name, call.name), "arguments": argument_text(call)},
        }
        for call in message.tool_calls
    ]
    arguments: dict[str, Any] = {"role": "assistant", "content": message.content or None}
    return arguments | ({"tool_calls": calls} if calls else {})


class _Reply(Reply):
    stops: ClassVar = {"tool_calls": "tool", "function_call": "tool"}

    def __init__(self, provider: str, wire: Format, request: Request) -> None:
        super().__init__(provider, wire, request)
        self._message: dict[str, Any] = {}
        self._refused = False

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        if usage := chunk.get("usage"):
            self.usage = Usage(
                input_tokens=usage.get("prompt_tokens") or 0,
                output_tokens=usage.get("completion_tokens") or 0,
                cache_read_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
            )
        chunk["choices"] = chunk.get("choices") or []
        for choice in chunk["choices"][:1]:
            delta = choice.get("delta") or {}
            _merge(self._message, delta)
            for word in ("reasoning_content", "reasoning"):
                if isinstance(delta.get(word), str) and delta[word]:
                    yield ReasoningDelta(delta[word])
            yield from self.text(delta.get("content") or "")
            self._refused |= bool(delta.get("refusal"))
            yield from self.text(delta.get("refusal") or "")
            for call in delta.get("tool_calls") or ():
                function = call.get("function") or {}
                yield self.call_delta(
                    call.get("index"), call.get("id"), function.get("name"), function.get("arguments") or ""
                )
            if reason := choice.get("finish_reason"):
                self.stop = "refusal" if self._refused else reason

    def items(self, message: Assistant) -> list[dict[str, Any]]:
        calls = self._message.get("tool_calls") or []
        has_more = self._message.keys() - _MEMBERS or any(call.keys() - _CALL for call in calls)
        same_ids = [call.get("id") for call in calls] == [call.id for call in message.tool_calls]
        for call in calls:
            call.pop("index", None)
        return [{"role": "assistant"} | self._message] if has_more and same_ids else []


def _merge(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a delta to a message: text is appended, and the items of lists are found by their `index`."""
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
    """Return the item that a delta adds to, which may be a new one."""
    for item in items:
        same = item.get("index") == delta.get("index") is not None
        if same and delta.get("id") in (None, "", item.get("id")):
            return item
    items.append({})
    return items[-1]
