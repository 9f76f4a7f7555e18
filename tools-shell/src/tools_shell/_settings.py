"""Settings of a developer; a model cannot widen them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from tools_core.protected import PROTECTED

if TYPE_CHECKING:
    import os

_MOST = 1 << 63  # the kernel's numbers end here

Level: TypeAlias = Literal["none", "contained", "sandboxed", "required", "landlock", "bubblewrap"]


@dataclass(frozen=True, slots=True)
class Resources:
    """Limits on the resources of a job, all its processes together; None for no limit. At level "none" none holds.

    `cpu` in seconds, `memory` in bytes that processes use, and as many that files in temporary folders take,
    `file_size` in bytes of any one file that it writes, `processes` counts their threads, too, `open_files` of any one
    process.
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
                isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MOST
            ):
                raise ValueError(f"{name} must be a number above 0, or None for no limit; got {value!r}")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The isolation of commands from the rest of the machine.

    `level` is what is asked for: "none" and "contained" isolate nothing, "contained" ends everything that was
    started; "sandboxed" is the strongest there is on this machine, down to "contained"; "required" refuses to run
    without a sandbox, and "landlock" and "bubblewrap" without that one. In a sandbox the workspace is writable, the
    system can be read, the rest is hidden, and there is no network unless `network` is set. `readable` and `writable`
    name more folders or files; a link among them that commands can change is not followed. In bubblewrap sockets and
    FIFOs in all that can be read can be written to as well. In bubblewrap commands neither change nor create the
    `protected` names of the workspace, such as `.git/hooks` and `.vscode`; with an empty set there are none. Nor do
    they change the virtual environment and the tool packages that this process runs from, unless `writable` names them.
    """

    level: Level = "sandboxed"
    network: bool = False
    readable: tuple[str | os.PathLike[str], ...] = ()
    writable: tuple[str | os.PathLike[str], ...] = ()
    resources: Resources = field(default_factory=Resources)
    protected: frozenset[str] = PROTECTED

    def __post_init__(self) -> None:
        if self.level not in get_args(Level):
            raise ValueError(f"no isolation level {self.level!r}; there are {', '.join(get_args(Level))}")
        for name in ("readable", "writable"):
            if isinstance(getattr(self, name), str | bytes):
                message = f"{name} must be a list of paths, got one: ({getattr(self, name)!r},)"
                raise ValueError(message)  # noqa: TRY004  (as for all else that is wrong with a setting)
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "protected", frozenset(self.protected))
