"""Calls of the system that Python has no function for, and a way to wait for children and descriptors at once."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress

_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_DUMPABLE = 4

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int, third: int = 0) -> None:
    """Change what the kernel keeps for this process; OSError when it refuses."""
    words = map(ctypes.c_ulong, (value, third, 0, 0))
    _checked(f"prctl {option}", _libc.prctl(option, *words))


def system_call(number: int, *words: int) -> int:
    """Call the kernel by number; OSError when it refuses."""
    result = _libc.syscall(ctypes.c_long(number), *(ctypes.c_ulong(word) for word in words))
    return _checked(f"system call {number}", result)


def capset(header: bytes, sets: bytes) -> None:
    """Set the capabilities of this process; OSError when the kernel refuses."""
    _checked("capset", _libc.capset(ctypes.create_string_buffer(header), sets))


def _checked(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def gain_nothing() -> None:
    """See to it that no program gives more rights than this process has, set-id bits or not."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def set_visible(*, visible: bool) -> None:
    """Refuse other processes of the same user this one's memory, environment and descriptors (not root's), or not."""
    prctl(_PR_SET_DUMPABLE, int(visible))


def come_first() -> None:
    """Run before all ordinary processes, where that is allowed: only root may, and only for root is it needed.

    The kernel keeps no limit on the number of root's processes. Children do not inherit it.
    """
    with suppress(OSError):  # it is not allowed, or not there (musl)
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def come_last() -> None:
    """Let others run again, after `come_first`."""
    with suppress(OSError):  # as above
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def wakeup_pipe() -> int:
    """A descriptor that is readable when a child has ended."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return ours
