"""Identify a process by its machine, its id and its start time."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tools_core.linux import process_fields


def this_process() -> str:
    """Return a unique name for the running process, or "" if the system provides none."""
    return _name(os.getpid())


def has_ended(process: str) -> bool:
    """Return whether a process has ended; False for a process of another machine."""
    machine, _, rest = process.partition(" ")
    pid, _, _ = rest.partition(" ")
    return machine == _machine() != "" and _name(int(pid)) != process


def _name(pid: int) -> str:
    fields = process_fields(pid)
    if fields and fields[0] not in b"ZX" and (machine := _machine()):
        return f"{machine} {pid} {fields[19].decode()}"  # in clock ticks since the machine started
    return ""


def _machine() -> str:
    """Return the namespace of process ids: the boot of the machine, and the container."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    return ""
