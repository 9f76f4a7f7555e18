"""The workspace: one folder, held open, that no path leads out of."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Self

from tools_core import ToolError

if TYPE_CHECKING:
    from tools_core import Context

_LONGEST_PATH = 4096


class Workspace:
    """The root folder as a descriptor, for the time of one call; every path is taken relative to it.

    The tool's own setting, else `Context.workspace`, else ASK_TOOLS_WORKSPACE, else the current folder.
    """

    __slots__ = ("descriptor", "path")

    def __init__(self, setting: str | None, context: Context) -> None:
        if not hasattr(os, "O_NOFOLLOW") or os.open not in os.supports_dir_fd:
            message = "file tools need Linux or macOS: this system cannot open a file relative to a folder"
            raise ToolError(message, "unavailable")
        chosen = setting or context.workspace or os.environ.get("ASK_TOOLS_WORKSPACE") or "."
        self.path = os.path.abspath(os.path.expanduser(chosen))
        try:
            self.descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            message = f"the workspace {self.path!r} cannot be opened: {error.strerror}"
            raise ToolError(message, "unavailable") from error

    def relative(self, path: str) -> str:
        """The same path, seen from the root; OSError (EXDEV) for an absolute one elsewhere."""
        if not path.startswith("/"):
            return path
        parts = path.split("/")
        # An absolute path may spell the root as it was given or as it really is. This only decides which
        # words are cut off; what is left is resolved from the descriptor like any other path.
        for name in (self.path, os.path.realpath(self.path)):
            rest = _without_prefix(parts, _components(name))
            if rest is not None:
                return "/".join(rest) or "."
        raise OSError(errno.EXDEV, "leads out of the workspace", path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


def check_path(path: str) -> None:
    """Refuse what is no path at all, before the system sees it."""
    if not path:
        raise ToolError("path must not be empty; '.' is the workspace itself", "validation_error")
    if "\0" in path:
        raise ToolError("path must not contain NUL characters", "validation_error")
    try:
        length = len(os.fsencode(path))
    except UnicodeEncodeError as error:
        raise ToolError("path must not contain lone surrogates", "validation_error") from error
    if length >= _LONGEST_PATH:
        message = f"path is {length} bytes long; the system takes less than {_LONGEST_PATH}"
        raise ToolError(message, "validation_error")


def _components(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _without_prefix(parts: list[str], prefix: list[str]) -> list[str] | None:
    """What follows `prefix`, component by component, so that `/ws-other` is not inside `/ws`."""
    position = _skip_empty(parts, 0)
    for wanted in prefix:
        if position == len(parts) or parts[position] != wanted:
            return None
        position = _skip_empty(parts, position + 1)
    return parts[position:]


def _skip_empty(parts: list[str], position: int) -> int:
    while position < len(parts) and parts[position] in ("", "."):
        position += 1
    return position
