"""Places that tools do not write: read-only roots, and files that programs run or trust later."""

from __future__ import annotations

import errno
import functools
import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.files import GIT_MARKS, fold_name, host_folders, is_inside, protected_part, real_path, user_folders
from tools_filesystem._paths._resolve import lstat

if TYPE_CHECKING:
    from tools_filesystem._paths._access import PinnedRoot

# The prefix of the tools' own files, which are always protected.
OWN = ".ask-tools-"
_REPOSITORIES = (".git", ".hg", ".svn", "git~1")


def check_writable(root: PinnedRoot, folder: int, name: str) -> None:
    """Ask the user if `name` in an open folder is protected, whether it exists or not.

    ToolError (`denied`) after a no, and without a question for version control and for this program itself. The
    folder's real location decides, so that links and spellings cannot evade the check. `name` may be a path whose
    folders are yet to be made.
    """
    below = names_below(root.descriptor, folder)
    _check_root(root, folder, len(below))
    names, protected = [*below, *name.split("/")], root.access.workspace.protected
    ours = next((end for end, part in enumerate(names, 1) if fold_name(part).startswith(OWN)), None)
    if ours is not None:
        message = f"{'/'.join(names[:ours])!r} is reserved for the file tools; choose another name"
        raise ToolError(message, "denied")
    if protected and is_inside(f"{real_path(folder)}/{name}", _host(len(sys.modules))):
        raise _denied("/".join(names), "this program runs from it")
    check_repository(root, folder, name)
    part = protected_part("/".join(names), protected)
    if part is not None and fold_name(part.rpartition("/")[2]) in _REPOSITORIES:
        raise _denied(part, "it belongs to a version control system, whose commands change it")
    if part is not None:
        root.access.confirm(part, "programs run or trust it")
    elif _is_linked(root, folder, names[len(below)], len(below)):
        root.access.confirm("/".join(names), "a protected name is a symlink to it")


def check_repository(root: PinnedRoot, folder: int, name: str) -> None:
    """Raise ToolError (`denied`) if `name` is inside a git directory, or would turn the folder into one."""
    if ".git" in root.access.workspace.protected:
        repository = _repository(folder, [*names_below(root.descriptor, folder), name.partition("/")[0]])
        if repository is not None:
            raise _denied(repository, "it is a git repository because of its HEAD and objects, and git runs its hooks")


def names_below(root: int, folder: int) -> list[str]:
    """Return the current path components from the root to a folder."""
    top, here = real_path(root).rstrip("/"), real_path(folder)
    if not is_inside(here, [top]):
        raise OSError(errno.EXDEV, "is outside the workspace", here)
    return here[len(top) :].split("/")[1:] if here != "/" else []


def _check_root(root: PinnedRoot, folder: int, depth: int) -> None:
    """Raise ToolError (`denied`) if the innermost root that contains a folder is read-only."""
    roots = {other.identity: other for other in root.access.roots}
    for level in range(depth + 1):
        state = lstat(folder, "/".join([".."] * level) or ".")
        nearest = None if state is None else roots.get((state.st_dev, state.st_ino))
        if nearest is not None:
            root = nearest
            break
    if not root.writable:
        writable = ", ".join(other.path for other in root.access.roots if other.writable) or "none"
        raise ToolError(f"{root.path!r} is a read-only root; writable: {writable}", "denied")


def _is_linked(root: PinnedRoot, folder: int, name: str, depth: int) -> bool:
    """Return whether a name, or a folder above it, is the target of a protected link in the root."""
    if root.linked is None:  # once in a call
        root.linked = set()
        for link in root.access.workspace.protected:
            status = lstat(root.descriptor, link)
            if status is not None and stat.S_ISLNK(status.st_mode):
                with suppress(OSError):  # a dangling link
                    target = os.stat(link, dir_fd=root.descriptor)
                    root.linked.add((target.st_dev, target.st_ino))
    if not root.linked:
        return False
    states = (lstat(folder, path) for path in [name, *("/".join([".."] * count) or "." for count in range(depth))])
    return any(state is not None and (state.st_dev, state.st_ino) in root.linked for state in states)


@functools.lru_cache(maxsize=1)
def _host(_modules: int) -> list[str]:
    """Return the folders that this process runs from; cached until more modules are loaded."""
    return host_folders()


def check_not_ours(path: str) -> None:
    """Raise ToolError (`denied`) for the real path of the user's own settings, data and state of ask-tools."""
    if is_inside(path, user_folders()):
        message = "these are the user's settings and sessions of ask-tools, which tools neither read nor change"
        raise ToolError(message, "denied")


def _denied(place: str, reason: str) -> ToolError:
    message = f"{place!r} is protected: {reason}. Only the user can change it, outside of these tools"
    return ToolError(message, "denied")


def _repository(folder: int, names: list[str]) -> str | None:
    """Return the folder that is a git directory, or would become one by creating the name below it.

    All names but the last lead to `folder`.
    """
    for depth, child in enumerate(names):
        above = "../" * (len(names) - 1 - depth)
        for marks in GIT_MARKS:
            if all(fold_name(mark) == fold_name(child) or lstat(folder, above + mark) is not None for mark in marks):
                return "/".join(names[:depth]) or "."
    return None
