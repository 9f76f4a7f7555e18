"""Values that a hook yields to wait for something; the scheduler does the waiting.

A hook never waits by itself. So the same hook serves a call in a thread and a thousand calls in one event loop. All of
these waits end early when the caller is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future


class Pause:
    """Wait for a number of seconds."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Until:
    """Wait until a future is done, at most for a number of seconds; the hook receives whether it is done."""

    __slots__ = ("future", "seconds")

    def __init__(self, future: Future[Any], seconds: float | None = None) -> None:
        self.future = future
        self.seconds = seconds


class Blocking:
    """Call a function that takes a while in a worker thread; its value or exception comes back to the hook.

    When the caller is gone, or after `seconds`, the wait ends with None and the thread is abandoned.
    """

    __slots__ = ("function", "seconds")

    def __init__(self, function: Callable[[], Any], seconds: float | None = None) -> None:
        self.function = function
        self.seconds = seconds
