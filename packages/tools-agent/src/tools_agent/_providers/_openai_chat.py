"""`OpenAIProvider`: OpenAI's Chat Completions, and servers that are compatible with it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from tools_agent._events import Delta, ReasoningDelta
from tools_agent._messages import Assistant, Usage
from tools_agent._providers._attempts import Chunks
from tools_agent._providers._encoding import (
    OUTPUT,
    conversation,
    strict_schema,
    tool_choice,
    with_settings,
)
from tools_agent._providers._errors import reported_error
from tools_agent._providers._provider import JsonObject, Request
from tools_agent._providers._reply import Api, Reply, count, stop_of
from tools_agent._providers._sdk_provider import Client, Sdk, SDKProvider
from tools_agent._providers._thinking_tags import ThinkingTags, without_thoughts
from tools_core.formats import openai, openai_strict

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


def _own(reply: Assistant, messages: list[JsonObject]) -> list[JsonObject]:
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
    def __init__(self, api: Api, request: Request) -> None:
        super().__init__(api, request)
        self._message: JsonObject = {}
        self._tags = ThinkingTags(self.text)
        self._is_refused = False

    def read(self, chunk: JsonObject) -> Iterator[Delta]:
        if usage := chunk.get("usage"):
            self.usage = read_usage(usage, "prompt_tokens", "completion_tokens")
        if not chunk.get("choices") and chunk.get("usage") is not None:  # the last chunk
            self.is_done = True
        for choice in chunk.get("choices") or ():
            if not choice.get("index"):  # one of several replies
                yield from self._read_choice(choice)

    def _read_choice(self, choice: JsonObject) -> Iterator[Delta]:
        delta = choice.get("delta") or {}
        _merge(self._message, {key: value for key, value in delta.items() if key in _RETURNED})
        thoughts = [delta[word] for word in ("reasoning_content", "reasoning") if delta.get(word)]  # or both the same
        if thoughts and isinstance(thoughts[0], str):
            yield ReasoningDelta(thoughts[0])
        self._is_refused |= bool(delta.get("refusal"))
        for word in ("content", "refusal"):
            yield from self._read_content(delta.get(word))
        if error := choice.get("error"):
            raise reported_error(self.provider, error)
        if (reason := choice.get("finish_reason")) not in (None, "", "null"):
            self.stop = "refusal" if self._is_refused else reason
        if stop_of(choice.get("native_finish_reason")) == "error":  # OpenRouter's own reason may hide it
            self.stop = choice["native_finish_reason"]

    def _read_content(self, content: object) -> Iterator[Delta]:
        """Yield the text of a delta, and its thoughts: some servers send parts, others thoughts in tags."""
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, Mapping):
                thoughts = part.get("thinking") or part.get("reasoning")
                if thoughts:
                    yield from map(ReasoningDelta, filter(None, [_text_of(thoughts)]))
                else:
                    yield from self._tags.feed(_text_of(part))
            elif part:
                yield from self._tags.feed(_text_of(part))

    def end(self, *, is_done: bool) -> Iterator[Delta]:
        yield from self._tags.close()
        yield from super().end(is_done=is_done)
        self.texts = [without_thoughts("".join(self.texts))]

    def events_of(self, chunk: JsonObject) -> list[JsonObject]:
        choices = chunk.get("choices") or ()
        if "choices" not in chunk and ("usage" not in chunk or "type" in chunk):
            return []
        if not any("message" in choice and "delta" not in choice for choice in choices):
            return [chunk]
        self.is_done = True  # the server ignores `stream`, or repeats its reply at the end
        has_begun = bool(self.texts or self.calls.members)
        return [
            {**chunk, "choices": [{"delta": None if has_begun else choice["message"], **choice} for choice in choices]}
        ]

    def items(self) -> list[JsonObject]:
        message = dict(self._message)
        if any(members.keys() & _RETURNED for members in self.calls.members):
            message["tool_calls"] = self.calls.members
        return [message] if message else []


def _text_of(part: object) -> str:
    """Return the text of a part of a content, which may have parts itself."""
    if isinstance(part, list):
        return "".join(map(_text_of, part))
    if isinstance(part, Mapping):
        return _text_of(part.get("text") or part.get("value") or "")
    if not isinstance(part, str):
        raise TypeError("expected text")
    return part


def _merge(message: JsonObject, delta: JsonObject) -> None:
    """Add a delta to a message: text is appended, and items of lists are identified by their `index`."""
    for key, value in delta.items():
        old = message.get(key)
        if isinstance(value, dict):
            message[key] = old if isinstance(old, dict) else {}
            _merge(message[key], value)
        elif isinstance(value, list):
            for item in [item for item in value if isinstance(item, dict)]:
                message[key] = old = old if isinstance(old, list) else []
                _merge(_item(old, item), item)
        elif isinstance(value, str) and isinstance(old, str) and key not in _UNSPLIT:
            message[key] = old + value
        elif value is not None:
            message[key] = value


def _item(items: list[JsonObject], delta: JsonObject) -> JsonObject:
    """Return the item of a delta, which may be a new one: some servers give all items one index, or none."""
    names = [name for name in ("type", "id") if delta.get(name)]
    for item in reversed(items):
        is_same = item.get("index") == delta.get("index") and all(item.get(k) in (None, delta[k]) for k in names)
        if is_same and (delta.get("index") is not None or not (item.get("signature") or "data" in delta)):
            return item
    items.append({})
    return items[-1]


def read_usage(usage: object, prompt: str, output: str) -> Usage:
    """Return the tokens of a reply; `prompt` and `output` are the names of their numbers."""
    details = usage.get(f"{prompt}_details") if isinstance(usage, Mapping) else None
    return Usage(
        input_tokens=count(usage, prompt),
        output_tokens=count(usage, output),
        cache_read_tokens=count(details, "cached_tokens"),
    )


def _joined(messages: list[JsonObject], *, ends_turns: bool) -> list[JsonObject]:
    """Join messages of the user that follow each other: the templates of many models refuse them.

    Mistral's refuse a message of the user after a result, too: `ends_turns` puts one of the model between.
    """
    joined: list[JsonObject] = []
    for message in messages:
        if ends_turns and message["role"] == "user" and joined and joined[-1]["role"] == "tool":
            joined.append({"role": "assistant", "content": "(continued)"})
        if message["role"] == "user" and joined and joined[-1]["role"] == "user":
            first, second = joined[-1]["content"], message["content"]
            is_text = isinstance(first, str) and isinstance(second, str)
            content = f"{first}\n\n{second}" if is_text else [*_as_parts(first), *_as_parts(second)]
            joined[-1] = {"role": "user", "content": content}
        else:
            joined.append(message)
    return joined


def _as_parts(content: str | list[JsonObject]) -> list[JsonObject]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class OpenAIClient(SDKProvider):
    """A provider over OpenAI's SDK."""

    sdk = extra = "openai"
    variable = "OPENAI_BASE_URL"
    hosts = ("api.openai.com", ".openai.com", ".azure.com")

    def _create_client(self, sdk: Sdk) -> Client:
        options = dict(self._options)
        if "OPENAI_API_KEY" not in os.environ and (options.get("base_url") or os.environ.get("OPENAI_BASE_URL")):
            options.setdefault("api_key", "none")  # such a server may need no key, but the SDK does
        return sdk.AsyncOpenAI(max_retries=0, **options)

    def _takes_schema(self, request: Request) -> bool:
        return request.output_schema is None or bool(strict_schema(request.output_schema, self.formats[1]).schema)

    def _output_form(self, request: Request) -> JsonObject | None:
        """Return the form of the output."""
        if request.output_schema is None:
            return None
        schema, is_strict = strict_schema(request.output_schema, self.formats[1])
        return {"name": OUTPUT, "schema": schema, "strict": is_strict}


