"""Trees that are moved or deleted, by descriptors and names; no link is followed."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.files import host_folders, is_git_directory, is_inside, is_protected, real_path, user_folders
from tools_filesystem._paths._mounts import mounts_below
from tools_filesystem._paths._resolve import closing, open_inner

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._paths._access import Access

_MAX_ENTRIES = 1_000_000
_MAX_DEPTH = 200  # each level keeps a folder open


class Survey:
    """Counts the `entries` of a tree before it goes; ToolError if it contains something that must not be touched.

    It must not hold a root, a mount or the program itself. A tree may be deleted with the protected files in it, since
    that runs no program, but the user is asked before it is moved.
    """

    def __init__(self, context: Context, access: Access, new_name: str = "", *, is_deletion: bool = False) -> None:
        self.context = context
        self.access = access
        self.new_name = new_name
        self.protected = frozenset() if is_deletion else access.workspace.protected
        self.entries = 0
        self._device = 0
        ours = map(os.stat, filter(os.path.exists, user_folders()))
        self._ours = {(state.st_dev, state.st_ino) for state in ours}
        host = map(os.stat, filter(os.path.exists, host_folders() if access.workspace.protected else ()))
        self._kept = {root.identity: "a root of the workspace" for root in access.roots}
        self._kept |= {(state.st_dev, state.st_ino): "a folder that this program runs from" for state in host}

    def add(self, folder: int, name: str, path: str, depth: int = 0) -> None:
        """Count an entry of an open folder, and all that is below it; `path` is for messages."""
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            if not depth:
                raise
            return  # deleted in the meantime
        if depth == 0:
            self._device = os.fstat(folder).st_dev
        self.entries += 1
        self._check(folder, name, path, status, depth)
        if stat.S_ISDIR(status.st_mode):
            with closing(open_inner(folder, name)) as inner:
                names = os.listdir(inner)
                if ".git" in self.protected and is_git_directory(names):
                    raise ToolError(f"{path!r} is the inside of a git repository, which is a protected place", "denied")
                for child in names:
                    self.add(inner, child, f"{path}/{child}", depth + 1)

    def _check(self, folder: int, name: str, path: str, status: os.stat_result, depth: int) -> None:
        identity = status.st_dev, status.st_ino
        if self.context.cancelled:
            raise ToolError("cancelled; nothing was changed", "cancelled")
        if self.entries > _MAX_ENTRIES:
            raise ToolError(f"there are more than {_MAX_ENTRIES} entries; work on smaller parts", "limit_exceeded")
        if depth > _MAX_DEPTH:
            raise ToolError(f"{path!r} lies more than {_MAX_DEPTH} folders deep; move it up first", "limit_exceeded")
        if identity in self._kept:
            raise ToolError(f"{path!r} is {self._kept[identity]}, which tools cannot move or delete", "denied")
        # Compare folders only: files of an overlay may report the device of a lower file system.
        is_other = stat.S_ISDIR(status.st_mode) and status.st_dev != self._device
        if is_other or (depth == 0 and _holds_mount(folder, name)):
            raise ToolError(
                f"{path!r} is or contains a mount or another file system, which tools do not change", "denied"
            )
        above = (path.split("/")[-2:-1], [self.new_name] if depth == 1 else [])
        names = [name, *(f"{part}/{name}" for parts in above for part in parts)]
        if depth and any(is_protected(place, self.protected) for place in names):
            self.access.confirm(path, "programs run or trust it")
        if stat.S_ISDIR(status.st_mode) and identity in self._ours:
            message = f"{path!r} has the user's settings or sessions of ask-tools, so it cannot be moved or deleted"
            raise ToolError(message, "denied")


def _holds_mount(folder: int, name: str) -> bool:
    """Return whether there is a mount point at or below a place, bind mounts included (Linux)."""
    above = real_path(folder).rstrip("/")
    return any(is_inside(point, [f"{above}/{name}"]) for point in mounts_below(above))


def remove(folder: int, name: str) -> None:
    """Delete an entry of an open folder, recursively."""
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)
