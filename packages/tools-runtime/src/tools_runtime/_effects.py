"""What a hook may ask for while a call is on its way; whoever drives the call does it, in a thread or in an event loop.

A hook never waits by itself: it yields what it waits for. So the same hook serves a call in a thread and a thousand
calls in one event loop.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from tools_core import Context

LOOK = 0.25  # seconds after which a caller is asked again: nothing tells when it gives up


def parts(seconds: float | None, context: Context) -> Iterator[float]:
    """The seconds to wait, in parts between which the caller is asked whether it has given up."""
    until = float("inf") if seconds is None else monotonic() + seconds
    while (left := until - monotonic()) > 0 and not context.cancelled:
        yield min(left, LOOK)


class Pause:
    """Wait so many seconds."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Blocking:
    """Call a function that takes its time; what it returns, or raises, comes back to the hook.

    In an event loop it runs in a worker thread.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function


class Until:
    """Wait until a future is done, but not longer than so many seconds; the hook is told whether it is.

    With a context the wait ends early when its caller gives up.

    For hooks whose calls wait for each other: any thread may settle the future, and in an event loop to wait takes no
    thread.
    """

    __slots__ = ("context", "future", "seconds")

    def __init__(self, future: Future[Any], seconds: float | None = None, context: Context | None = None) -> None:
        self.future = future
        self.seconds = seconds
        self.context = context

    def parts(self) -> Iterable[float | None]:
        """The seconds to wait, one wait after the other."""
        return (self.seconds,) if self.context is None else parts(self.seconds, self.context)
