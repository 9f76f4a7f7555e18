"""The owner of sessions, interpreters and jobs: one run in one workspace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_shell._workspace import workspace_path

if TYPE_CHECKING:
    from tools_core import Context


class Owner(NamedTuple):
    """The workspace by its device and inode, since paths change, and the run."""

    device: int
    inode: int
    run_id: str


def owner_of(context: Context, root: str | os.PathLike[str] | None) -> Owner:
    """Return the owner for a call of a tool with this workspace; ToolError when the workspace does not exist."""
    path = workspace_path(root or context.workspace)
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise ToolError(f"workspace {os.fspath(path)!r}: {reason}; give a folder that exists", "not_found") from error
    return Owner(found.st_dev, found.st_ino, context.run_id)
