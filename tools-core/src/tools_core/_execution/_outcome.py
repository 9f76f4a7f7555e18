"""Turn the value or exception of a tool's body into a `Result`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tools_core._values._context import Context, Question, Unanswered
from tools_core._values._errors import Halt, InvalidArguments, ToolError
from tools_core._values._jsonable import check
from tools_core._values._problem import clip
from tools_core._values._result import Result

_MAX_MESSAGE = 4_000  # characters of an unexpected exception that a model reads
_BUGS = (NameError, AttributeError, TypeError, NotImplementedError, AssertionError, ImportError, RecursionError)
_SCALARS = frozenset({str, int, float, bool, type(None)})


class Stopped(Exception):
    """The limit of a call has passed, or the caller cancelled it; not a TimeoutError that the tool raised."""

    def __init__(self, context: Context, *, is_abandoned: bool = False, has_started: bool = True) -> None:
        self.context = context
        self.is_abandoned = is_abandoned
        self.has_started = has_started
        self.is_cancelled = context.cancelled  # as it was when the call stopped

    def result(self) -> Result:
        """Describe the end of the call."""
        metadata: dict[str, Any] = {}
        if self.is_cancelled:
            message = "Cancelled by the caller" + ("." if self.has_started else " before the call began.")
        else:
            seconds = self.context.timeout or 0.0
            when = f"after {seconds:g} s" if self.has_started else "before the call began"
            message = f"Timed out {when} (limit set by {self.context.timeout_set_by})."
            if self.has_started:
                metadata["timeout"] = seconds
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
    else:
        result = value if issubclass(kind, Result) else Result(value)
        if result._content is None and not result.halted:
            try:
                check(result.output)
            except TypeError as error:
                message = f"Invalid return value: {error}. Return plain data, text or a dataclass."
                result = Result.error(message, metadata={"reason": "not_json"})
    return result.with_metadata({"repaired": list(repairs)}) if repairs else result


def fail(error: BaseException, repairs: Sequence[str] = ()) -> Result:
    """Return the Result of an exception; one that cancels, or ends the process, is raised again."""
    cause = error if type(error) is InvalidArguments else _cause(error)
    if isinstance(cause, InvalidArguments):  # without the message, which few callers read
        metadata = {"reason": cause.reason} if cause.reason else None
        result = Result(None, metadata, None, cause.type, cause)
    elif isinstance(cause, Halt):
        result = Result.halt(cause.output)
    elif isinstance(cause, Stopped):
        result = cause.result()
    elif isinstance(cause, Unanswered):
        context = cause.question.context
        result = Stopped(context).result() if context.cancelled else _unanswered(cause.question)
    elif isinstance(cause, Exception):
        name, text = type(cause).__name__, _text(cause)
        type_ = "execution_error"
        if isinstance(cause, ToolError):
            message, type_ = text or name, cause.type
        else:
            message = clip(f"{name}: {text}" if text else name, _MAX_MESSAGE)
            if isinstance(cause, _BUGS):
                _log_bug(cause)
        result = Result.error(message, type=type_, exception=error)
    else:
        raise error
    return result.with_metadata({"repaired": list(repairs)}) if repairs else result


def _log_bug(error: Exception) -> None:
    """Log an exception that indicates a bug in the tool, for its author: the caller receives only the message."""
    import logging  # 6 ms

    logging.getLogger("tools_core").error("A tool has a bug: %s", type(error).__name__, exc_info=error)


def _unanswered(question: Question) -> Result:
    choices = f" ({', '.join(question.choices)})" if question.choices else ""
    message = f"{question.tool or 'the tool'} needs an answer from the user: {question.text}{choices}"
    hint = "pass Context(on_ask=...), a function that answers"  # for developers
    return Result.error(message, type="answer_required", metadata={"pending": question.to_dict(), "hint": hint})


def _cause(error: BaseException) -> BaseException:
    """Return the exception that counts: in a group, the Halt or the only failure.

    A cancellation that the tool caused becomes a ToolError; a cancelled task must stay cancelled.
    """
    while isinstance(error, BaseExceptionGroup):
        group: BaseExceptionGroup[BaseException] = error.subgroup(Halt) or error
        first, *others = group.exceptions
        if others and group is error:
            break
        error = first
    if type(error).__name__ != "CancelledError":  # of asyncio or concurrent.futures
        return error
    import asyncio  # 29 ms; a cancellation needs it anyway

    with suppress(RuntimeError):  # no event loop runs in this thread
        if (task := asyncio.current_task()) is not None and task.cancelling():
            return error
    return ToolError("the tool was cancelled by its own code, not by the caller", "cancelled")


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  (its `__str__` fails: only the class can be shown)
        return ""
