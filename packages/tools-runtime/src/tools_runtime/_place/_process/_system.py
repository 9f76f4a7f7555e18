"""System calls and limits for which Python has no function."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends; Linux only."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Let the kernel kill this process when its parent ends; Linux only."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def children() -> list[int]:
    """Return the processes whose parent is this one, zombies included; none without /proc."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    own = b"%d" % os.getpid()
    return [int(name) for name in names if name.isdigit() and _parent_of(name) == own]


def limit_memory(size: int) -> None:
    """Limit this process, and each one that it starts, to `size` bytes beyond what it has now."""
    try:
        with open("/proc/self/statm", "rb") as file:
            size += int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # only Linux has it
        pass
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    with suppress(ValueError, OSError):  # macOS refuses some values
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def be_killed_first() -> None:
    """Let the kernel kill this process, and not the host, when memory runs out; Linux only."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(b"1000")


def name_exit(code: int) -> str:
    """Return the name of the signal for a negative exit code, `exit N` for others."""
    if code >= 0:
        return f"exit {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _prctl(option: int, value: int) -> None:
    with suppress(AttributeError, OSError):  # only Linux has prctl(2)
        ctypes.CDLL(None).prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0)))


def _parent_of(pid: str) -> bytes:
    """Return the parent from /proc/PID/stat, see proc_pid_stat(5); nothing when the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[1]  # the name before it may contain any character
    except (OSError, IndexError):
        return b""
