"""The log of this package, and what exceptions mean for a call."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from tools_core import Halt, Result, ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core import ToolCall

log = logging.getLogger("tools_runtime")


def describe_error(error: BaseException) -> str:
    """Return the class of an exception and its message."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  (its own __str__ fails: the class is all that is known)
        return type(error).__name__


def answer_of(error: BaseException) -> Result | None:
    """The result that `ToolError` and `Halt` stand for; None for any other exception."""
    if isinstance(error, ToolError):
        return Result.error(error.message, type=error.type, exception=error)
    return Result.halt(error.output) if isinstance(error, Halt) else None


def is_cancellation(error: BaseException) -> bool:
    """Return whether this is the CancelledError of a task or of a future."""
    homes = map(sys.modules.get, ("asyncio.exceptions", "concurrent.futures._base"))
    return isinstance(error, tuple(home.CancelledError for home in homes if home is not None))


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
        return any(is_bug(each) for each in error.exceptions)
    return isinstance(error, _BUGS)
