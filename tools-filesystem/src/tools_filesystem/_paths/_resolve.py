"""From a path to the file it means, which is pinned by a descriptor and inside the workspace.

Two resolvers do the same by different means: the kernel's `openat2`, and a walk. No path is ever checked
first and opened later.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from tools_filesystem._paths._openat2 import is_supported, openat2
from tools_filesystem._paths._step import again, check_regular, reopen
from tools_filesystem._paths._walk import pin_by_walk

if TYPE_CHECKING:
    from tools_filesystem._paths._access import Place


def pin(place: Place) -> int:
    """A descriptor of what is at a place, not opened for data; OSError, with EXDEV when it leads out."""
    if place.path == ".":  # nothing to resolve: what asks the kernel need not be loaded for it
        return again(place.root.descriptor)
    return (pin_by_openat2 if is_supported() else pin_by_walk)(place)


def pin_by_openat2(place: Place) -> int:
    """Ask the kernel first: it knows about races, and is done in one call."""
    try:
        return openat2(place.root.descriptor, place.path, os.O_PATH)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.ENAMETOOLONG):
            raise
    # The kernel also refuses an absolute link that points back inside, and a path that a search has followed too far.
    return pin_by_walk(place)


def open_regular(place: Place) -> int:
    """Open a regular file for reading; anything else (a folder, a pipe, a device) raises OSError unopened."""
    pinned = pin(place)
    try:
        check_regular(os.fstat(pinned).st_mode, place.path)
        return reopen(pinned)
    finally:
        os.close(pinned)


def open_folder(place: Place) -> int:
    """Open a folder so that it can be listed and written to; OSError when it is none."""
    pinned = pin(place)
    try:
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=pinned)
    finally:
        os.close(pinned)
