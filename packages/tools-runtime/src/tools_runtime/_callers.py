"""The callers of a call. The hooks and the policy of each caller also hold for the calls inside its calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tools_core import Context
    from tools_runtime._approval import Approver
    from tools_runtime._hooks import Hooks


class Nesting(Protocol):
    """An executor, as its callers know it."""

    def bound_by(self, outer: Caller | None) -> tuple[Hooks, Approver]:
        """Return the hooks and the approver for calls that a call of an outer caller makes."""
        ...


class Caller(Protocol):
    """The `caller` of a context: a run of an agent, or an executor.

    Attributes:
        executor: The executor that runs the call.
        outer: The caller of the call inside which this one is made; None for a call from outside.
        run_id: The run that the calls belong to.
        conversation: What loops are looked for in: the run of an agent from prompt to reply, else the `run_id`.
        batch: The number of the batch that the call is part of.
    """

    @property
    def executor(self) -> Nesting: ...
    @property
    def outer(self) -> Caller | None: ...
    @property
    def run_id(self) -> str: ...
    @property
    def conversation(self) -> str: ...
    @property
    def batch(self) -> int: ...


@dataclass(frozen=True, slots=True)
class ExecutorCaller:
    """An executor as the caller, for a program or inside another call."""

    executor: Nesting
    run_id: str
    outer: Caller | None = None
    batch: int = field(default_factory=count().__next__)

    @property
    def conversation(self) -> str:
        """The run."""
        return self.run_id


def outermost_run(context: Context) -> str:
    """Return the run that a call belongs to; for a call inside another one, the run of that one."""
    caller: Any = context.caller
    while caller is not None and caller.outer is not None:
        caller = caller.outer
    return context.run_id if caller is None else str(caller.run_id)
