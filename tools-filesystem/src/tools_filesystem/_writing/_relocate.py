"""The common part of moving and copying: a source, a free destination, and nothing half-made between them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._paths._resolve import SpecialFileError
from tools_filesystem._writing._changes import own_name
from tools_filesystem._writing._rename import rename_new
from tools_filesystem._writing._tree import MOST_BYTES, Copy, Survey, remove_own, sync_file_system

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._paths._locate import Located


def check_free(source: Located, goal: Located, *, overwrite: bool) -> None:
    """Raise `conflict` unless the destination is free, or is to be replaced and can be."""
    state, path = source.state, goal.given
    if goal.found is None:
        if path.endswith("/") and not source.is_folder:
            message = f"{path!r} ends with a slash, but {source.name!r} is not a folder; give its new path in full"
            raise ToolError(message, "conflict")
        return
    if os.path.samestat(state, goal.found):
        raise ToolError(f"{path!r} is the same file already; choose another destination", "conflict")
    if goal.is_folder:
        name = f"{path.rstrip('/')}/{source.name}"
        message = f"{path!r} is a folder; give the new path in full, such as {name!r}, or delete it first"
        raise ToolError(message, "conflict")
    if source.is_folder:
        raise ToolError(f"{path!r} exists and is a file, which a folder cannot replace; delete it first", "conflict")
    if not overwrite:
        raise ToolError(f"{path!r} exists; pass overwrite=true to replace it", "conflict")
    if not stat.S_ISREG(goal.found.st_mode) and not stat.S_ISLNK(goal.found.st_mode):
        raise SpecialFileError(path)


def survey_copy(source: Located, goal: Located, context: Context) -> None:
    """Look at all that is to be copied; ToolError when it is too much, special, protected or holds its own goal."""
    inside = os.fstat(goal.folder)
    survey = Survey(context, source.root.access, (inside.st_dev, inside.st_ino))
    survey.add(source.folder, source.name, source.given)
    if survey.special is not None:
        raise SpecialFileError(survey.special)
    if survey.size > MOST_BYTES:
        message = f"{source.given!r} has {survey.size} bytes; at most {MOST_BYTES} are copied at once"
        raise ToolError(message, "limit_exceeded")


def copy_into(source: Located, goal: Located, context: Context) -> Copy:
    """Copy aside, beside the destination, and rename at the end; nothing is left of what fails on the way."""
    aside = own_name(".copy")
    remove_own(goal.folder, aside)  # what a crash has left: whoever is still copying has the folder locked
    copy = Copy(context)
    try:
        copy.take(source.folder, source.name, goal.folder, aside)
        sync_file_system(goal.folder)
        put(goal.folder, aside, goal)
    except BaseException:
        remove_own(goal.folder, aside)
        raise
    return copy


def put(folder: int, name: str, goal: Located) -> None:
    """Rename to the destination; FileExistsError when something is there that was not before."""
    if goal.found is None:
        rename_new(folder, name, goal.folder, goal.name)
    else:
        os.rename(name, goal.name, src_dir_fd=folder, dst_dir_fd=goal.folder)
    for changed in {folder, goal.folder}:
        with suppress(OSError):  # it is there for all to see: an error would say that it is not
            os.fsync(changed)
