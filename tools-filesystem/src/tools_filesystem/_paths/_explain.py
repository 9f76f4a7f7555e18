"""Messages for operating-system errors: the problem with a path, and the fix."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._paths._resolve import SpecialFileError

if TYPE_CHECKING:
    from collections.abc import Generator

_KINDS = {
    errno.ENOENT: ("not_found", "{} does not exist; use list_directory"),
    errno.EXDEV: ("denied", "{} is outside the workspace; give a path inside it, relative to its root"),
    errno.EACCES: ("denied", "{}: the system does not permit it"),
    errno.EPERM: ("denied", "{}: the system does not permit it"),
    errno.EROFS: ("denied", "{} is on a read-only file system"),
    errno.EISDIR: ("not_a_file", "{} is a folder; use list_directory"),
    errno.ENOTDIR: ("not_a_directory", "{}: a part of the path is not a folder"),
    errno.ELOOP: ("not_found", "{} leads through too many links"),
    errno.ENAMETOOLONG: ("validation_error", "{}: a name in the path is too long for the file system"),
    errno.ENOSPC: ("limit_exceeded", "{}: the file system is full; nothing was changed"),
    errno.EDQUOT: ("limit_exceeded", "{}: the quota is used up; nothing was changed"),
    errno.EMFILE: ("unavailable", "{}: this program has too many open files; nothing was changed, try again"),
    errno.ENFILE: ("unavailable", "{}: the system has too many open files; nothing was changed, try again"),
    errno.EFBIG: ("limit_exceeded", "{}: larger than the system permits; nothing was changed"),
    errno.EEXIST: ("conflict", "{} exists; pass overwrite=true to replace it"),
}


def explanation(error: OSError, path: str) -> ToolError:
    """Return a ToolError that explains an OSError."""
    if isinstance(error, SpecialFileError):
        message = f"{path!r} is not a regular file (pipe, socket, device or /proc file)"
        return ToolError(message, "not_a_file")
    kind, text = _KINDS.get(error.errno or 0, ("execution_error", f"{{}}: {error.strerror}"))
    return ToolError(text.format(repr(path)), kind)


@contextmanager
def explained(path: str) -> Generator[None]:
    """Turn an OSError of the block into a ToolError about `path`."""
    try:
        yield
    except OSError as error:
        raise explanation(error, path) from error