class OpenAIProvider(OpenAIClient):
    """OpenAI's Chat Completions, or with `base_url` any server that is compatible with it."""

    name = "openai"
    formats = (openai, openai_strict)
    reply = _Reply

    async def _send(self, client: Client, arguments: JsonObject) -> Chunks:
        return await client.chat.completions.create(**arguments)

    def _encode(self, request: Request) -> JsonObject:
        messages = _joined(
            conversation(self._history(request), self.format, _own),
            ends_turns=(request.model, "turns") in self.lacking
            or _MISTRAL.search(f"{self.address} {request.model}") is not None,
        )
        arguments: JsonObject = {"model": request.model, "messages": messages, "stream": True}
        arguments["stream_options"] = {"include_usage": True}
        if request.tools:
            arguments["tools"] = self.format.definitions(request.tools)
        if choice := tool_choice(request, self.format):
            function = {"type": "function", "function": {"name": choice.name}}
            arguments["tool_choice"] = function if choice.name else choice.mode
        if output := self._output_form(request):
            arguments["response_format"] = {"type": "json_schema", "json_schema": output}
        if (request.model, "null") in self.lacking:
            arguments["messages"] = [{**each, "content": each.get("content") or ""} for each in messages]
        needs_new_name = self._is_official or _OPENAI_MODEL.match(request.model) is not None
        needs_new_name ^= (request.model, "limit") in self.lacking
        settings = {"max_tokens": "max_completion_tokens"} if needs_new_name else {}
        return with_settings(arguments, request, self.name, settings)
