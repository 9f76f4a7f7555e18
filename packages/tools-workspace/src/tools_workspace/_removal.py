"""Remove folders, although programs may still change them, and although they may forbid it."""

from __future__ import annotations

import errno
import os
import subprocess

from tools_workspace._tree import FOLDER, Tree


def remove_tree(folder: str) -> None:
    """Remove a folder with everything in it, also below folders that are not writable."""
    parent, name = os.path.split(folder)
    if os.path.isdir(parent):
        with Tree(parent) as tree, tree.folder() as above:
            try:
                _remove(above, name)
            except (RecursionError, OSError):  # very deep folders, or a program that still writes
                subprocess.run(["/bin/rm", "-rf", "--", folder], check=False, stderr=subprocess.DEVNULL)


def _remove(above: int, name: str) -> None:
    """Remove a name of an open folder, with everything below it."""
    try:
        folder = _open_to_empty(above, name)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        os.unlink(name, dir_fd=above)  # a file or a link
        return
    try:
        os.fchmod(folder, 0o700)
        for entry in os.listdir(folder):
            _remove(folder, entry)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=above)


def _open_to_empty(above: int, name: str) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=above)
    except PermissionError:
        pinned = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        try:
            os.chmod(f"/proc/self/fd/{pinned}", 0o700)
        finally:
            os.close(pinned)
        return os.open(name, FOLDER, dir_fd=above)
