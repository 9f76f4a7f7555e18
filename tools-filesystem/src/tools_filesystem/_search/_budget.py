"""How long a search may take, and how much it may look at."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_core import Context

SECONDS = 30.0
EXTRA_SECONDS = 3.0
ENTRIES = 2_000_000


class Budget:
    """What is left for one call; `stopped` says in words what ran out first, `is_over` that nothing is left now."""

    __slots__ = ("_context", "_entries", "ends", "is_over", "stopped")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._entries = ENTRIES
        left = context.remaining
        # A call that has its own limit must have its result ready before it is given up.
        self.ends = monotonic() + (SECONDS if left is None else min(SECONDS, 0.9 * left))
        self.stopped: str | None = None
        self.is_over = False

    def take(self, entries: int = 0) -> bool:
        """Whether the search may go on, having looked at so many more entries."""
        self._entries -= entries
        if self._entries < 0:
            self.stop("too many files and folders")
        elif monotonic() >= self.ends:
            self.stop("out of time")
        elif self._context.cancelled:
            self.stop("cancelled")
        return not self.is_over

    def stop(self, why: str) -> None:
        """Let the search go no further."""
        self.stopped = self.stopped or why
        self.is_over = True

    def extend(self) -> None:
        """A little more, to show what was found until it stopped."""
        left = self._context.remaining
        extra = EXTRA_SECONDS if left is None else min(EXTRA_SECONDS, 0.9 * left)
        self.ends = max(self.ends, monotonic() + extra)
        self._entries = max(0, self._entries)
        self.is_over = False

    def left(self) -> float:
        """Seconds, at least 0."""
        return max(0.0, self.ends - monotonic())
