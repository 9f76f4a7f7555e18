"""`OpenAIProvider`: OpenAI's Chat Completions, and servers that are compatible with it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._encoding import (
    OUTPUT,
    conversation,
    instruction,
    strict_schema,
    tool_choice,
    with_settings,
)
from tools_agent._providers._provider import Request
from tools_agent._providers._reply import Reply, count
from tools_agent._providers._sdk_provider import SDKProvider
from tools_agent._providers._thinking_tags import ThinkingTags, without_thoughts
from tools_core.formats import Format, openai, openai_strict

# OpenAI's models reject `max_tokens`, and servers such as Ollama and LM Studio ignore `max_completion_tokens`.
_OPENAI_MODEL = re.compile(r"(openai/)?(chatgpt|codex|gpt-\d|o\d)")
_MISTRAL = re.compile(r"(?i)(mi[ns]tral|mixtral|pixtral)|(code|dev|magi)stral|voxtral")
# Members of messages and calls that servers send and need in later requests: reasoning, and signatures of it. Many
# servers reject a request with any other member.
_RETURNED = frozenset((
    "extra_content", "provider_specific_fields", "reasoning_content", "reasoning_details", "thinking_blocks",
    "thought_signature",
))  # fmt: skip
_UNSPLIT = frozenset(("id", "index", "name", "role", "type", "format"))  # not sent in pieces


def _own(reply: Assistant, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a reply with the members of its message that the server needs again."""
    if not reply.items or not messages:
        return messages
    [message] = messages
    [item] = reply.items
    message |= {key: item[key] for key in _RETURNED if key in item}
    parts = item.get("tool_calls") or ()
    if len(parts) == len(reply.tool_calls):
        for call, part in zip(message.get("tool_calls", ()), parts, strict=True):
            call |= {key: part[key] for key in _RETURNED if key in part}
    return messages


class _Reply(Reply):
    stops: ClassVar = {"tool_calls": "tool", "function_call": "tool"}

    def __init__(self, provider: str, wire: Format, request: Request, server: str | None = None) -> None:
        super().__init__(provider, wire, request, server)
        self._message: dict[str, Any] = {}
        self._tags = ThinkingTags(self.text)
        self._is_refused = False

    def read(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        if usage := chunk.get("usage"):
            self.usage = read_usage(usage, "prompt_tokens", "completion_tokens")
        if not chunk.get("choices") and chunk.get("usage") is not None:  # the last chunk
            self.is_done = True
        for choice in chunk.get("choices") or ():
            if choice.get("index"):  # of several replies
                continue
            delta = choice.get("delta") or {}
            _merge(self._message, {key: value for key, value in delta.items() if key in _RETURNED})
            for word in ("reasoning_content", "reasoning"):
                if isinstance(delta.get(word), str) and delta[word]:
                    yield ReasoningDelta(delta[word])
            self._is_refused |= bool(delta.get("refusal"))
            for word in ("content", "refusal"):
                yield from self._read_content(delta.get(word))
            if reason := choice.get("finish_reason"):
                self.stop = "refusal" if self._is_refused else reason

    def _read_content(self, content: Any) -> Iterator[Delta]:
        """Yield the text of a delta, and its thoughts: some servers send parts, others thoughts in tags."""
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, Mapping):
                thoughts = part.get("thinking") or part.get("reasoning")
                if thoughts:
                    yield from map(ReasoningDelta, filter(None, [_text_of(thoughts)]))
                else:
                    yield from self._tags.feed(_text_of(part))
            elif part:
                yield from self._tags.feed(part)

    def end(self, *, is_done: bool) -> Iterator[Delta]:
        yield from self._tags.close()
        yield from super().end(is_done=is_done)
        self.texts = [without_thoughts("".join(self.texts))]

    def events_of(self, chunk: dict[str, Any]) -> list[dict[str, Any]]:
        choices = chunk.get("choices") or ()
        if not any("message" in choice for choice in choices):
            return [chunk]
        self.is_done = True  # the server ignores `stream`
        return [{**chunk, "choices": [{"delta": choice.get("message"), **choice} for choice in choices]}]

    def items(self) -> list[dict[str, Any]]:
        message = dict(self._message)
        if any(members.keys() & _RETURNED for members in self.calls.members):
            message["tool_calls"] = self.calls.members
        return [message] if message else []


