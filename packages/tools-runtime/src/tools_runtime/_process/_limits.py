"""What a worker may use, kept by the kernel."""

from __future__ import annotations

import os
import resource
import sys
import time
from contextlib import suppress


def expose() -> None:
    """See to it that this process goes first should memory run out."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:  # only Linux has it
        file.write(b"1000")


def limit(memory: int | None) -> None:
    """Limit this process and what it starts, each by itself, to so many bytes beyond what it has now."""
    _lower(resource.RLIMIT_CORE, 0)
    if memory is not None:
        _lower(resource.RLIMIT_AS, _pages(0) + memory)


def limit_cpu(seconds: int) -> None:
    """Let the kernel end this process (SIGXCPU) when it has computed for so long from now; at most a second more."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(time.process_time()) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def is_beyond(size: int) -> bool:
    """Whether this process has more than so many bytes in memory."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return peak > size and _pages(1, peak) > size  # the first is cheaper


def _pages(field: int, otherwise: int = 0) -> int:
    """Bytes of virtual (0) or resident (1) memory, see proc_pid_statm(5)."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return otherwise


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with suppress(ValueError, OSError):  # macOS does not keep all of them
        resource.setrlimit(kind, (value, value))
