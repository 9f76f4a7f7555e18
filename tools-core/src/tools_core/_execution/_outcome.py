"""From what the body returned or raised to a `Result`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tools_core._values._errors import Halt, ToolError
from tools_core._values._problem import clip, render_path
from tools_core._values._result import Result, make_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core._values._context import Context

_MESSAGE_LIMIT = 4_000  # characters of an unexpected exception that a model is shown
_SCALARS = frozenset({str, int, float, bool, type(None)})


class Stopped(Exception):
    """The limit of a call has passed, or its caller has cancelled it; a tool's own TimeoutError is another thing."""

    def __init__(self, context: Context, limit: float | None, *, is_abandoned: bool) -> None:
        self.is_cancelled = context.cancelled
        self.is_abandoned = is_abandoned
        self.set_by = context.timeout_set_by
        self.seconds = context.timeout or 0.0
        if limit is not None and self.seconds - limit > 1:  # part of it had passed when the call began
            self.seconds = round(limit, 1)


def succeed(value: Any, repairs: Sequence[str] = ()) -> Result:
    """Make a Result of what the body returned: an error where that is not JSON, and has no form in it."""
    kind = type(value)  # isinstance would ask the value, which may be a proxy for something that is gone
    if kind in _SCALARS:
        result = make_result(True, value)
    elif issubclass(kind, Halt):  # returned where a decorator would swallow the exception
        result = Result.halt(value.output)
    elif issubclass(kind, Result):
        result = value if value.halted or value._content is not None else _checked(value.output, value)
    else:
        result = _checked(value)
    return _noted(result, repairs) if repairs else result


def _checked(value: Any, result: Result | None = None) -> Result:
    """Return `result`, or one with this value, if the value has a form in JSON; else an error."""
    from tools_core._values._jsonable import foreign_part  # results of plain text never need it

    try:
        found = foreign_part(value)
    except RecursionError:  # the result says how deep it can be shown
        found = None
    if found is None:
        return make_result(True, value) if result is None else result
    path, foreign = found
    name = foreign.__qualname__ if foreign.__module__ == "builtins" else f"{foreign.__module__}.{foreign.__qualname__}"
    where = f" at {render_path(path)}" if path is not None else ""
    message = (
        f"The tool returned a value of type {name}{where}, which has no form in JSON. "
        "Return plain data, text or a dataclass."
    )
    return Result.error(message, metadata={"reason": "not_json"})


def fail(error: BaseException, repairs: Sequence[str] = ()) -> Result:
    """Make a Result of what the body raised; what ends the process, or cancels, is raised again."""
    cause = _cause(_own_cancellation(error))
    if isinstance(cause, Halt):
        result = Result.halt(cause.output)
    elif isinstance(cause, ToolError):
        result = Result.error(_text(cause) or type(cause).__name__, type=cause.type, exception=error)
    elif isinstance(cause, Stopped):
        result = _stopped(cause)
    elif isinstance(cause, Exception):
        name, text = type(cause).__name__, _text(cause)
        result = Result.error(clip(f"{name}: {text}" if text else name, _MESSAGE_LIMIT), exception=error)
    else:
        raise error
    return _noted(result, repairs)


def _cause(error: BaseException) -> BaseException:
    """The one exception that matters in a group: of a task group whose child halts, or fails alone."""
    while isinstance(error, BaseExceptionGroup):
        group: BaseExceptionGroup[BaseException] = error.subgroup(Halt) or error
        first, *others = group.exceptions
        if others and not isinstance(first, Halt):
            break
        error = first
    return error


def _own_cancellation(error: BaseException) -> BaseException:
    """Return a ToolError for a cancellation that the tool caused itself; a cancelled task must stay cancelled."""
    homes = map(sys.modules.get, ("asyncio.exceptions", "concurrent.futures._base"))
    if not isinstance(error, tuple(home.CancelledError for home in homes if home is not None)):
        return error
    import asyncio  # loaded already, or nearly: cancelling futures needs threads

    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        task = None
    if task is not None and task.cancelling():
        return error
    return ToolError("the tool was cancelled from inside, by itself or by what it waited for", "cancelled")


def _noted(result: Result, repairs: Sequence[str]) -> Result:
    return result.with_metadata({"repaired": list(repairs)}) if repairs else result


def _stopped(stopped: Stopped) -> Result:
    known: dict[str, Any] = {} if stopped.is_cancelled else {"timeout": stopped.seconds}
    message = f"Timed out after {stopped.seconds:g} s (limit set by {stopped.set_by})."
    if stopped.is_cancelled:
        message = "Cancelled by the caller."
    if stopped.is_abandoned:
        known["abandoned"] = True
        message += " It may still be running and have effects."
    return Result.error(message, type="cancelled" if stopped.is_cancelled else "timeout_error", metadata=known)


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  (its own __str__ fails: the class is all that can be said)
        return ""
