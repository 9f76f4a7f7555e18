"""What all file tools have in common: a workspace, and how it is shown and opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core import Tool
from tools_filesystem._access import Access
from tools_filesystem._workspace import Workspace, workspace_for

if TYPE_CHECKING:
    import os

    from tools_core import Context


class FileTool(Tool, abstract=True):
    """A tool over a workspace: its own if it was made with one, else that of the context.

    The folders of its own are part of the description, so that a model knows where it may go.
    """

    tags = ("files",)

    def __init__(self, workspace: Workspace | str | os.PathLike[str] | None = None) -> None:
        own = workspace if isinstance(workspace, Workspace | None) else Workspace(workspace)
        self.workspace = own
        if own is not None:
            self.description = f"{self.description}\n\nFolders: {own}."

    def access(self, context: Context) -> Access:
        """The workspace of this call, to be used in a `with` block."""
        return Access(self.workspace_in(context))

    def workspace_in(self, context: Context) -> Workspace:
        """The workspace that this tool has in a call."""
        return self.workspace or workspace_for(context)
