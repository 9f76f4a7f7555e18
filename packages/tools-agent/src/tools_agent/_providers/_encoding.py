"""Encode requests: conversations in the order that the APIs accept, settings, and schemas of output."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tools_agent._messages import Assistant, Message, System, ToolResult, User
from tools_agent._providers._provider import ProviderError, Request
from tools_core import InvalidArguments, Result, ToolCall
from tools_core.formats import Format, legal_names, openai_strict

Answers: TypeAlias = list[tuple[ToolCall, Result]]
Encode: TypeAlias = Callable[[Assistant, Mapping[str, str]], list[dict[str, Any]]]  # a reply, and names on the wire
_UNIONS = frozenset(("$ref", "allOf", "anyOf", "oneOf"))
OUTPUT = "reply"  # the name of an output schema

# ---------------------------------------------------------------------------------------------------- conversations


def turns(messages: Sequence[Message]) -> Iterator[System | User | Assistant | Answers]:
    """Yield the messages, with consecutive results as one list of calls and results.

    Skips replies without content: the APIs refuse or ignore them.
    """
    calls: dict[str, ToolCall] = {}
    answers: Answers = []
    for message in messages:
        if isinstance(message, ToolResult):
            id_ = message.tool_call_id
            answers.append((calls.get(id_, ToolCall(id_, message.name)), message.result))
            continue
        if answers:
            yield answers
            answers = []
        if isinstance(message, Assistant):
            calls |= {call.id: call for call in message.tool_calls if call.id}
            if not (message.content.strip() or message.tool_calls or message.items):
                continue
        if isinstance(message, System | User | Assistant):
            yield message
    if answers:
        yield answers


def conversation(request: Request, provider: str, wire: Format, encode: Encode) -> list[dict[str, Any]]:
    """Return the messages as OpenAI's APIs accept them; `encode` encodes the replies of other providers."""
    encoded = _encoder(request, provider, wire, encode)
    messages: list[dict[str, Any]] = []
    for turn in turns(request.messages):
        if isinstance(turn, System):
            messages.append({"role": "system", "content": turn.content})
        elif isinstance(turn, User):
            content = wire.content([turn.content, *turn.files]) if turn.files else turn.content
            messages.append({"role": "user", "content": content})
        elif isinstance(turn, Assistant):
            messages += encoded(turn)
        else:
            messages += wire.results(turn, request.definitions)
    return messages


def alternating(
    request: Request, provider: str, wire: Format, encode: Encode, *, model: str, key: str
) -> tuple[str, list[dict[str, Any]]]:
    """Return the instructions, and alternating messages of the user and the model for Anthropic and Gemini.

    `model` is the role of the model's messages, and `key` the member with the parts of a message.
    """
    encoded = _encoder(request, provider, wire, encode)
    system: list[str] = []
    messages: list[dict[str, Any]] = []

    def add(role: str, parts: list[dict[str, Any]]) -> None:
        if not messages and role == model:
            add("user", wire.content(["(the conversation continues)"]))
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, key: []})
        messages[-1][key] += parts

    for turn in turns(request.messages):
        if isinstance(turn, System):
            system.append(turn.content)
        elif isinstance(turn, User):
            texts = [turn.content] if turn.content.strip() else []
            add("user", wire.content([*texts, *turn.files] or ["(empty)"]))
        elif isinstance(turn, Assistant):
            add(model, encoded(turn))
        else:
            for message in wire.results(turn, request.definitions):
                add("user", message[key])
    return "\n\n".join(text for text in system if text.strip()), messages


def _encoder(
    request: Request, provider: str, wire: Format, encode: Encode
) -> Callable[[Assistant], list[dict[str, Any]]]:
    """Return a function that encodes replies; a reply of the same provider has its original parts."""
    names = wire_names(request, wire)
    return lambda reply: (list(reply.items) if reply.provider == provider else []) or encode(reply, names)


def argument_text(call: ToolCall) -> str:
    """Return the arguments of a call as JSON text; text that is not JSON stays unchanged."""
    return call.raw if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False)


def argument_object(call: ToolCall) -> dict[str, object]:
    """Return the arguments of a call as an object; text that is not JSON becomes a member."""
    try:
        return call.arguments
    except InvalidArguments:
        return {"invalid_json": call.raw}


def wire_names(request: Request, wire: Format) -> dict[str, str]:
    """Return the names on the wire of all tools, including tools of earlier calls."""
    names = [tool["name"] for tool in request.definitions]
    replies = [message for message in request.messages if isinstance(message, Assistant)]
    return legal_names([*names, *(call.name for reply in replies for call in reply.tool_calls)], wire.name)


# ---------------------------------------------------------------------------------------------------- settings


def with_settings(
    arguments: Mapping[str, Any], request: Request, provider: str, names: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return the arguments of an SDK's function with the request's settings.

    `names` maps our names to the names of the API: `reasoning.effort` is a member, None a setting that the API lacks.
    Other settings are passed on unchanged.
    """
    merged = dict(arguments)
    for name, setting in request.settings.items():
        target = names.get(name, name)
        if target is None:
            raise ProviderError(f"{provider}: the API has no setting {name!r}; remove it from `settings`")
        key, _, member = target.partition(".")
        value = [setting] if key == "stop_sequences" and isinstance(setting, str) else setting
        value = {member: value} if member else value
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            value = {**merged[key], **value}
        merged[key] = value
    return merged


# ---------------------------------------------------------------------------------------------------- output


def strict_schema(schema: Mapping[str, Any], wire: Format) -> tuple[dict[str, Any], bool] | None:
    """Return a schema in a strict format, and whether it is strict; None unless it describes an object."""
    if schema.get("type") != "object" or not _UNIONS.isdisjoint(schema):
        return None
    [tool] = wire.definitions([{"name": OUTPUT, "description": "", "input_schema": schema}])
    tool = tool.get("function", tool)
    return tool.get("parameters") or tool["input_schema"], tool["strict"]


def instruction(schema: Mapping[str, Any]) -> str:
    """Return the instruction for a model whose API does not accept the schema."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"Reply with JSON that fits this JSON Schema, and with nothing else:\n{text}"


def without_absent(text: str, schema: Mapping[str, Any]) -> str:
    """Remove the nulls from a reply's JSON that strict mode adds for absent members; other text stays unchanged."""
    call = {"function": {"name": OUTPUT, "arguments": text}}
    try:
        definition = {"name": OUTPUT, "description": "", "input_schema": schema}
        arguments = openai_strict.calls([call], [definition])[0].arguments
        return text if arguments == json.loads(text) else json.dumps(arguments, ensure_ascii=False)
    except (InvalidArguments, ValueError):
        return text
