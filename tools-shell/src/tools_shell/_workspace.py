"""The workspace of a call: the folder of a command, held by a descriptor, and the owner of sessions and jobs."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_core.files import copied_from, is_inside, real_path, workspace_path

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_core import Context

# O_PATH does not need the permission to list the folder; systems without it need that.
_PIN = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)

_LAST_STREAM = 2


class Place(NamedTuple):
    """A folder of the workspace: its descriptor, which renames do not affect, its path, and the workspace's path."""

    directory: int
    path: str
    root: str


@contextmanager
def open_workdir(setting: str | os.PathLike[str] | None, context: Context, workdir: str) -> Generator[Place]:
    """Open the folder `workdir`; ToolError if it is not a folder, or outside the workspace.

    It is opened before it is checked, so that swapping a link has no effect.
    """
    root = _open(workspace_path(setting or context.workspace), "workspace")
    unused = []
    while root <= _LAST_STREAM:  # the host has closed a standard stream; that number is the command's
        unused.append(root)
        root = os.dup(root)
    try:
        path = _real_path(root, "workspace")
        copied = copied_from(path)
        if copied is not None and is_inside(workdir, [copied.original]):  # as commands see the copy
            workdir = os.path.relpath(workdir, copied.original)
        if workdir == ".":
            yield Place(root, path, path)
            return
        folder = _open(workdir, "workdir", root)
        try:
            place = Place(folder, _real_path(folder, "workdir"), path)
            if not is_inside(place.path, [place.root]):
                message = f"workdir {workdir!r} is outside the workspace; give a folder inside it, like '.'"
                raise ToolError(message, "denied")
            yield place
        finally:
            os.close(folder)
    finally:
        for descriptor in (root, *unused):
            os.close(descriptor)


def _open(path: str | os.PathLike[str], role: str, root: int | None = None) -> int:
    try:
        return os.open(path, _PIN, dir_fd=root)
    except (FileNotFoundError, NotADirectoryError) as error:
        message = f"{role} {os.fspath(path)!r}: {_reason(error)}; give a folder that exists"
        raise ToolError(message, "not_found") from error
    except (OSError, ValueError) as error:
        raise ToolError(f"{role} {os.fspath(path)!r} cannot be opened: {_reason(error)}", "denied") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _real_path(folder: int, role: str) -> str:
    if os.fstat(folder).st_nlink == 0:
        raise ToolError(f"the {role} has been removed; give a folder that exists", "not_found")
    try:
        return real_path(folder)
    except OSError as error:
        message = f"the {role} cannot be named: {error.strerror}; is /proc mounted?"
        raise ToolError(message, "unavailable") from error


class Owner(NamedTuple):
    """A workspace by device and inode, which survive renames, and a run."""

    device: int
    inode: int
    run_id: str


def owner_of(context: Context, root: str | os.PathLike[str] | None) -> Owner:
    """Return the owner of a call with this workspace; ToolError if the workspace does not exist."""
    with open_workdir(root, context, ".") as place:
        folder = os.fstat(place.directory)
    return Owner(folder.st_dev, folder.st_ino, context.run_id)
