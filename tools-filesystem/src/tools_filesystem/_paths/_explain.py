"""Messages for errors of the system: what went wrong with a path, and what would work."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._paths._access import clipped
from tools_filesystem._paths._names import not_found
from tools_filesystem._paths._step import SpecialFileError

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_filesystem._paths._access import Access

_KINDS = {
    errno.EXDEV: ("denied", "{} is outside the workspace; give a path inside it, relative to its root"),
    errno.EACCES: ("denied", "{}: the system does not permit it"),
    errno.EPERM: ("denied", "{}: the system does not permit it"),
    errno.EROFS: ("denied", "{} is on a read-only file system"),
    errno.EISDIR: ("not_a_file", "{} is a folder; list_directory shows what is in it"),
    errno.ENOTDIR: ("not_a_directory", "{}: a part of the path is not a folder"),
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
        raise ToolError(not_found(access, path), "not_found") from error
    except SpecialFileError as error:
        message = f"{clipped(path)} is a pipe, a socket, a device or a file of the kernel, which is not opened"
        raise ToolError(message, "not_a_file") from error
    except OSError as error:
        kind, text = _KINDS.get(error.errno or 0, ("execution_error", f"{{}}: {error.strerror}"))
        raise ToolError(text.format(clipped(path)), kind) from error
