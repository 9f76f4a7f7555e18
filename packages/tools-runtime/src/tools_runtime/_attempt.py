"""One attempt at a call that has a limit, and how it ends when nobody waits for it any more."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING, Any

from tools_core import Result

if TYPE_CHECKING:
    from asyncio import Task

    from tools_core import Context


class LeftBehind(BaseException):
    """This attempt ended after its call had been answered: nobody asks for what it came to."""


class GivenUp(BaseException):
    """Nobody asks for this call any more: what it has not begun never begins."""


class Attempt:
    """A call that is being made, and may be left behind: whoever claims it first says what it came to."""

    __slots__ = ("_claim", "context", "deadline", "is_over", "limit", "task")

    def __init__(self, context: Context, limit: float, grace: float) -> None:
        self.context = context
        self.limit = limit
        self.deadline = monotonic() + limit + grace
        self.is_over = False  # its limit has passed, and its task was cancelled for that
        self.task: Task[Any] | None = None
        self._claim = threading.Lock()

    def claim(self) -> bool:
        """Whether it was not claimed before."""
        return self._claim.acquire(blocking=False)

    @property
    def has_ended(self) -> bool:
        """Whether it was claimed."""
        return self._claim.locked()

    def time_out(self) -> Result | None:
        """Leave it behind: the result of the call, or None if it has just ended by itself."""
        if not self.claim():
            return None
        self.context.cancel()
        return self.timed_out(abandoned=True)

    def timed_out(self, *, abandoned: bool) -> Result:
        """The result of a call that did not end within its limit."""
        end = "; it may still be running and have effects" if abandoned else " and was cancelled"
        limit = self.context.as_set(self.limit)
        known = {"timeout": limit}
        return Result.error(
            f"did not end within its limit of {limit:.3g} s{end}",
            type="timeout_error",
            metadata={**known, "abandoned": True} if abandoned else known,
        )


def not_begun() -> Result:
    """The result of a call whose caller gave up before: who asks again may have it made."""
    return Result.error("the caller gave up before the call began", type="cancelled", metadata={"begun": False})


def too_late() -> Result:
    """The result of a call that could not begin within its caller's time: who asks again may have it made."""
    text = "the time limit had passed before the call could begin"
    return Result.error(text, type="timeout_error", metadata={"begun": False})
