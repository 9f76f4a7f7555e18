"""Resource limits of a job: the kernel enforces some for each process, a watch others for all processes together."""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core.linux import process_fields
from tools_shell._supervisor._descendants import has_ended

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    Resources: TypeAlias = Mapping[str, float | None]

_INTERVAL = 20  # milliseconds: a process can fill about 100 MB of memory in that time
_LONGEST_INTERVAL = 250  # milliseconds, while the job is idle
_SHARE = 50  # one part in so many of the time is spent on looking, and about as much on finding the processes


def limit(resources: Resources, wrappers: int) -> None:
    """Set the limits that the kernel enforces for each process and that do not affect the supervisor.

    `wrappers` is the number of processes before the command.
    """
    _set(resource.RLIMIT_CORE, 0)
    if (size := resources["file_size"]) is not None:
        _set(resource.RLIMIT_FSIZE, int(size))
    if (processes := resources["processes"]) is not None:
        # The kernel counts all processes of the user, so the machine's count is added (not enforced for root).
        _set(resource.RLIMIT_NPROC, _running() + wrappers + int(processes) + 1)


_most_open = resource.getrlimit(resource.RLIMIT_NOFILE)


def raise_open_files_limit() -> None:
    """Raise the soft limit on open files: descriptors keep the numbers that they have in the host."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (_most_open[1], _most_open[1]))


def restore_open_files_limit(highest: int) -> None:
    """Undo `raise_open_files_limit`, which some programs do not expect, but keep room for a descriptor `highest`."""
    soft, hard = _most_open
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(highest + 1, hard)), hard))


def limit_open_files(resources: Resources) -> None:
    """Set the limit on open files, which would be too low for the supervisor; called in the leader."""
    if (files := resources["open_files"]) is not None:
        _set(resource.RLIMIT_NOFILE, int(files))


def raise_priority() -> None:
    """Run with real-time priority if permitted: only root can, and only root's jobs need it.

    The kernel does not limit the number of root's processes. Children do not inherit the priority.
    """
    with suppress(OSError):  # not permitted, or not available (musl)
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _set(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _running() -> int:
    """Return the number of threads on the machine (proc_loadavg(5), the fourth field)."""
    with open("/proc/loadavg", "rb", buffering=0) as file:
        return int(file.read().split()[3].partition(b"/")[2])


class ResourceWatch:
    """Checks the resources that the processes of a job use together.

    `interval` until the next check is in milliseconds, None if nothing is limited. It grows while the job is idle, and
    with the cost of a check. The number of `wrappers` is not counted.
    """

    def __init__(self, resources: Resources, wrappers: int) -> None:
        self._wrappers = wrappers
        self._cpu, self._memory = resources["cpu"], resources["memory"]
        self._processes = resources["processes"]
        limits = (self._cpu, self._memory, self._processes)
        self.interval: float | None = None if all(limit is None for limit in limits) else _INTERVAL
        self._seen = -1.0  # seconds of CPU time at the last check
        self._tick = os.sysconf("SC_CLK_TCK")
        self._page = os.sysconf("SC_PAGE_SIZE")

    def check(self, pids: Iterable[int]) -> str | None:
        """Return a description of the limit that the job has exceeded, or None."""
        if self.interval is None:
            return None
        started = time.monotonic()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu, threads, memory = usage.ru_utime + usage.ru_stime, 0, 0
        for pid in pids:
            fields = process_fields(pid)
            if not fields:
                continue
            # utime, stime, cutime and cstime (proc_pid_stat(5), from field 14)
            cpu += sum(map(int, fields[11:15])) / self._tick
            if not has_ended(fields):
                threads += int(fields[17])
                memory += int(fields[21]) * self._page
        self._set_interval(cpu, (time.monotonic() - started) * 1000)
        if self._processes is not None and threads > self._processes + self._wrappers:
            return f"process limit {self._processes:g}"
        if self._cpu is not None and cpu > self._cpu:
            return f"CPU limit {self._cpu:g} s"
        if self._memory is not None and memory > self._memory and _in_use(pids) > self._memory:
            return f"memory limit {_size(self._memory)}"
        return None

    def _set_interval(self, cpu: float, cost: float) -> None:
        is_idle = cpu == self._seen and self._memory is None  # memory fills up quickly
        self._seen = cpu
        doubled = min(2 * (self.interval or _INTERVAL), _LONGEST_INTERVAL)
        self.interval = max(doubled if is_idle else _INTERVAL, cost * _SHARE)


def _in_use(pids: Iterable[int]) -> int:
    """Return the bytes of memory, counting shared memory once: exact, but too slow for every check."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith((b"Pss:", b"Swap:")))
        except OSError:  # it has exited, or is not readable: use the estimate
            fields = process_fields(pid)
            total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") // 1024 if fields else 0
    return total * 1024


def limit_for_exit(code: int, resources: Resources) -> str | None:
    """Return the limit that the exit of the leader stands for.

    Shells report the signal of a child as an exit code.
    """
    if code in {-signal.SIGXFSZ, 128 + signal.SIGXFSZ} and resources["file_size"] is not None:
        return f"file size limit {_size(resources['file_size'])}"
    return None


def _size(count: float) -> str:
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"), (10**9, "GB"), (10**6, "MB"), (1000, "kB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit:g} {name}"
    return f"{count:g} bytes"
