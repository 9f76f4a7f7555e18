"""The waits of a job: the first of several events resumes it, and the others come too late."""

from __future__ import annotations

from contextvars import copy_context
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from tools_core.threads import in_thread, unwrap
from tools_runtime._wrap._effects import Blocking, Pause, Until

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from tools_core import Context
    from tools_runtime._place._runtime import Runtime
    from tools_runtime._schedule._home import Home


class Waiting:
    """A wait of a job, which ends once: the first to claim it resumes the job."""

    __slots__ = ("_claims", "outcome")

    def __init__(self, outcome: Callable[[], Any]) -> None:
        self._claims = [None]
        self.outcome = outcome  # returns, or raises, what the job goes on with

    @property
    def is_open(self) -> bool:
        """True until it is claimed."""
        return bool(self._claims)

    def claim(self) -> bool:
        """Return True to exactly one caller."""
        try:
            self._claims.pop()
        except IndexError:
            return False
        return True


class Attempt(Waiting):
    """One try to make a call, with its own context."""

    __slots__ = ("context", "future", "margin", "number", "runtime", "stop")
    future: Future[Any]  # once it was placed

    def __init__(self, context: Context, runtime: Runtime, number: int, margin: float) -> None:
        super().__init__(_no_outcome)
        self.context = context
        self.runtime = runtime
        self.number = number
        self.stop: Callable[[], object] = _no_outcome  # cancels a coroutine; other attempts end by their context
        self.margin = margin  # seconds beyond the deadline until it is stopped


def _no_outcome() -> None:
    return None


def begin_waiting(step: object, home: Home) -> tuple[Waiting, Future[Any] | None, float | None]:
    """Begin what a hook yielded: the wait, the future that ends it, and the seconds after which it ends anyway."""
    if isinstance(step, Pause):
        return Waiting(_no_outcome), None, max(0.0, step.seconds)
    if isinstance(step, Until):
        return Waiting(step.future.done), step.future, step.seconds
    future: Future[Any]
    if isinstance(step, Blocking):
        future = in_thread(step.function)
        return Waiting(lambda: unwrap(future.result()) if future.done() else None), future, step.seconds
    if isawaitable(step):
        awaited = step

        async def wait() -> Any:
            return await awaited

        future, stop = home.spawn(wait(), copy_context())

        def outcome() -> Any:
            if future.done():
                return future.result()
            stop()  # the caller is gone
            return None

        return Waiting(outcome), future, None
    raise TypeError(
        f"a hook yielded {type(step).__name__}; it may yield nothing or a ToolCall to make the call, a Pause, an "
        "Until, a Blocking, an Event, or an awaitable"
    )
