"""What went wrong with a path, in words that say what would work."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._resolve import open_folder
from tools_filesystem._step import SpecialFileError

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_filesystem._access import Access

_MOST_NAMES = 2000  # how many siblings are compared with a name that was not found

_KINDS = {
    errno.EXDEV: ("denied", "{} leads out of the workspace; give a path inside it, relative to its root"),
    errno.EACCES: ("denied", "{}: the system does not permit it"),
    errno.EPERM: ("denied", "{}: the system does not permit it"),
    errno.EROFS: ("denied", "{} is on a read-only file system"),
    errno.EISDIR: ("not_a_file", "{} is a folder; list_directory shows what is in it"),
    errno.ENOTDIR: ("not_a_directory", "{}: a part of the path is no folder"),
    errno.ELOOP: ("not_found", "{} leads through too many links"),
    errno.ENAMETOOLONG: ("validation_error", "{}: a name in the path is too long for the file system"),
    errno.ENOSPC: ("limit_exceeded", "{}: the file system is full; nothing was changed"),
    errno.EDQUOT: ("limit_exceeded", "{}: the quota is used up; nothing was changed"),
    errno.EFBIG: ("limit_exceeded", "{}: larger than the system permits; nothing was changed"),
    errno.EEXIST: ("conflict", "{} exists; pass overwrite=true to replace it"),
}


@contextmanager
def explained(access: Access, path: str) -> Generator[None]:
    """Turn an OSError of the block into a ToolError about `path`."""
    try:
        yield
    except FileNotFoundError as error:
        raise ToolError(_not_found(access, path), "not_found") from error
    except SpecialFileError as error:
        message = f"{path!r} is a pipe, a socket or a device, which is not opened"
        raise ToolError(message, "not_a_file") from error
    except OSError as error:
        kind, text = _KINDS.get(error.errno or 0, ("execution_error", f"{{}}: {error.strerror}"))
        raise ToolError(text.format(repr(path)), kind) from error


def _not_found(access: Access, path: str) -> str:
    folder, _, name = path.rstrip("/").rpartition("/")
    folder = folder or ("/" if path.startswith("/") else ".")
    try:
        near = _near(access, folder, name)
    except (OSError, ToolError):
        return f"no {path!r}: its folder {folder!r} does not exist either"
    prefix = "" if folder == "." else f"{folder}/"
    shown = " or ".join(repr(prefix + other) for other in near)
    hint = f"did you mean {shown}?" if near else f"list_directory shows what is in {folder!r}"
    return f"no {path!r}; {hint}"


def _near(access: Access, folder: str, name: str) -> list[str]:
    from difflib import get_close_matches  # only for a miss
    from itertools import islice

    descriptor = open_folder(access.place(folder))
    try:
        with os.scandir(descriptor) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NAMES)]
    finally:
        os.close(descriptor)
    same = [other for other in names if other.casefold() == name.casefold() and other != name]
    return same or get_close_matches(name, names, n=3)
