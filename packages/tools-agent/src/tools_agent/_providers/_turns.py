"""A conversation as the APIs take it: the results of one reply together, and none of what they refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tools_agent._messages import Assistant, Message, System, ToolResult, User
from tools_core import InvalidArguments, Result, ToolCall

Answers: TypeAlias = list[tuple[ToolCall, Result]]


def turns(messages: Sequence[Message]) -> Iterator[System | User | Assistant | Answers]:
    """Yield the messages, with results that follow each other as one list of calls and results.

    A reply without content is left out: all APIs refuse it, or take it for nothing.
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
    """Return the arguments of a call as JSON text; text that is not JSON stays as it came."""
    return call.raw if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False)


def argument_object(call: ToolCall) -> dict[str, object]:
    """Return the arguments of a call as an object; text that is not JSON becomes a member."""
    try:
        return call.arguments
    except InvalidArguments:
        return {"invalid_json": call.raw}
