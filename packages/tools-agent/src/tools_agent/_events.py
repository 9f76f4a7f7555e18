"""Events of a stream: what happens while an agent runs, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools_agent._messages import Usage
from tools_core import InvalidArguments, Result, ToolCall


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply's text."""

    content: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning before its reply; some providers send it."""

    content: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call's arguments. `index` tells the calls of one reply apart."""

    index: int
    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request is retried after `delay` seconds: discard the deltas since the last message."""

    reason: str
    delay: float


@dataclass(frozen=True, slots=True)
class TextDone:
    """The whole text of a reply that has one."""

    content: str


class _OfCall:
    """The properties of events about a tool call."""

    __slots__ = ()
    call: ToolCall

    @property
    def id(self) -> str | None:
        """The id of the call."""
        return self.call.id

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.call.name

    @property
    def arguments(self) -> Any:
        """The arguments, or the model's text if it is not valid."""
        try:
            return self.call.arguments
        except InvalidArguments:
            return self.call.raw_arguments


@dataclass(frozen=True, slots=True)
class ToolCallDone(_OfCall):
    """A whole tool call of a reply; it has not run yet."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolStarted(_OfCall):
    """A tool call starts; `agent` is the name of the sub-agent that runs it."""

    call: ToolCall
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ToolProgress(_OfCall):
    """A running tool reports its progress, in its own units."""

    call: ToolCall
    done: float
    total: float | None
    message: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class ToolFinished(_OfCall):
    """A tool call has its result, which is in the session."""

    call: ToolCall
    result: Result
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class PartialOutput:
    """The typed reply as far as it has arrived, after a piece of it.

    `data` are JSON values; an incomplete text ends where it ends. `value` is the value of the type, if the type accepts
    what has arrived: lists and dicts without their last item, models once all required fields are there; else None.
    """

    data: Any
    value: Any = None


@dataclass(frozen=True, slots=True)
class UsageUpdate:
    """Tokens of the reply that just ended, and of the run so far."""

    usage: Usage
    total: Usage


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The run was interrupted; `generate()` continues it.

    `pending` are the requests for approval, as JSON values, that a person has to answer first.
    """

    reason: Any = None
    healed_tool_call_ids: Sequence[str] = ()
    pending: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


Delta = TextDelta | ReasoningDelta | ToolCallDelta | Retrying
