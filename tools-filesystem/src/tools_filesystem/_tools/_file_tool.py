"""The base class of file tools: a workspace, and how it is described and opened."""

from __future__ import annotations

import functools
from contextlib import suppress
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

from tools_core import Context, Effects, Tool, ToolError
from tools_filesystem._paths._access import Access
from tools_filesystem._paths._locate import locate
from tools_filesystem._workspace import Workspace, workspace_for

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


class FileTool(Tool, abstract=True):
    """A tool over a workspace: its own if it was made with one, else that of the context.

    Its folders are part of the description, so that a model knows where it may go.
    """

    tags = ("files",)

    def __init__(self, workspace: Workspace | str | os.PathLike[str] | None = None) -> None:
        _preload()
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
        """See Tool: the real paths that are named and the links on the way, not what lies below them."""
        named = self.paths_in(arguments)
        found: dict[str, None] = {}
        if named is None or not all(isinstance(path, str) for path in named):
            return Effects(self.annotations, paths=None)
        try:
            with self.access(context or Context()) as access:
                # Where a path leads; of one that does not exist, also the file whose name a tool would take for it.
                for path, repair in product(named, (True, False)):
                    with locate(access, path, new=True, repair=repair) as place:
                        found |= dict.fromkeys((*place.links, place.real))
        except ToolError:  # the call itself will end with it
            return Effects(self.annotations, paths=None)
        return Effects(self.annotations, paths=list(found))

    def paths_in(self, arguments: Mapping[str, Any]) -> Sequence[Any] | None:
        """The paths that the arguments name, as they are given; None where that is not clear."""
        properties = self.input_schema["properties"]
        return [arguments.get(name, properties[name].get("default")) for name in _PATHS if name in properties]


# A host that runs as `python agent.py` in its own workspace imports from there first: a file that a tool has named like
# one of these, which calls load or have Python load, would run in the host.
_LATER = (
    *("_ctypes", "ctypes", "concurrent.futures.thread", "contextvars", "fcntl", "grp", "logging", "pwd", "queue"),
    *("resource", "textwrap", "traceback"),
)


@functools.cache
def _preload() -> None:
    for name in _LATER:
        with suppress(ImportError):  # not of this system
            import_module(name)


_PATHS = ("path", "source", "destination")
