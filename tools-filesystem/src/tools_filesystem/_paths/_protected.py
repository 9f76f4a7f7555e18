"""Places that are not written by default, because programs run or trust them later."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.protected import GIT_MARKS, fold, host_folders, is_protected

if TYPE_CHECKING:
    from tools_filesystem._paths._access import PinnedRoot

# The prefix of the tools' own files, which are always protected.
OWN = ".ask-tools-"


def check_writable(root: PinnedRoot, folder: int, name: str) -> None:
    """Raise `denied` when `name`, in a folder that is held open, is a protected place, whether it exists or not.

    The real location of the folder counts, so that no link and no spelling evades it. `name` may be a path
    whose folders are yet to be made.
    """
    below = _below(root.descriptor, folder)
    _check_nested(root, folder, len(below))
    components = [*below, *name.split("/")]
    for end, component in enumerate(components, 1):
        if fold(component).startswith(OWN):
            place = "/".join(components[:end])
            raise ToolError(f"{place!r} belongs to the file tools themselves; choose another name", "denied")
        if is_protected(component, root.protected):
            raise _denied("/".join(components[:end]), "what lies there is run or trusted later")
    if root.protected and is_of_host(f"{real_path(folder)}/{name}"):
        raise _denied("/".join(components), "this program itself runs from there")
    if _is_linked(root, folder, components[len(below)], len(below)):
        raise _denied("/".join(components), "a protected name is a link to it")
    if ".git" in root.protected:
        repository = _repository(folder, components[: len(below) + 1])
        if repository is not None:
            raise _denied(repository, "its HEAD and objects make it a git repository, whose hooks are run later")


def is_of_host(path: str) -> bool:
    """Return whether a real path lies in a folder that this process runs from."""
    return any(f"{path}/".startswith(f"{folder}/") for folder in host_folders())


def _check_nested(root: PinnedRoot, folder: int, depth: int) -> None:
    """Raise `denied` when the nearest root above a folder is a read-only one."""
    for level in range(depth if root.nested else 0):
        state = _stat(folder, "/".join([".."] * level) or ".")
        nested = None if state is None else root.nested.get((state.st_dev, state.st_ino))
        if nested is not None and not nested.writable:
            raise ToolError(f"{nested.path!r} is a read-only root; write elsewhere", "denied")
        if nested is not None:
            return


def _is_linked(root: PinnedRoot, folder: int, name: str, depth: int) -> bool:
    """Return whether a name in a folder, or a folder above it, is the target of a protected link of the root."""
    targets = {target for link in root.protected if (target := _target_of(root.descriptor, link)) is not None}
    if not targets:
        return False
    paths = [name, *("/".join([".."] * count) or "." for count in range(depth))]
    found = (_stat(folder, path) for path in paths)
    return any(state is not None and (state.st_dev, state.st_ino) in targets for state in found)


def _target_of(folder: int, name: str) -> tuple[int, int] | None:
    state = _stat(folder, name)
    if state is None or not stat.S_ISLNK(state.st_mode):
        return None
    try:
        target = os.stat(name, dir_fd=folder)
    except OSError:
        return None
    return target.st_dev, target.st_ino


def _denied(place: str, reason: str) -> ToolError:
    message = f"{place!r} is a protected place: {reason}"
    return ToolError(f"{message}. Write elsewhere; only the user can permit it, by Workspace(protected=...)", "denied")


def _below(root: int, folder: int) -> list[str]:
    """The names that lead from the root to a folder, as they are at this moment."""
    top, here = real_path(root).rstrip("/"), real_path(folder)
    if here != top and not here.startswith(f"{top}/"):
        raise OSError(errno.EXDEV, "is outside the workspace", here)
    return here[len(top) :].split("/")[1:] if here != "/" else []


def real_path(descriptor: int) -> str:
    """Where an open folder is at this moment."""
    if sys.platform == "darwin":
        from fcntl import F_GETPATH, fcntl  # POSIX alone

        return os.fsdecode(fcntl(descriptor, F_GETPATH, bytes(1024)).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")


def _repository(folder: int, components: list[str]) -> str | None:
    """Which folder is the inside of a git repository, or becomes it by the component that comes next.

    All components but the last lead to `folder`.
    """
    for depth, child in enumerate(components):
        above = "../" * (len(components) - 1 - depth)
        for marks in GIT_MARKS:
            if all(fold(mark) == fold(child) or _stat(folder, above + mark) is not None for mark in marks):
                return "/".join(components[:depth]) or "."
    return None


def _stat(folder: int, path: str) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
