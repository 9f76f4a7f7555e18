"""A workspace during one call: its roots held open, and the places that paths mean below them."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NamedTuple, Self

from tools_core import ToolError
from tools_filesystem._ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_core import Context
    from tools_filesystem._workspace import Root, Workspace

_LONGEST_PATH = 4096
_SHOWN = 300  # characters of a path in a message


class PinnedRoot:
    """A root as a descriptor; every path is taken relative to it. Below it, `protected` names are not written."""

    __slots__ = ("descriptor", "nested", "path", "protected", "root")

    def __init__(self, root: Root, protected: frozenset[str] = frozenset(), others: Iterable[Root] = ()) -> None:
        self.root = root
        self.protected = protected
        self.nested = {key: other for other in others if (key := _identity(other.path)) is not None}
        self.path = root.path
        try:
            self.descriptor = os.open(root.path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            message = f"the workspace {root.path!r} cannot be opened: {error.strerror}"
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
        raise OSError(errno.EXDEV, "is outside the workspace", path)


class Place(NamedTuple):
    """A root, and a path below it. Nothing is resolved yet."""

    root: PinnedRoot
    path: str

    def join(self, name: str) -> Place:
        """A place further down."""
        return Place(self.root, name if self.path in (".", "") else f"{self.path.rstrip('/')}/{name}")

    def parent(self) -> Place:
        """The folder that the path's last name is in."""
        return Place(self.root, self.path.rstrip("/").rpartition("/")[0] or ".")


class Access:
    """Opens the roots of a workspace as they are wanted, and closes them at the end of the block."""

    def __init__(self, workspace: Workspace) -> None:
        if not hasattr(os, "O_NOFOLLOW") or os.open not in os.supports_dir_fd:
            message = "file tools need Linux or macOS: this system cannot open a file relative to a folder"
            raise ToolError(message, "unavailable")
        self.workspace = workspace
        self._pinned: dict[Root, PinnedRoot] = {}

    def place(self, path: str, *, write: bool = False) -> Place:
        """The place that `path` means: below the first root, or below the one that an absolute path begins with.

        ToolError for what is no path, for a path elsewhere, and for writing where nothing may be written.
        """
        check_path(path)
        first = self.workspace.roots[0]
        absolute = path if path.startswith("/") else f"{first.path}/{path}"
        found: Place | None = None
        for root in self.workspace.roots:
            pinned = self._pin(root)
            try:
                below = path if root is first and absolute is not path else pinned.relative(absolute)
            except OSError:
                continue
            if found is None or len(root.path) > len(found.root.path):  # of nested roots, the inner one
                found = Place(pinned, below)
        if found is None:
            message = f"{clipped(path)} is outside the workspace; give a path below {self.workspace}"
            raise ToolError(message, "denied")
        if write and not found.root.root.writable:
            raise ToolError(f"{clipped(path)} is in a read-only root; writable: {self._writable()}", "denied")
        return found

    def ledger(self, context: Context) -> Ledger:
        """Return the ledger of a call: that of its session (`file_ledger` in the state), else the workspace's."""
        own = context.state.get("file_ledger")
        return own if isinstance(own, Ledger) else self.workspace.ledger

    def _pin(self, root: Root) -> PinnedRoot:
        if root not in self._pinned:
            others = [other for other in self.workspace.roots if other is not root]
            self._pinned[root] = PinnedRoot(root, self.workspace.protected, others)
        return self._pinned[root]

    def _writable(self) -> str:
        return ", ".join(root.path for root in self.workspace.roots if root.writable) or "none"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pinned in self._pinned.values():
            os.close(pinned.descriptor)


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


def clipped(path: str) -> str:
    """Return a path in quotes, short enough for a message."""
    return repr(path if len(path) <= _SHOWN else f"{path[: _SHOWN // 2]}[...]{path[-_SHOWN // 2 :]}")


def _identity(path: str) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _components(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _without_prefix(parts: list[str], prefix: list[str]) -> list[str] | None:
    """Return what follows `prefix`, component by component, so that `/ws-other` is not inside `/ws`."""
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
