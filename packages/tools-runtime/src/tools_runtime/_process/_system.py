"""Calls of the system that Python has no function for, and ends of processes to wait for."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from time import monotonic, sleep

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends; on Linux, elsewhere nothing."""
    import ctypes  # the process that forks needs it once

    with suppress(AttributeError, OSError):  # only Linux has it
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, *(ctypes.c_ulong(word) for word in (1, 0, 0, 0)))


def end_of(pid: int) -> int | None:
    """A descriptor that is readable when a process has ended; None where there is no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def is_readable(descriptor: int, seconds: float) -> bool:
    """Whether a descriptor is readable, or its other end gone, within so many seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def wait_for_child(pid: int, end: int | None, seconds: float) -> int | None:
    """The exit code of a child that ends within so many seconds, as `subprocess` has it; None for one that does not.

    0 for one that somebody else has waited for.
    """
    until = monotonic() + seconds
    if end is not None:
        is_readable(end, seconds)
    while True:
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return 0
        if ended:
            return os.waitstatus_to_exitcode(status)
        if monotonic() >= until:
            return None
        sleep(0.005)


def name_of(code: int) -> str:
    """A signal's name for a negative exit code, `exit N` for others."""
    if code >= 0:
        return f"exit {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
