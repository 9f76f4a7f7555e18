"""Copying and deleting trees by descriptors and names; no link is followed."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.files import host_folders, is_git_directory, is_inside, is_protected, real_path, user_folders
from tools_core.linux import sync_file_system
from tools_filesystem._paths._mounts import mounts_below
from tools_filesystem._paths._resolve import SpecialFileError, closing, open_file, open_inner
from tools_filesystem._writing._attributes import copy_link_attributes, keep_attributes
from tools_filesystem._writing._changes import own_name
from tools_filesystem._writing._rename import put

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._paths._access import Access
    from tools_filesystem._paths._located import Located

_MAX_ENTRIES = 1_000_000
_MAX_COPIED = 100_000
_MAX_BYTES = 1 << 30  # of one copy
_MAX_DEPTH = 200  # each level keeps a folder open
_BLOCK = 1 << 20


class Survey:
    """Counts a tree before it is changed; ToolError if it contains something that must not be touched.

    `entries` and `size` count the tree itself, too. `goal` is the folder that it is copied to; without one the tree is
    to go, and then it must not hold a root, a mount or the program itself. A tree may be deleted with the protected
    files in it, since that runs no program, but not copied or moved.
    """

    def __init__(
        self,
        context: Context,
        access: Access,
        goal: tuple[int, int] | None = None,
        new_name: str = "",
        *,
        is_deletion: bool = False,
    ) -> None:
        self.context = context
        self.access = access
        self.new_name = new_name
        self.protected = frozenset() if is_deletion else access.workspace.protected
        self.goal = goal
        self.most = _MAX_ENTRIES if goal is None else _MAX_COPIED
        self.entries = self.size = 0
        self.special: str | None = None
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
            self._device = status.st_dev if self.goal else os.fstat(folder).st_dev
        self.entries += 1
        self._check(folder, name, path, status, depth)
        if stat.S_ISREG(status.st_mode):
            self.size += status.st_size
        elif stat.S_ISDIR(status.st_mode):
            with closing(open_inner(folder, name)) as inner:
                names = os.listdir(inner)
                if ".git" in self.protected and is_git_directory(names):
                    raise ToolError(f"{path!r} is the inside of a git repository, which is a protected place", "denied")
                for child in names:
                    self.add(inner, child, f"{path}/{child}", depth + 1)
        elif not stat.S_ISLNK(status.st_mode):
            self.special = path

    def _check(self, folder: int, name: str, path: str, status: os.stat_result, depth: int) -> None:
        identity = status.st_dev, status.st_ino
        if self.context.cancelled:
            raise ToolError("cancelled; nothing was changed", "cancelled")
        if self.entries > self.most:
            raise ToolError(f"there are more than {self.most} entries; work on smaller parts", "limit_exceeded")
        if depth > _MAX_DEPTH:
            raise ToolError(f"{path!r} lies more than {_MAX_DEPTH} folders deep; move it up first", "limit_exceeded")
        if identity == self.goal:
            raise ToolError(f"the destination lies in {path!r}, which cannot go into itself", "conflict")
        if self.goal is None and identity in self._kept:
            raise ToolError(f"{path!r} is {self._kept[identity]}, which tools cannot move or delete", "denied")
        # Compare folders only: files of an overlay may report the device of a lower file system.
        is_other = stat.S_ISDIR(status.st_mode) and status.st_dev != self._device
        if is_other or (depth == 0 and self.goal is None and _holds_mount(folder, name)):
            raise ToolError(
                f"{path!r} is or contains a mount or another file system, which tools do not change", "denied"
            )
        above = (path.split("/")[-2:-1], [self.new_name] if depth == 1 else [])
        names = [name, *(f"{part}/{name}" for parts in above for part in parts)]
        if depth and any(is_protected(place, self.protected) for place in names):
            self.access.confirm(path, "programs run or trust it")
        if stat.S_ISDIR(status.st_mode) and identity in self._ours:
            message = f"{path!r} has the user's settings or sessions of ask-tools, so it cannot be copied or moved"
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


def _remove_own(folder: int, name: str) -> None:
    """Delete a tree that this call has created, even if its folders are not writable."""
    with suppress(FileNotFoundError):
        if os.geteuid() != 0:
            with suppress(NotADirectoryError):
                for _, _, _, inner in os.fwalk(name, dir_fd=folder):
                    os.fchmod(inner, 0o700)
        remove(folder, name)


def copy_tree(source: Located, goal: Located, context: Context) -> Copy:
    """Copy to a temporary name beside the destination, and rename at the end; a failed copy is removed.

    ToolError if the tree is too large, has special or protected files, or contains its destination.
    """
    inside = os.fstat(goal.folder)
    survey = Survey(context, source.root.access, (inside.st_dev, inside.st_ino), goal.name)
    survey.add(source.folder, source.name, source.argument)
    if survey.special is not None:
        raise SpecialFileError(survey.special)
    if survey.size > _MAX_BYTES:
        message = f"{source.argument!r} has {survey.size} bytes; at most {_MAX_BYTES} are copied at once"
        raise ToolError(message, "limit_exceeded")
    aside = own_name(".copy")
    _remove_own(goal.folder, aside)  # the remains of a crash: a running copy holds the lock
    copy = Copy(context)
    try:
        copy.take(source.folder, source.name, goal.folder, aside)
        _sync_file_system(goal.folder)
        put(goal.folder, aside, goal)
    except BaseException:
        _remove_own(goal.folder, aside)
        raise
    return copy


class Copy:
    """Copies entries with their attributes, but without set-id bits."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.entries = self.size = 0

    def take(self, folder: int, name: str, to_folder: int, to_name: str) -> None:
        """Copy `name` to `to_name`; FileExistsError if that exists."""
        if self.context.cancelled:
            raise ToolError("cancelled; nothing was changed", "cancelled")
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        self.entries += 1
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=folder), to_name, dir_fd=to_folder)
            copy_link_attributes(status, to_folder, to_name)
        elif stat.S_ISDIR(status.st_mode):
            os.mkdir(to_name, 0o700, dir_fd=to_folder)
            with closing(open_inner(folder, name)) as inner, closing(open_inner(to_folder, to_name)) as to_inner:
                for child in os.listdir(inner):
                    self.take(inner, child, to_inner, child)
                _copy_attributes(inner, os.fstat(inner), to_inner)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with closing(open_file(folder, name)) as source:
                status = os.fstat(source)
                with closing(os.open(to_name, flags, 0o600, dir_fd=to_folder)) as target:
                    self._pour(source, target)
                    _copy_attributes(source, status, target)

    def _pour(self, source: int, target: int) -> None:
        while block := os.read(source, _BLOCK):
            self.size += len(block)
            if self.size > _MAX_BYTES:  # a file grows while it is copied
                raise ToolError(f"there are more than {_MAX_BYTES} bytes; copy smaller parts", "limit_exceeded")
            left = memoryview(block)
            while left:
                left = left[os.write(target, left) :]


def _copy_attributes(old: int, status: os.stat_result, new: int) -> None:
    keep_attributes(old, status, new)
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))


def _sync_file_system(descriptor: int) -> None:
    """Sync the descriptor's whole file system: for many files, ten times as fast as one by one."""
    try:
        sync_file_system(descriptor)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        os.sync()
