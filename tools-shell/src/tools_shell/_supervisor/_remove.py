"""Removing a folder with all that a command has put into it, whatever that is."""

from __future__ import annotations

import os
from contextlib import suppress


def remove(path: str) -> None:
    """Remove a folder that is no longer used; entries that cannot be removed stay, without a report.

    Folders are taken out of each other first, so that no depth is too deep for the stack, or for open descriptors.
    """
    with suppress(OSError):  # see above
        top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(path)


def _empty(top: int) -> None:
    waiting = _clear(top, top)
    while waiting:
        name = waiting.pop()
        with suppress(OSError):  # what cannot be opened or removed is left
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            try:
                found = _clear(inner, top)
            finally:
                os.close(inner)
            waiting += found
            os.rmdir(name, dir_fd=top)


def _clear(folder: int, top: int) -> list[str]:
    """Remove the files of a folder and move its folders to the top; returns their names there."""
    moved: list[str] = []
    for name in os.listdir(folder):
        try:
            os.unlink(name, dir_fd=folder)
        except OSError:  # a folder, it seems
            new = f".ask-tools-{os.urandom(8).hex()}"  # or its owner could have one of that name
            with suppress(OSError):  # as above
                os.chmod(name, 0o700, dir_fd=folder)  # or its owner could neither empty nor move it
                os.rename(name, new, src_dir_fd=folder, dst_dir_fd=top)
                moved.append(new)
    return moved
