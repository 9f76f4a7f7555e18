"""The workspace: the folders that file tools may touch, and how. Hard limits, which no argument widens."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tools_core.files import PROTECTED, copied_from, is_read_only, workspace_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_core import Context

REPOSITORIES = frozenset((".git", ".hg", ".svn", "git~1"))


class Root(NamedTuple):
    """One folder of a workspace."""

    path: str
    writable: bool = True

    def __str__(self) -> str:
        return f"{self.path} ({'writable' if self.writable else 'read-only'})"


class Workspace:
    """One or several folders: `Workspace("/srv/app", Root("/srv/data", writable=False))`.

    Relative paths are below the first; absolute ones may be below any. `read_only` makes all of them read-only.
    `protected` are names that are not written in any folder; `()` protects nothing.
    """

    def __init__(
        self,
        *roots: str | os.PathLike[str] | Root,
        read_only: bool = False,
        protected: Iterable[str] = PROTECTED,
    ) -> None:
        folders = [root if isinstance(root, Root) else Root(os.fspath(root)) for root in roots or (".",)]
        self.roots = tuple(
            Root(os.path.abspath(os.path.expanduser(root.path)), root.writable and not read_only) for root in folders
        )
        self.protected = frozenset(protected)
        self.copied = copied_from(self.roots[0].path)

    def __str__(self) -> str:
        return ", ".join(map(str, self.roots))


def workspace_for(context: Context) -> Workspace:
    """Return the workspace of a tool without its own: the context's, `$ASK_TOOLS_WORKSPACE`, or the current folder.

    In a copy of tools-workspace only repositories are protected: a person looks at the changes before they are applied.
    """
    folder = workspace_path(context.workspace)
    protected = REPOSITORIES if copied_from(os.path.abspath(folder)) else PROTECTED
    return Workspace(folder, read_only=is_read_only(), protected=protected)
