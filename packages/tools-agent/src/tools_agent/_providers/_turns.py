"""A conversation in the order that the APIs accept, without messages that they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from tools_agent._messages import Assistant, Message, System, ToolResult, User
from tools_agent._providers._provider import Request
from tools_core import InvalidArguments, Result, ToolCall
from tools_core.formats import Format, legal_names

Answers: TypeAlias = list[tuple[ToolCall, Result]]


def turns(messages: Sequence[Message]) -> Iterator[System | User | Assistant | Answers]:
    """Yield the messages, with results that follow each other as one list of calls and results.

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
    names = [tool["name"] for tool in request.tools]
    replies = [message for message in request.messages if isinstance(message, Assistant)]
    return legal_names([*names, *(call.name for reply in replies for call in reply.tool_calls)], wire.name)


def own_items(message: Assistant, provider: str) -> list[dict[str, Any]]:
    """Return the parts of a reply that this provider has sent itself."""
    return list(message.items) if message.provider == provider else []


def alternating(
    request: Request, wire: Format, model: str, key: str, own: Callable[[Assistant], list[dict[str, Any]]]
) -> tuple[str, list[dict[str, Any]]]:
    """Return the instructions, and the messages in turn by the user and the model, as Anthropic and Gemini want them.

    `model` is the role of the model's messages, `key` the member with the parts of a message; `own` makes the parts of
    a reply.
    """
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
            add(model, own(turn))
        else:
            for message in wire.results(turn, request.tools):
                add("user", message[key])
    return "\n\n".join(text for text in system if text.strip()), messages
