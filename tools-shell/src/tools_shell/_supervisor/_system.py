"""System calls without a Python API, and a pipe that SIGCHLD makes readable."""

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
    """Call prctl; OSError if the kernel refuses."""
    words = map(ctypes.c_ulong, (value, third, 0, 0))
    _checked(f"prctl {option}", _libc.prctl(option, *words))


def system_call(number: int, *words: int) -> int:
    """Make a system call by number; OSError if it fails."""
    result = _libc.syscall(ctypes.c_long(number), *(ctypes.c_ulong(word) for word in words))
    return _checked(f"system call {number}", result)


def capset(header: bytes, sets: bytes) -> None:
    """Set the capabilities of this process; OSError if the kernel refuses."""
    _checked("capset", _libc.capset(ctypes.create_string_buffer(header), sets))


def _checked(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def adopt_orphans() -> None:
    """Become the subreaper: the new parent of orphaned descendants."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    """Set no_new_privs: programs grant no further rights, set-id bits included."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def set_visible(*, visible: bool) -> None:
    """Set whether other processes of the user can read this one's memory and environment; root always can."""
    prctl(_PR_SET_DUMPABLE, int(visible))


def raise_priority() -> None:
    """Run with real-time priority if permitted: only root can, and only root's jobs need it.

    The kernel does not limit the number of root's processes. Children do not inherit the priority.
    """
    with suppress(OSError):  # not permitted, or not available (musl)
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def wakeup_pipe() -> int:
    """Return a descriptor that becomes readable when a child exits."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return ours
