"""`MemoryGroup`: a control group that bounds the memory which no process shows, such as memfd and socket buffers."""

from __future__ import annotations

import os
from contextlib import suppress

_ROOT = "/sys/fs/cgroup"
_SHARE = 2  # files in temporary folders may use as much memory as the processes
# By version of control groups: the files for the limit, and for the number of processes that the kernel killed.
_FILES = {2: ("memory.max", "memory.events"), 1: ("memory.limit_in_bytes", "memory.oom_control")}


class MemoryGroup:
    """A control group for a job. Only some systems delegate the right to create one."""

    def __init__(self, limit: float) -> None:
        """Create it for a limit in bytes; OSError if that is not permitted."""
        version, parent = _parent()
        self._limit, self._events = _FILES[version]
        self.path = f"{parent}/ask-tools-{os.getpid()}"
        os.mkdir(self.path)
        try:
            self._write(self._limit, str(int(limit) * _SHARE))
        except OSError:
            os.rmdir(self.path)
            raise
        with suppress(OSError):  # without swap
            self._write("memory.swap.max", "0")

    def join(self) -> None:
        """Move this process into the group, with its future children."""
        self._write("cgroup.procs", str(os.getpid()))

    @property
    def has_killed(self) -> bool:
        """Return whether the kernel has killed a process at the limit."""
        with open(f"{self.path}/{self._events}", "rb") as file:
            return any(line.startswith(b"oom_kill ") and int(line.split()[1]) > 0 for line in file)

    def remove(self) -> None:
        """Remove the group, which must be empty."""
        with suppress(OSError):  # a process hangs in the kernel
            os.rmdir(self.path)

    def _write(self, name: str, text: str) -> None:
        with open(f"{self.path}/{name}", "w") as file:
            file.write(text)


def _parent() -> tuple[int, str]:
    """Return the version of control groups, and the path of a group that may contain a new one."""
    with open("/proc/self/cgroup") as file:
        entries = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, path in entries:
        if controllers == "memory":
            return 1, _ROOT + "/memory" + path.rstrip("/")
    # A group with processes cannot divide its memory: the new one is beside it.
    return 2, os.path.dirname(_ROOT + next(path for _, controllers, path in entries if not controllers).rstrip("/"))
