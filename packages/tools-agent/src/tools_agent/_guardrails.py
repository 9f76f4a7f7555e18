"""Guardrails: checks that change or block the input of a run, and the replies of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tools_agent._messages import Assistant, Message
from tools_core import Result, ToolCall

Phase = Literal["before", "after", "tool_input", "tool_output"]


@dataclass(frozen=True, slots=True)
class Block:
    """Returned by a guardrail to end the run."""

    reason: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tripwire:
    """The guardrail that blocked a run; also an event of the stream."""

    guardrail: str
    phase: Phase
    reason: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Modification:
    """The messages that a guardrail changed; also an event of the stream."""

    guardrail: str
    phase: Phase
    message_ids: Sequence[str]


class Guardrail:
    """Base class for checks of input and replies, of tool calls and their results. Override any of the methods.

    In asynchronous runs the methods may be coroutine functions. Guardrails run in the order of the agent's list, each
    on the result of the previous one. The first guardrail that blocks ends the run.
    """

    def process_input(
        self,
        messages: Sequence[Message],  # noqa: ARG002  (for subclasses)
        context: Mapping[str, Any],  # noqa: ARG002  (overridden by guardrails that use it)
    ) -> Any:
        """Check the messages of the session, the new prompt included, when a run begins.

        Returns None to pass them, other messages to replace them, or a `Block`. A message keeps its id when
        `message.replace(content=...)` made it.
        """
        return None

    def process_output(
        self,
        reply: Assistant,  # noqa: ARG002  (overridden by guardrails that use it)
        messages: Sequence[Message],  # noqa: ARG002  (overridden by guardrails that use it)
        context: Mapping[str, Any],  # noqa: ARG002  (overridden by guardrails that use it)
    ) -> Any:
        """Check a reply of the model before it is added to the session.

        Returns None to pass it, another Assistant to replace it, or a `Block`: then the reply is not stored.
        """
        return None

    def process_tool_input(
        self,
        call: ToolCall,  # noqa: ARG002  (overridden by guardrails that use it)
        context: Any,  # noqa: ARG002  (overridden by guardrails that use it)
    ) -> Any:
        """Check a call before it runs, also one of a sub-agent.

        Returns None to pass it, another ToolCall to run instead, a Result to answer it with, or a `Block`. The policy
        decides about the call that will run.
        """
        return None

    def process_tool_output(
        self,
        call: ToolCall,  # noqa: ARG002  (overridden by guardrails that use it)
        result: Result,  # noqa: ARG002  (overridden by guardrails that use it)
        context: Any,  # noqa: ARG002  (overridden by guardrails that use it)
    ) -> Any:
        """Check the result of a call before it is stored, and the model reads it.

        Returns None to pass it, another Result, or a `Block`. If this fails, the result is withheld.
        """
        return None

    @property
    def name(self) -> str:
        """The name in tripwires and modifications."""
        return type(self).__name__


def check_guardrails(guardrails: Sequence[Any]) -> tuple[Guardrail, ...]:
    """Return guardrails as instances. Raises TypeError for another object."""
    instances = tuple(item() if isinstance(item, type) else item for item in guardrails)
    for item in instances:
        if not isinstance(item, Guardrail):
            raise TypeError(f"a guardrail is a Guardrail or a subclass of it, got {type(item).__name__}")
    return instances


def changes_between(old: Sequence[Any], new: Sequence[Any]) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    """Return the changes that turn the messages of a session into others, and the ids of the messages concerned.

    Results follow the messages that ask for them: they are changed or left, and removed with their request.
    """
    if isinstance(new, str) or not all(isinstance(message, Message) for message in new):
        raise TypeError("process_input returns None, a sequence of messages or a Block")
    before = {message.id: message for message in old}
    remaining = {message.id for message in new}
    removed = [message.id for message in old if message.id not in remaining and message.role != "tool"]
    changes: list[tuple[str, dict[str, Any]]] = [("remove", {"ids": removed})] if removed else []
    changed = list(removed)
    last = ""
    for message in new:
        if message.id not in before:
            changes.append(("message", {"message": message, "after": last}))
            changed.append(message.id)
        elif message != before[message.id]:
            changes.append(("update", {"message": message}))
            changed.append(message.id)
        if message.role != "tool":
            last = message.id
    return changes, changed