def _text_of(part: Any) -> str:
    """Return the text of a part of a content, which may have parts itself."""
    if isinstance(part, list):
        return "".join(map(_text_of, part))
    return str(part.get("text") or "") if isinstance(part, Mapping) else part


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
        if item.get("index") == delta.get("index") is not None:
            return item
    items.append({})
    return items[-1]


def read_usage(usage: Any, prompt: str, output: str) -> Usage:
    """Return the tokens of a reply; `prompt` and `output` are the names of their numbers."""
    details = usage.get(f"{prompt}_details") if isinstance(usage, Mapping) else None
    return Usage(
        input_tokens=count(usage, prompt),
        output_tokens=count(usage, output),
        cache_read_tokens=count(details, "cached_tokens"),
    )


def _joined(messages: list[dict[str, Any]], *, is_mistral: bool) -> list[dict[str, Any]]:
    """Join messages of the user that follow each other: the templates of many models refuse them.

    Mistral's refuse a message of the user after a result, too.
    """
    joined: list[dict[str, Any]] = []
    for message in messages:
        if is_mistral and message["role"] == "user" and joined and joined[-1]["role"] == "tool":
            joined.append({"role": "assistant", "content": "(continued)"})
        if message["role"] == "user" and joined and joined[-1]["role"] == "user":
            first, second = joined[-1]["content"], message["content"]
            is_text = isinstance(first, str) and isinstance(second, str)
            content = f"{first}\n\n{second}" if is_text else [*_as_parts(first), *_as_parts(second)]
            joined[-1] = {"role": "user", "content": content}
        else:
            joined.append(message)
    return joined


def _as_parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class OpenAIClient(SDKProvider):
    """A provider over OpenAI's SDK."""

    sdk = extra = "openai"
    variable = "OPENAI_BASE_URL"
    hosts = ("api.openai.com", ".openai.com", ".azure.com")

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
        text = instruction(request.output_schema)
        if messages[0]["role"] == "system":
            text = f"{messages.pop(0)['content']}\n\n{text}"
        messages.insert(0, {"role": "system", "content": text})
        return {}


class OpenAIProvider(OpenAIClient):
    """OpenAI's Chat Completions, or with `base_url` any server that is compatible with it."""

    name = "openai"
    formats = (openai, openai_strict)
    reply = _Reply

    def _function(self, client: Any) -> Callable[..., Any]:
        function: Callable[..., Any] = client.chat.completions.create
        return function

    def with_reasoning(self, request: Request) -> Request | None:
        """Return a request that has reasoning in each reply, as thinking models of DeepSeek and Kimi require."""
        items = ({"reasoning_content": " "},)
        own = {"items": items, "provider": self.name, "server": self.server}
        messages = [
            message.model_copy(update=own) if isinstance(message, Assistant) and not message.items else message
            for message in request.messages
        ]
        return replace(request, messages=messages)

    def _encode(self, request: Request) -> dict[str, Any]:
        messages = _joined(
            conversation(self._history(request), self.format, _own),
            is_mistral=_MISTRAL.search(f"{self.address} {request.model}") is not None,
        )
        arguments: dict[str, Any] = {"model": request.model, "messages": messages, "stream": True}
        arguments["stream_options"] = {"include_usage": True}
        if request.tools:
            arguments["tools"] = self.format.definitions(request.tools)
        if choice := tool_choice(request, self.format):
            function = {"type": "function", "function": {"name": choice.name}}
            arguments["tool_choice"] = function if choice.name else choice.mode
        if schema := self._json_schema(request, messages, openai_strict):
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        needs_new_name = self._is_official or _OPENAI_MODEL.match(request.model)
        settings = {"max_tokens": "max_completion_tokens"} if needs_new_name else {}
        return with_settings(arguments, request, self.name, settings)
