"""Places that tools do not write: read-only roots, and files that programs run or trust later."""

from __future__ import annotations

import errno
import functools
import os
import sys
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.files import GIT_MARKS, fold_name, host_folders, is_inside, protected_part, real_path, user_folders
from tools_filesystem._paths._resolve import link_targets, present
from tools_filesystem._workspace import REPOSITORIES

if TYPE_CHECKING:
    from tools_filesystem._paths._access import PinnedRoot

# The prefix of the tools' own files, which are always protected.
OWN = ".ask-tools-"
_MARKS = [{mark: fold_name(mark) for mark in marks} for marks in GIT_MARKS]


def check_writable(root: PinnedRoot, folder: int, name: str) -> None:
    """Ask the user if `name` in an open folder is protected, whether it exists or not.

    ToolError (`denied`) after a no, and without a question for version control and for this program itself. The
    folder's real location decides, so that links and spellings cannot evade the check. `name` may be a path whose
    folders are yet to be made.
    """
    here = real_path(folder)
    below = _below(root, here)
    _check_root(root, folder, len(below))
    names, protected = [*below, *name.split("/")], root.access.workspace.protected
    path = "/".join(names)
    ours = next((end for end, part in enumerate(names, 1) if fold_name(part).startswith(OWN)), None)
    if ours is not None:
        message = f"{'/'.join(names[:ours])!r} is reserved for the file tools; choose another name"
        raise ToolError(message, "denied")
    if protected and is_inside(f"{here}/{name}", _host(len(sys.modules))):
        raise _denied(path, "this program runs from it")
    _check_repository(root, folder, [*below, name.partition("/")[0]])
    part = protected_part(path, protected)
    link = "" if part is not None else _link_to(root, folder, names[len(below)], len(below))
    if (part or link) and fold_name((part or link).rpartition("/")[2]) in REPOSITORIES:
        raise _denied(part or path, "it belongs to a version control system, whose commands change it")
    if part is not None:
        root.access.confirm(part, "programs run or trust it")
    elif link:
        root.access.confirm(path, f"the protected {link!r} is a symlink to it")


def check_repository(root: PinnedRoot, folder: int, name: str) -> None:
    """Raise ToolError (`denied`) if `name` is inside a git directory, or would turn the folder into one."""
    _check_repository(root, folder, [*names_below(root, folder), name])


def names_below(root: PinnedRoot, folder: int) -> list[str]:
    """Return the current path components from the root to a folder."""
    return _below(root, real_path(folder))


def _below(root: PinnedRoot, here: str) -> list[str]:
    top = root.real.rstrip("/")
    if here != top and not here.startswith(f"{top}/"):
        raise OSError(errno.EXDEV, "is outside the workspace", here)
    return here[len(top) :].split("/")[1:] if here != "/" else []


def _check_root(root: PinnedRoot, folder: int, depth: int) -> None:
    """Raise ToolError (`denied`) if the innermost root that contains a folder is read-only."""
    roots = {other.identity: other for other in root.access.roots}
    for level in range(depth + 1 if len(roots) > 1 else 0):
        state = os.stat("/".join([".."] * level) or ".", dir_fd=folder, follow_symlinks=False)
        nearest = roots.get((state.st_dev, state.st_ino))
        if nearest is not None:
            root = nearest
            break
    if not root.writable:
        writable = ", ".join(other.path for other in root.access.roots if other.writable) or "none"
        raise ToolError(f"{root.path!r} is a read-only root; writable: {writable}", "denied")


def _link_to(root: PinnedRoot, folder: int, name: str, depth: int) -> str:
    """Return the protected link in the root whose target is a name, or a folder above it; empty if there is none."""
    if root.links is None:  # once in a call
        root.links = link_targets(root.descriptor, root.access.workspace.protected)
    if not root.links:
        return ""
    above = ["/".join([".."] * count) or "." for count in range(depth)]
    states = present(folder, [name, *above]).values()
    return next((root.links[key] for state in states if (key := (state.st_dev, state.st_ino)) in root.links), "")


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


def _check_repository(root: PinnedRoot, folder: int, names: list[str]) -> None:
    """Raise ToolError (`denied`) if a folder is a git directory, or would become one by creating the name below it.

    All names but the last lead to `folder`.
    """
    if ".git" not in root.access.workspace.protected:
        return
    for depth, child in enumerate(map(fold_name, names)):
        above = "../" * (len(names) - 1 - depth)
        existing = present(folder, [above + mark for marks in _MARKS for mark in marks])
        for marks in _MARKS:
            if all(folded == child or above + mark in existing for mark, folded in marks.items()):
                place = "/".join(names[:depth]) or "."
                raise _denied(place, "it is a git repository because of its HEAD and objects, and git runs its hooks")
