"""Places that nobody writes to by default, because what lies there is run later without a question."""

from __future__ import annotations

import errno
import functools
import os
import sys
import unicodedata
from typing import TYPE_CHECKING

from tools_core import ToolError

if TYPE_CHECKING:
    from tools_filesystem._access import PinnedRoot

# What begins so is the tools' own business, whatever a workspace protects.
OWN = ".ask-tools-"
JOURNAL = f"{OWN}journal"  # of apply_patch

PROTECTED = frozenset(
    {
        *(".git", ".hg", ".svn", ".gitconfig", ".gitmodules", ".husky"),  # hooks and commands in configuration
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile"),
        *(".zlogin", ".zlogout", ".inputrc", ".netrc", ".npmrc", ".pypirc", ".ssh", ".gnupg", ".envrc"),
        "git~1",  # what FAT and NTFS also call .git
    }
)

# Whoever has these names in one folder has a git repository there, whatever the folder is called.
_REPOSITORIES = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))


def check_writable(root: PinnedRoot, folder: int, name: str) -> None:
    """Raise `denied` when `name`, in a folder that is held open, is a protected place, be it there already or not.

    What counts is where the folder really is, so that no link and no spelling leads around it. `name` may be a path
    whose folders are yet to be made.
    """
    below = _below(root.descriptor, folder)
    components = [*below, *name.split("/")]
    for end, component in enumerate(components, 1):
        if _folded(component).startswith(OWN):
            place = "/".join(components[:end])
            raise ToolError(f"{place!r} belongs to the file tools themselves; choose another name", "denied")
        if is_protected([component], root.protected):
            raise _denied("/".join(components[:end]), "what lies there is run or trusted later")
    if ".git" in root.protected:
        repository = _repository(folder, components[: len(below) + 1])
        if repository is not None:
            raise _denied(repository, "its HEAD and objects make it a git repository, whose hooks are run later")


def _denied(place: str, reason: str) -> ToolError:
    message = f"{place!r} is a protected place: {reason}"
    return ToolError(f"{message}. Write elsewhere; only the user can permit it, by Workspace(protected=...)", "denied")


def _below(root: int, folder: int) -> list[str]:
    """The names that lead from the root to a folder, as they are at this moment."""
    top, here = real_path(root).rstrip("/"), real_path(folder)
    if here != top and not here.startswith(f"{top}/"):
        raise OSError(errno.EXDEV, "leads out of the workspace", here)
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
        for marks in _REPOSITORIES:
            if all(_folded(mark) == _folded(child) or _exists(folder, above + mark) for mark in marks):
                return "/".join(components[:depth]) or "."
    return None


def _exists(folder: int, path: str) -> bool:
    try:
        os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def is_protected(components: list[str], names: frozenset[str]) -> bool:
    """Whether one of the components is such a name, as a file system that folds case and accents would see it."""
    folded = _all_folded(names)
    return any(_folded(component) in folded for component in components)


@functools.cache
def _all_folded(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(_folded, names))


def _folded(name: str) -> str:
    if name.isascii():
        return name.casefold().rstrip(". ")
    # Names that differ only so are one file on macOS and Windows, and some ignorable characters vanish on HFS+.
    kept = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", kept.casefold()).rstrip(". ")
