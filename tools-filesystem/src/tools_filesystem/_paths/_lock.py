"""A lock that admits one writer to a folder, across processes.

The lock is on the folder and not on the file, which every write replaces by another. The system gives it back when
its holder dies; callers wait for a stopped one only for some time.
"""

from __future__ import annotations

from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING

from tools_core import ToolError

if TYPE_CHECKING:
    from tools_core import Context

_MAX_WAIT = 10.0  # seconds
_FIRST_PAUSE, _MAX_PAUSE = 0.0005, 0.02


def hold(folder: int, context: Context | None = None) -> None:
    """Lock a folder until `release`, or until its descriptor is closed; at once if this descriptor has it already.

    ToolError `unavailable` when another writer keeps it, `cancelled` when the caller has cancelled.
    """
    if _take(folder):
        return
    start, pause = monotonic(), _FIRST_PAUSE
    left = context.remaining if context is not None else None
    # Leave time to return the result before the caller's limit abandons the call.
    longest = _MAX_WAIT if left is None else min(_MAX_WAIT, 0.9 * left)
    while not _take(folder):
        if context is not None and context.cancelled:
            raise ToolError("cancelled while another writer was waited for; nothing was changed", "cancelled")
        if monotonic() - start >= longest:
            message = f"another writer has kept the folder locked for {longest:.3g} seconds; nothing was changed"
            raise ToolError(f"{message}: try again, or end that process", "unavailable")
        sleep(pause)
        pause = min(2 * pause, _MAX_PAUSE)


def release(folder: int) -> None:
    """Release the lock, even if a forked process has a copy of the descriptor."""
    from fcntl import LOCK_UN, flock  # POSIX alone

    with suppress(OSError):
        flock(folder, LOCK_UN)


def _take(folder: int) -> bool:
    from fcntl import LOCK_EX, LOCK_NB, flock  # POSIX alone

    try:
        flock(folder, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True
