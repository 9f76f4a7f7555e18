"""`Isolation`: how far a command is kept from the rest of the machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tools_shell._sandbox._visible import Visible

if TYPE_CHECKING:
    from tools_shell._sandbox._bubblewrap import Bubblewrap

Level: TypeAlias = Literal["bubblewrap", "landlock", "contained", "none"]

_EVERYTHING = Visible((), ("/",))
PROTECTED_FILES = "protected files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """The isolation of a command: the level, and a name for each guarantee that it does not give.

    "files" (any can be read and written that the user can), "own environment" (the virtual environment or the tool
    packages that this program runs from lie in the workspace and can be changed), "file metadata" (of files outside,
    names, sizes, modes and times can be read, and modes and times of the user's own be changed), "network", "abstract
    sockets", "signals" (to any process of the user), "processes" (of the same user: their memory, environment and
    limits), "process list" (with its command lines), "privileges" (those of root), "detached processes" (may outlive
    the command), "limits" (on resources; there are none but that on time), "protected files" (hooks, keys and
    configuration that runs commands can be changed or created; see `tools_core.protected`).
    """

    level: Level
    missing: tuple[str, ...]
    wrappers: int = 0  # processes from the leader on that are not yet the command
    network: bool = True
    seen: Visible = _EVERYTHING
    bubblewrap: Bubblewrap | None = None
    has_scopes: bool = False
    watched: tuple[str, ...] = ()  # protected files that did not exist

    @property
    def left_open(self) -> list[str]:
        """The guarantees that do not hold by now."""
        is_broken = PROTECTED_FILES not in self.missing and any(map(os.path.lexists, self.watched))
        return [*self.missing, *([PROTECTED_FILES] if is_broken else [])]

    @property
    def is_sandbox(self) -> bool:
        """Return whether files outside of the workspace are kept from a command."""
        return self.level in {"bubblewrap", "landlock"}
