"""`Event`: something that happened to a call. The package's log, and what exceptions mean for a call."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal

from tools_core import Context, Halt, Result, ToolCall, ToolError

log = logging.getLogger("tools_runtime")
Kind = Literal["start", "progress", "retry", "crash", "end", "hook_failed"]


@dataclass(slots=True, eq=False)
class Event:
    """Something that happened to a call, for `on_event`.

    Each call has exactly one `start` (detail: `runtime`, its name) and one `end` (with the result). In between come
    `progress` (`done`, `total`, `message`), `retry` (`delay` since the attempt before, and its `error_type`), `crash`
    (with the result of an attempt that lost its worker) and `hook_failed` (`plugin`, `hook`, `error`). `attempt` counts
    from 1 and is 0 before the first attempt; `at` is `time.monotonic()`.
    """

    kind: Kind
    call: ToolCall
    context: Context = field(repr=False)
    attempt: int = field(default=0, kw_only=True)
    result: Result | None = field(default=None, kw_only=True)
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    at: float = field(default_factory=monotonic, init=False, repr=False)

    @property
    def run_id(self) -> str:
        """The run that the call belongs to."""
        return self.context.run_id


class PolicyError(ValueError):
    """An invalid policy or approval; the message names the file and a valid form."""


_BUGS = (NameError, AttributeError, TypeError, NotImplementedError, AssertionError, ImportError, RecursionError)


class ToolBugError(Exception):
    """A mistake in a tool's code, with `error_policy="strict_bugs"`: raised once all calls have their results.

    `call` is the first such call, `__cause__` its exception, and `results` has all calls of the batch with their
    results.
    """

    def __init__(self, call: ToolCall, error: BaseException, results: Sequence[tuple[ToolCall, Result | None]]) -> None:
        super().__init__(f"the tool {call.name!r} has a bug: {describe_error(error)}")
        self.call = call
        self.results = results


def is_bug(error: BaseException) -> bool:
    """Return whether an exception, or one of a group, means a mistake in a program."""
    if isinstance(error, BaseExceptionGroup):
        return any(is_bug(part) for part in error.exceptions)
    return isinstance(error, _BUGS)


def describe_error(error: BaseException) -> str:
    """Return the class of an exception and its message."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  (its own __str__ fails)
        return type(error).__name__


def answer_of(error: BaseException) -> Result | None:
    """Return the result that a `ToolError` or `Halt` stands for; None for any other exception."""
    if isinstance(error, ToolError):
        return Result.error(error.message, type=error.type, exception=error)
    return Result.halt(error.output) if isinstance(error, Halt) else None


def failure(error: BaseException) -> Result:
    """Return the result of a call that raised an exception outside of its tool."""
    answer = answer_of(error)
    if answer is not None:
        return answer
    if is_cancellation(error):
        return Result.error("the tool raised CancelledError", type="cancelled")
    return Result.error(describe_error(error), exception=error)


def is_cancellation(error: BaseException) -> bool:
    """Return whether this is the CancelledError of a task or of a future."""
    modules = map(sys.modules.get, ("asyncio.exceptions", "concurrent.futures._base"))
    return isinstance(error, tuple(module.CancelledError for module in modules if module is not None))
