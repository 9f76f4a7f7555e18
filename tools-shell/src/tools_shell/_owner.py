"""The owner of sessions, interpreters and jobs: one run in one workspace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._workspace import open_workdir

if TYPE_CHECKING:
    from tools_core import Context


class Owner(NamedTuple):
    """A workspace by device and inode, which survive renames, and a run."""

    device: int
    inode: int
    run_id: str


def owner_of(context: Context, root: str | os.PathLike[str] | None) -> Owner:
    """Return the owner of a call with this workspace; ToolError if the workspace does not exist."""
    with open_workdir(root, context, ".") as place:
        found = os.fstat(place.directory)
    return Owner(found.st_dev, found.st_ino, context.run_id)
