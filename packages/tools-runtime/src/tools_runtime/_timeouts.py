"""Time limits and cancellation of calls that a runtime runs outside of `Tool.call`, which enforces its own limit."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_runtime._drive import Wait

if TYPE_CHECKING:
    from tools_core import Context
    from tools_runtime._drive import Steps

MARGIN = 5.0  # seconds beyond the deadline for a tool that manages its own time


def wait_for(work: Any, context: Context, stops: str, grace: float, margin: float) -> Steps[Any]:
    """Wait for one attempt, and return its value or raise its exception.

    At the deadline of `context` and a margin, or when it is cancelled, the attempt is stopped if the runtime can do
    that (`stops`, within `grace`), else abandoned; the value is then a Result that says which.
    """
    until = None if context.deadline is None else context.deadline + margin
    future = yield Wait(work, context, until)
    if future.done():
        return future.result()
    describe = cancelled if context.cancelled else timed_out
    context.cancel()
    future.cancel()  # ends a coroutine; other attempts listen to the context
    if stops and not future.done():
        yield Wait(future, None, monotonic() + grace)
    return describe(context, stops if future.done() else "")


def timed_out(context: Context, stopped: str) -> Result:
    """Return the result of a call that reached its limit.

    `stopped` says how it ended, or is empty if it was abandoned.
    """
    return _ended(f"Timed out after {_limit(context)}", "timeout_error", stopped, _limit_metadata(context))


def limit_passed(context: Context) -> Result:
    """Return the result of a call whose limit passed before it started."""
    message = f"Timed out before it started: {_limit(context)}."
    return Result.error(message, type="timeout_error", metadata=_limit_metadata(context))


def cancelled(_context: Context | None = None, stopped: str | None = None) -> Result:
    """Return the result of a cancelled call; `stopped` as in `timed_out`, or None if it had not started."""
    return _ended("Cancelled by the caller", "cancelled", stopped, {})


def _ended(message: str, kind: str, stopped: str | None, metadata: dict[str, Any]) -> Result:
    if stopped == "":
        message, metadata = f"{message}. It may still be running and have effects", {**metadata, "abandoned": True}
    elif stopped == "killed":
        message, metadata = f"{message} and was killed. It may have had effects", {**metadata, "killed": True}
    return Result.error(f"{message}.", type=kind, metadata=metadata)


def _limit(context: Context) -> str:
    limit = "" if context.timeout is None else f"{context.timeout:g} s "
    return f"{limit}(limit set by {context.timeout_set_by})"


def _limit_metadata(context: Context) -> dict[str, Any]:
    return {"timeout": context.timeout, "timeout_set_by": context.timeout_set_by}
