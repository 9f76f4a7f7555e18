"""A workspace during one call: its roots stay open, and each path is resolved relative to one of them."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from tools_core import ToolError
from tools_core.files import real_path
from tools_filesystem._workspace import Root

if TYPE_CHECKING:
    from tools_core import Context
    from tools_core.files import Copied
    from tools_filesystem._workspace import Workspace

_MAX_PATH = 4096
_LONG = re.compile(r"\S{300,}")  # a path that would fill a message


class PinnedRoot:
    """An open root; `real` is its real path, and `links` caches its links with protected names by their targets.

    `original` is the folder that the root is a copy of, if it is one: its absolute paths stand for those of the copy.
    """

    __slots__ = ("access", "descriptor", "identity", "links", "original", "path", "real", "writable")

    def __init__(self, root: Root, access: Access) -> None:
        self.access = access
        self.path = root.path
        self.original = ""
        self.writable = root.writable
        self.links: dict[tuple[int, int], str] | None = None
        try:
            self.descriptor = os.open(root.path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            message = f"the workspace {root.path!r} cannot be opened: {error.strerror}"
            raise ToolError(message, "unavailable") from error
        self.real = real_path(self.descriptor)
        status = os.fstat(self.descriptor)
        self.identity = status.st_dev, status.st_ino

    def names_of(self, path: str) -> list[str]:
        """Return the components of a path below the root; OSError (EXDEV) for an absolute path elsewhere."""
        names = _names(path)
        if not path.startswith("/"):
            return names
        # An absolute path may spell the root as configured, or by its real path. This only decides which names are
        # cut off; the rest is resolved from the descriptor like any other path.
        for root in map(_names, filter(None, (self.path, os.path.realpath(self.path), self.original))):
            if names[: len(root)] == root:
                return names[len(root) :]
        raise OSError(errno.EXDEV, "is outside the workspace", path)


class Access:
    """Context manager that opens the roots of a workspace and closes them.

    `confirmed` are the protected places that the user has allowed this call to change, each with the reason why it is
    protected.
    """

    def __init__(self, workspace: Workspace, context: Context) -> None:
        if not hasattr(os, "O_NOFOLLOW") or os.open not in os.supports_dir_fd:
            message = "file tools need Linux or macOS: this system cannot open a file relative to a folder"
            raise ToolError(message, "unavailable")
        self.workspace = workspace
        self.context = context
        self.confirmed: dict[str, str] = {}
        self.roots: list[PinnedRoot] = []
        try:
            for root in workspace.roots:
                self.roots.append(PinnedRoot(root, self))
            if workspace.copied is not None:
                self._add_original(workspace.roots[0].path, workspace.copied)
        except BaseException:
            self.__exit__()
            raise

    def _add_original(self, copy: str, copied: Copied) -> None:
        """Let paths of the original stand for those of the copy, and put its shared folders in the place of others."""
        self.roots[0].original = copied.original
        for name in copied.shared:
            with suppress(ToolError):  # deleted meanwhile
                root = PinnedRoot(Root(f"{copied.original}/{name}", writable=False), self)
                root.path, root.original = f"{copy}/{name}", root.path
                self.roots.append(root)

    def confirm(self, place: str, reason: str) -> None:
        """Ask the user about a protected place; ToolError (`denied`) unless it may be changed."""
        if place not in self.confirmed:
            self.context.confirm(f"Change {place!r}, which is protected? {reason[0].upper()}{reason[1:]}.")
            self.confirmed[place] = reason

    def warnings(self) -> dict[str, list[str]]:
        """Return metadata of the result: the protected places that were changed."""
        lines = [f"{place!r} was changed: {reason}" for place, reason in self.confirmed.items()]
        return {"warnings": lines} if lines else {}

    def root_of(self, path: str) -> tuple[PinnedRoot, list[str]]:
        """Return the root that contains a path by its text, and the components below it; ToolError if none does.

        Relative paths are below the first root. Of nested roots, the innermost is returned.
        """
        check_path(path)
        path = os.fsdecode(path.encode())  # names are UTF-8, even if the locale is ASCII
        absolute = path if path.startswith("/") else f"{self.roots[0].path}/{path}"
        match: tuple[PinnedRoot, list[str]] | None = None
        for root in self.roots:
            with suppress(OSError):
                names = root.names_of(absolute)
                if match is None or len(root.path) > len(match[0].path):
                    match = root, names
        if match is None:
            message = f"{path!r} is outside the workspace; give a path below {self.workspace}"
            raise ToolError(message, "denied")
        return match

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object = None, error: object = None, traceback: object = None) -> None:
        for root in self.roots:
            os.close(root.descriptor)
        if isinstance(error, ToolError):
            error.args = (_LONG.sub(lambda path: f"{path[0][:150]}[...]{path[0][-150:]}", str(error)),)


def check_path(path: str) -> None:
    """Raise ToolError (`validation_error`) for text that cannot be a path."""
    if not path:
        raise ToolError("path must not be empty; '.' is the workspace itself", "validation_error")
    if "\0" in path:
        raise ToolError("path must not contain NUL characters", "validation_error")
    try:
        length = len(path.encode())
    except UnicodeEncodeError as error:
        raise ToolError("path must not contain lone surrogates", "validation_error") from error
    if length >= _MAX_PATH:
        message = f"path is {length} bytes long; the system takes less than {_MAX_PATH}"
        raise ToolError(message, "validation_error")


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]
