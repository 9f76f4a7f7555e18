"""The results of calls that did not end by themselves: timed out, cancelled, failed outside of the tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core import Result
from tools_runtime._errors import answer_of, describe_error, is_cancellation

if TYPE_CHECKING:
    from tools_core import Context


def timed_out(context: Context, stopped: str) -> Result:
    """The call reached its limit; `stopped` says how it was ended, and is empty where it was abandoned."""
    return _ended(f"Timed out after {_limit(context)}", "timeout_error", stopped, _limit_metadata(context))


def cancelled(stopped: str | None = None) -> Result:
    """The caller is gone; `stopped` as in `timed_out`, None where nothing was running."""
    if stopped == "cancelled":
        return Result.error("the call was cancelled by the caller", type="cancelled")
    return _ended("cancelled by the caller", "cancelled", stopped, {})


def limit_passed(context: Context) -> Result:
    """The limit passed before the call began."""
    message = f"the call was not made: its limit had passed before it could begin: {_limit(context)}"
    return Result.error(message, type="timeout_error", metadata=_limit_metadata(context))


def failure(error: BaseException) -> Result:
    """The result of a call whose exception no tool has handled."""
    answer = answer_of(error)
    if answer is not None:
        return answer
    if is_cancellation(error):
        return Result.error("the tool was cancelled by itself, or by what it waited for", type="cancelled")
    return Result.error(describe_error(error), exception=error)


def wrong_type(runtime: object, made: Any) -> Result:
    """The result of a call for which a runtime returned something else."""
    text = f"the runtime {type(runtime).__name__} returned {type(made).__name__}, not a Result"
    return Result.error(text, exception=TypeError(text))


def _ended(message: str, kind: str, stopped: str | None, metadata: dict[str, Any]) -> Result:
    if stopped == "":
        message, metadata = f"{message}; it may still be running and have effects", {**metadata, "abandoned": True}
    elif stopped is not None:
        message = f"{message} and was {stopped}"
    return Result.error(message, type=kind, metadata=metadata)


def _limit(context: Context) -> str:
    limit = "" if context.timeout is None else f"{context.timeout:g} s "
    return f"{limit}(limit set by {context.timeout_set_by})"


def _limit_metadata(context: Context) -> dict[str, Any]:
    return {"timeout": context.timeout, "timeout_set_by": context.timeout_set_by}
