"""`Isolation`: the level of a command and what it leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tools_shell._sandbox._visible import Visible

if TYPE_CHECKING:
    from tools_shell._guard._guard import Guard
    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._sandbox._run_folder import RunFolder

Level: TypeAlias = Literal["bubblewrap", "landlock", "contained", "none"]

_EVERYTHING = Visible((), ("/",))
PROTECTED_FILES = "protected files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """The isolation of a command: its level, and the names of guarantees that it does not give.

    "files" (the command can access all files that the user can), "own environment" (the host's virtual environment or
    tool packages are in the workspace and can be changed), "own settings" (the user's settings and sessions of
    ask-tools are in a readable folder), "file metadata" (names, sizes, modes and times of files outside can be read,
    and the user's modes and times changed), "network", "abstract sockets", "signals" (to any process of the user),
    "processes" (memory, environment and limits of the user's processes), "process list" (with command lines),
    "privileges" (those of root), "detached processes" (may outlive the command), "limits" (on resources
    other than time), "protected files" (hooks and configuration of git could be changed while the command ran, files
    with protected names were changed or created, or there are too many folders to look at).
    """

    level: Level
    missing: tuple[str, ...]
    network: bool = True
    view: Visible = _EVERYTHING
    bubblewrap: Bubblewrap | None = None
    guard: Guard | None = None
    folder: RunFolder | None = None
    hosts: tuple[str, ...] = ()  # that the private network reaches

    def warnings(self) -> list[str]:
        """Return a sentence for each protected file that the command has created or changed since the last call."""
        return self.guard.warnings() if self.guard is not None else []

    def news(self) -> list[str]:
        """Return what has appeared in the temporary folder of the run since the last call."""
        return self.folder.news() if self.folder is not None else []

    def settle(self) -> None:
        """Restore what git runs, when the command has ended; `warnings` tells about it later."""
        if self.guard is not None:
            self.guard.settle()

    @property
    def left_open(self) -> list[str]:
        """Return the guarantees that do not hold, protected files that appeared meanwhile included."""
        is_broken = PROTECTED_FILES not in self.missing and self.guard is not None and not self.guard.is_intact
        return [*self.missing, *([PROTECTED_FILES] if is_broken else [])]

    @property
    def can_mount(self) -> bool:
        """Return whether protected files can be mounted read-only."""
        return self.bubblewrap is not None and PROTECTED_FILES not in self.missing

    @property
    def is_sandbox(self) -> bool:
        """Return whether files outside the workspace are out of reach."""
        return self.level in {"bubblewrap", "landlock"}
