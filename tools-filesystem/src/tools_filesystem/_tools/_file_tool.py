"""The base class of file tools: a workspace, and how it is described and opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core import Effects, Tool
from tools_filesystem._paths._access import Access
from tools_filesystem._workspace import Workspace, workspace_for

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from tools_core import Context


class FileTool(Tool, abstract=True):
    """A tool over a workspace: its own if it was made with one, else that of the context.

    Its folders are part of the description, so that a model knows where it may go.
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

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """See Tool: the paths that are named, not what lies below them."""
        from tools_core import Context  # only for policies, which few callers have
        from tools_filesystem._paths._resources import real_paths

        named = self.paths_in(arguments)
        paths = None if named is None else real_paths(self.workspace_in(context or Context()), named)
        return Effects(self.annotations, paths=paths)

    def paths_in(self, arguments: Mapping[str, Any]) -> Sequence[Any] | None:
        """The paths that the arguments name, as they are given; None where that is not clear."""
        named: list[Any] = []
        for name, schema in self.input_schema["properties"].items():
            if name in _PATHS:
                given = arguments.get(name, schema.get("default"))
                named += given if isinstance(given, list) else [given]
        return named


_PATHS = frozenset(("path", "paths", "source", "destination"))
