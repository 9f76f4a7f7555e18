"""Settings for developers, which a model cannot change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from tools_core.files import PROTECTED

if TYPE_CHECKING:
    import os

PORTS = (80, 443)  # of a host that is named without one
_MAX = 1 << 63  # the range of the kernel's numbers

Level: TypeAlias = Literal["none", "contained", "sandboxed", "required", "landlock", "bubblewrap"]


@dataclass(frozen=True, slots=True)
class Resources:
    """Resource limits of a job, for all its processes together; None for no limit. Level "none" enforces none of them.

    `cpu` is in seconds. `memory` is in bytes, for processes; memory that no process shows (memfd, System V segments,
    socket buffers) is not bounded. `file_size` is in bytes of each written file.
    `processes` includes threads. `open_files` applies to each process.
    """

    cpu: float | None = None
    memory: int | None = None
    file_size: int | None = None
    processes: int | None = 1024
    open_files: int | None = None

    def __post_init__(self) -> None:
        for name in ("cpu", "memory", "file_size", "processes", "open_files"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MAX
            ):
                raise ValueError(f"{name} must be a number above 0, or None for no limit; got {value!r}")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The isolation of commands from the rest of the machine.

    `level` is the requested isolation. "none" and "contained" do not isolate; "contained" kills all processes that the
    command started. "sandboxed" is the strongest level on this machine, down to "contained". "required" refuses to run
    without a sandbox, and "landlock" and "bubblewrap" without that one. In a sandbox the workspace is writable, the
    system is readable, the rest is hidden, and there is no network unless `network` is set: True for all of it, or the
    hosts that an HTTP proxy reaches, such as ["example.org", "*.example.org:8080"]. `readable` and `writable` add
    folders or files; links among them that commands can change are not followed. In bubblewrap commands can write to
    sockets and FIFOs in readable folders; they cannot change git's hooks and configuration, nor the virtual environment
    and the tool packages that this process runs from, unless `writable` lists them. Results report files with
    `protected` names that a command changed or created.
    """

    level: Level = "sandboxed"
    network: bool | tuple[str, ...] = False
    readable: tuple[str | os.PathLike[str], ...] = ()
    writable: tuple[str | os.PathLike[str], ...] = ()
    resources: Resources = field(default_factory=Resources)
    protected: frozenset[str] = PROTECTED

    def __post_init__(self) -> None:
        if self.level not in get_args(Level):
            raise ValueError(f"no isolation level {self.level!r}; there are {', '.join(get_args(Level))}")
        for name, kind in (("network", "hosts"), ("readable", "paths"), ("writable", "paths")):
            if isinstance(getattr(self, name), str | bytes):
                message = f"{name} must be a list of {kind}, got one: ({getattr(self, name)!r},)"
                raise ValueError(message)  # noqa: TRY004  (as for all invalid settings)
        for name in ("readable", "writable"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not isinstance(self.network, bool):
            object.__setattr__(self, "network", tuple(dict.fromkeys(self.network)) or False)
            for host in self.network or ():
                split_host(host)
        object.__setattr__(self, "protected", frozenset(self.protected))


def split_host(host: str) -> tuple[str, tuple[int, ...]]:
    """Return the name and the ports of a host; ValueError for anything else."""
    from urllib.parse import urlsplit  # rare

    parts = urlsplit(f"//{host}")
    try:
        name, port = parts.hostname, parts.port
    except ValueError:
        name, port = None, None
    if not name or parts.netloc != host or "@" in host or any(character.isspace() for character in host):
        message = f"{host!r} is not a host; write a name such as example.org, *.example.org or example.org:8080"
        raise ValueError(message)
    return name.rstrip("."), PORTS if port is None else (port,)
