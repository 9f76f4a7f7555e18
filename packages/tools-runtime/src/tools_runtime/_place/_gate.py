"""A limit on how many calls run at once, shared by all threads and event loops of the process."""

from __future__ import annotations

from collections import deque
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# The gates that the current call has passed: a call that it makes itself passes them without waiting for its caller.
passed: ContextVar[tuple[Gate, ...]] = ContextVar("tools_runtime_passed_gates", default=())


class Gate:
    """Lets `limit` calls in at once, in the order in which they came."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._free = limit
        self._waiting: deque[Callable[[], None]] = deque()
        self._lock = Lock()

    def enter(self, go: Callable[[], None]) -> None:
        """Call `go` as soon as there is room: at once, or later in the thread of the call that leaves."""
        with self._lock:
            if not self._free:
                self._waiting.append(go)
                return
            self._free -= 1
        go()

    def leave(self) -> None:
        """Make room for the next call."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            go = self._waiting.popleft()
        go()

    def withdraw(self, go: Callable[[], None]) -> bool:
        """Stop waiting; False for a call that is in already."""
        with self._lock:
            try:
                self._waiting.remove(go)
            except ValueError:
                return False
        return True


def check_concurrency(limit: object) -> None:
    """Raise ValueError for a `max_concurrency` with which no call could run; None sets no limit."""
    if limit is not None and not (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 1):
        raise ValueError(f"max_concurrency must be an integer of at least 1, or None for no limit; got {limit!r}")
