"""What a call came to, as a result: what the worker answered, or how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core import Result
from tools_runtime._process._system import name_of
from tools_runtime._process._wire import OUTPUT
from tools_runtime._process._words import size_of
from tools_runtime._remote._results import read

if TYPE_CHECKING:
    from tools_runtime._process._exchange import Reply


def result_of(reply: Reply, limit: float | None) -> Result | None:
    """The result that a worker answered; None if that is no result. The limit is told as it was set.

    One that came only when the tool was told that its time is over is a timeout, as it is everywhere.
    """
    try:
        result = read(reply.body, is_plain=reply.kind == OUTPUT)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    if reply.reason == "timeout" and limit is not None and result.error_type != "timeout_error":
        return Result.error(
            f"did not end within its limit of {limit:.3g} s, only when it was told to stop",
            type="timeout_error",
            metadata={"timeout": limit, "killed": False},
        )
    return result


def stopped(reason: str, limit: float | None) -> Result:
    """The result of a call whose worker was killed because the time was over, or the caller gave up."""
    if reason == "cancelled" or limit is None:
        return Result.error(
            "the caller gave up, and the call was killed; it may have had effects",
            type="cancelled",
            metadata={"killed": True},
        )
    return Result.error(
        f"did not end within its limit of {limit:.3g} s and was killed",
        type="timeout_error",
        metadata={"timeout": limit, "killed": True},
    )


def crashed(text: str, code: int | None, cpu: int | None) -> Result:
    """The result of a call whose worker ended, or had to be ended, before it answered."""
    name = "unknown" if code is None else name_of(code)
    if name == "SIGXCPU" and cpu is not None:
        return Result.error(
            f"needed more processor time than its limit of {cpu} s and was killed",
            type="limit_exceeded",
            metadata={"cpu": cpu, "crash": name},
        )
    how = {"unknown": ""}.get(name, f" with {name}" if code is not None and code < 0 else f" with exit status {code}")
    return Result.error(
        f"the worker process {text}{how} before it answered; the call may have had effects", metadata={"crash": name}
    )


def too_large(longest: int) -> Result:
    """The result of a call whose worker began to answer more than it may."""
    return Result.error(
        f"the result is larger than the limit of {size_of(longest)}; return less, or write it to a file",
        type="limit_exceeded",
    )


def closed() -> Result:
    """The result of a call that was going on when the runtime was closed."""
    return Result.error("the runtime was closed before the call had ended", type="interrupted")
