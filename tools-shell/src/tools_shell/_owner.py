"""The owner of sessions, interpreters and jobs: one run in one workspace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_shell._workspace import workspace_path

if TYPE_CHECKING:
    from tools_core import Context


class Owner(NamedTuple):
    """A workspace by device and inode, which survive renames, and a run."""

    device: int
    inode: int
    run_id: str


def owner_of(context: Context, root: str | os.PathLike[str] | None) -> Owner:
    """Return the owner of a call with this workspace; ToolError if the workspace does not exist."""
    path = workspace_path(root or context.workspace)
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise ToolError(f"workspace {os.fspath(path)!r}: {reason}; give a folder that exists", "not_found") from error
    return Owner(found.st_dev, found.st_ino, context.run_id)
