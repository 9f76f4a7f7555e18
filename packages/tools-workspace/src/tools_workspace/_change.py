"""One change between a workspace and its copy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from tools_core.files import CONTROL_FILES, protected_part
from tools_core.text import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file, folder or link that differs between the workspace and the copy.

    `old_path` is the path before a file was renamed, else the same as `path`. `size` and `old_size` are bytes, and
    `mode` and `old_mode` are permissions, such as 0o644.
    """

    kind: Literal["added", "changed", "deleted", "renamed", "mode"]
    path: str
    old_path: str
    type: str
    size: int = 0
    old_size: int = 0
    mode: int = 0
    old_mode: int = 0

    @property
    def mark(self) -> str:
        """`protected` if programs run or trust a file of this name, `executable` for a program, else empty."""
        if self.type == "folder":
            return ""
        if any(map(is_protected, {self.path, self.old_path})):
            return "protected"
        is_data = ".git" in self.path.split("/")
        if self.type != "file" or self.kind == "deleted" or not self.mode & 0o111 or is_data:
            return ""
        return "" if self.kind == "mode" and self.old_mode & 0o111 else "executable"

    def is_in(self, path: str) -> bool:
        """Return whether the change is of this file, or of something in this folder."""
        folder = os.path.normpath(path)
        return folder == "." or any(
            name == folder or name.startswith(f"{folder}/") for name in (self.path, self.old_path)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the change as plain JSON."""
        return {name: getattr(self, name) for name in self.__slots__} | {"mark": self.mark}

    def __str__(self) -> str:
        name = visible(self.path) + ("/" if self.type == "folder" else "")
        marks = {"protected": "  (protected: programs run or trust it)", "executable": "  (executable)", "": ""}
        text = f"{self.kind} {name}"
        if self.kind == "renamed":
            text = f"renamed {visible(self.old_path)} -> {name}"
        elif self.kind == "mode":
            text = f"mode {name}: {self.old_mode:o} -> {self.mode:o}"
        return text + marks[self.mark]


def is_protected(path: str) -> bool:
    """Return whether programs run or trust a file without asking; not the data of a repository, such as its commits."""
    top = protected_part(path)
    if top is None:
        return False
    control = CONTROL_FILES.get(top.rpartition("/")[2])
    if control is None or top == path:  # such as a file `.git`, which names a repository
        return True
    parts = path[len(top) + 1 :].split("/")
    # Repositories of submodules and worktrees have such files, too.
    return any(part in control for part in parts) and not parts[-1].endswith(".sample")
