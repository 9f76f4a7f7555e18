"""`Response`: how a run ended, and with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import TypeVar

from tools_agent._guardrails import Modification, Tripwire
from tools_agent._messages import Usage

ContextT = TypeVar("ContextT", default=Mapping[str, Any])
OutputT = TypeVar("OutputT", default=str)


class Interrupted(BaseException):
    """Raised in a callback to end the run, by `agent.interrupt(reason)` or directly.

    It is not an Exception, so that the callback's own `except Exception` cannot swallow the decision.
    """

    def __init__(self, reason: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(Generic[OutputT]):
    """The outcome of one run.

    `outcome` is one of:

    - "completed": the model replied without a tool call.
    - "halted": a tool ended the conversation; `content` is its result.
    - "interrupted": a callback, another thread, `max_steps` or a call that waits for approval stopped the run;
      `interrupt_reason` names the cause, and `generate()` continues.
    - "blocked": a guardrail stopped the run; `tripwire` names it.
    - "invalid_output": the reply does not match the agent's `output`; `detail` explains the mismatch.
    - "length", "refusal" or another stop reason of the provider: the reply is incomplete.
    """

    outcome: str
    content: str = ""
    output: OutputT = None  # type: ignore[assignment]  # None unless the run completes
    """The parsed reply, or its text if the agent has no `output` type; None unless completed."""
    detail: str | None = None
    tripwire: Tripwire | None = None
    modifications: Sequence[Modification] = ()
    interrupt_reason: Any = None
    messages: Sequence[Any] = field(default=(), repr=False)
    healed_tool_call_ids: Sequence[str] = ()
    pending: Sequence[Mapping[str, Any]] = ()
    """The requests for approval that have to be answered first: `session.approve(pending["call_id"])`, or `deny`."""
    usage: Usage = field(default_factory=Usage)
    """The tokens of this run and of its sub-agents."""
    steps: int = 0
    """The number of replies that this run has received from the model."""

    @property
    def completed(self) -> bool:
        """True if the model replied, and nothing stopped it."""
        return self.outcome == "completed"

    @property
    def halted(self) -> bool:
        """True if a tool ended the conversation."""
        return self.outcome == "halted"

    @property
    def interrupted(self) -> bool:
        """True if `generate()` can continue the run."""
        return self.outcome == "interrupted"

    @property
    def blocked(self) -> bool:
        """True if a guardrail stopped the run."""
        return self.outcome == "blocked"

    @property
    def modified(self) -> bool:
        """True if a guardrail changed messages."""
        return bool(self.modifications)

    def __str__(self) -> str:
        return self.content
