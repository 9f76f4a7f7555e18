"""What a hook may ask for while a call is on its way; whoever drives the call does it, in a thread or in an event loop.

A hook never waits by itself: it yields what it waits for. So the same hook serves a call in a thread and a thousand
calls in one event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


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
