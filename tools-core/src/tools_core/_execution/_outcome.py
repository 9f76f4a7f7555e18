"""Turn the value or exception of a tool's body into a `Result`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tools_core._values._context import Context
from tools_core._values._errors import Halt, InvalidArguments, ToolError
from tools_core._values._jsonable import check
from tools_core._values._problem import clip
from tools_core._values._result import Result

_MAX_MESSAGE = 4_000  # characters of an unexpected exception that a model reads
_SCALARS = frozenset({str, int, float, bool, type(None)})


class Stopped(Exception):
    """The limit of a call has passed, or the caller cancelled it; not a TimeoutError that the tool raised."""

    def __init__(
        self,
        context: Context,
        limit: float | None = None,
        *,
        is_abandoned: bool = False,
        has_started: bool = True,
    ) -> None:
        self.context = context
        self.limit = limit
        self.is_abandoned = is_abandoned
        self.has_started = has_started
        self.is_cancelled = context.cancelled  # as it was when the call stopped

    def result(self) -> Result:
        """Describe the end of the call."""
        if not self.has_started:
            if self.is_cancelled:
                return Result.error("Cancelled by the caller before the call began.", type="cancelled")
            message = f"Timed out before the call began (limit set by {self.context.timeout_set_by})."
            return Result.error(message, type="timeout_error")
        metadata: dict[str, Any] = {}
        message = "Cancelled by the caller."
        if not self.is_cancelled:
            seconds = self.context.timeout or 0.0
            if self.limit is not None and seconds - self.limit > 1:  # part of it had passed when the call began
                seconds = round(self.limit, 1)
            metadata["timeout"] = seconds
            message = f"Timed out after {seconds:g} s (limit set by {self.context.timeout_set_by})."
        if self.is_abandoned:
            metadata["abandoned"] = True
            message += " It may still be running and have effects."
        return Result.error(message, type="cancelled" if self.is_cancelled else "timeout_error", metadata=metadata)


def succeed(value: Any, repairs: Sequence[str] = ()) -> Result:
    """Return the Result of a value that the body returned: an error if it is not JSON serializable."""
    kind = type(value)  # `isinstance` would ask the value, which may be a dead proxy
    if kind in _SCALARS:
        result = Result(value)
    elif issubclass(kind, Halt):  # returned if a decorator would swallow the exception
        result = Result.halt(value.output)
    elif issubclass(kind, Result):
        result = value
        if result._content is None and not result.halted:
            result = _checked(result)
    else:
        result = _checked(Result(value))
    return _with_repairs(result, repairs) if repairs else result


def _checked(result: Result) -> Result:
    try:
        check(result.output)
    except TypeError as error:
        message = f"Invalid return value: {error}. Return plain data, text or a dataclass."
        return Result.error(message, metadata={"reason": "not_json"})
    return result


def fail(error: BaseException, repairs: Sequence[str] = ()) -> Result:
    """Return the Result of an exception; one that cancels, or ends the process, is raised again."""
    cause = error if isinstance(error, ToolError) else _cause(_own_cancellation(error))
    if isinstance(cause, Halt):
        result = Result.halt(cause.output)
    elif isinstance(cause, InvalidArguments):
        metadata = None if cause.reason is None else {"reason": cause.reason}
        result = Result.error(_text(cause), type=cause.type, metadata=metadata, exception=error)
    elif isinstance(cause, ToolError):
        result = Result.error(_text(cause) or type(cause).__name__, type=cause.type, exception=error)
    elif isinstance(cause, Stopped):
        result = cause.result()
    elif isinstance(cause, Exception):
        name, text = type(cause).__name__, _text(cause)
        result = Result.error(clip(f"{name}: {text}" if text else name, _MAX_MESSAGE), exception=error)
    else:
        raise error
    return _with_repairs(result, repairs) if repairs else result


def _cause(error: BaseException) -> BaseException:
    """Return the exception that matters in a group: the Halt of a task group, or its only failure."""
    while isinstance(error, BaseExceptionGroup):
        group: BaseExceptionGroup[BaseException] = error.subgroup(Halt) or error
        first, *others = group.exceptions
        if others and not isinstance(first, Halt):
            break
        error = first
    return error


def _own_cancellation(error: BaseException) -> BaseException:
    """Return a ToolError for a cancellation that the tool caused; a cancelled task must stay cancelled."""
    modules = map(sys.modules.get, ("asyncio.exceptions", "concurrent.futures._base"))
    if not isinstance(error, tuple(module.CancelledError for module in modules if module is not None)):
        return error
    import asyncio  # 29 ms; a cancellation needs it anyway

    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        task = None
    if task is not None and task.cancelling():
        return error
    return ToolError("the tool was cancelled by its own code, not by the caller", "cancelled")


def _with_repairs(result: Result, repairs: Sequence[str]) -> Result:
    return result.with_metadata({"repaired": list(repairs)})


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  (its `__str__` fails: only the class can be shown)
        return ""
