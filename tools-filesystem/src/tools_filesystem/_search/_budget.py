"""How long a search may take, and how much it may look at."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_core import Context

SECONDS = 30.0
ENTRIES = 2_000_000


class Budget:
    """What is left for one call; `stopped` says what has run out, in words."""

    __slots__ = ("_context", "_entries", "ends", "stopped")

    def __init__(self, context: Context, seconds: float = SECONDS, entries: int = ENTRIES) -> None:
        self._context = context
        self._entries = entries
        left = context.remaining
        # A call that has its own limit must have its result ready before it is given up.
        self.ends = monotonic() + (seconds if left is None else min(seconds, 0.9 * left))
        self.stopped: str | None = None

    def take(self, entries: int = 0) -> bool:
        """Whether the search may go on, having looked at so many more entries."""
        self._entries -= entries
        if self._entries < 0:
            self.stopped = self.stopped or "too many files and folders"
        elif monotonic() >= self.ends:
            self.stopped = self.stopped or "out of time"
        elif self._context.cancelled:
            self.stopped = self.stopped or "cancelled"
        return self.stopped is None

    def left(self) -> float:
        """Seconds, at least 0."""
        return max(0.0, self.ends - monotonic())
