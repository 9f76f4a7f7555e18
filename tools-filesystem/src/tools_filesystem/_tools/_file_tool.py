"""`FileTool`, the base class of file tools."""

from __future__ import annotations

import functools
from contextlib import suppress
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

from tools_core import Context, Effects, Tool, ToolError
from tools_filesystem._paths._access import Access
from tools_filesystem._paths._locate import Repair, locate
from tools_filesystem._workspace import Workspace, workspace_for

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


class FileTool(Tool, abstract=True):
    """A tool with a workspace: its own, or else the context's.

    The description lists its own workspace's folders for the model.
    """

    tags = ("files",)

    def __init__(self, workspace: Workspace | str | os.PathLike[str] | None = None) -> None:
        _preload()
        own = workspace if isinstance(workspace, Workspace | None) else Workspace(workspace)
        self.workspace = own
        if own is not None:
            self.description = f"{self.description}\n\nFolders: {own}."

    def access(self, context: Context) -> Access:
        """Return the workspace of this call, for a `with` statement."""
        return Access(self.workspace_in(context), context)

    def workspace_in(self, context: Context) -> Workspace:
        """Return the workspace of this tool in a call."""
        return self.workspace or workspace_for(context)

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """Return the real paths that the arguments name and the links on the way; see Tool."""
        named = self.paths_in(arguments)
        paths: dict[str, None] = {}
        if named is None or not all(isinstance(path, str) for path in named):
            return Effects(self.annotations, paths=None)
        try:
            with self.access(context or Context()) as access:
                # Where a path leads; of one that does not exist, also the file whose name a tool would take for it.
                for path, repair in product(named, _READINGS):
                    with locate(access, path, new=True, repair=repair) as place:
                        paths |= dict.fromkeys((*place.links, place.real))
        except ToolError:  # the call itself will end with it
            return Effects(self.annotations, paths=None)
        return Effects(self.annotations, paths=list(paths), confined=self._is_confined(context))

    def _is_confined(self, context: Context | None) -> bool:
        """Return whether the code is that of this package, in the workspace of the call."""
        is_ours = type(self).execute.__module__.partition(".")[0] == __name__.partition(".")[0]
        return is_ours and not self.requires_approval and self.workspace is None and context is not None

    def paths_in(self, arguments: Mapping[str, Any]) -> Sequence[Any] | None:
        """Return the paths in the arguments, as given; None if they are unknown."""
        properties = self.input_schema["properties"]
        return [arguments.get(name, properties[name].get("default")) for name in _PATHS if name in properties]


# A host that runs as `python agent.py` in its own workspace imports from there first: a file that a tool has named like
# one of these, which calls load or have Python load, would run in the host.
_LATER = (
    *("concurrent.futures.thread", "contextvars", "fcntl", "grp", "logging", "pwd", "queue"),
    *("resource", "textwrap", "traceback"),
)


@functools.cache
def _preload() -> None:
    for name in _LATER:
        with suppress(ImportError):  # not of this system
            import_module(name)


_READINGS: tuple[Repair, ...] = ("case", "")
_PATHS = ("path", "source", "destination")
