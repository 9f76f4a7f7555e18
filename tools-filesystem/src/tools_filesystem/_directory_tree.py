"""The `directory_tree` tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Limits, Result
from tools_filesystem._entries import Listing
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._names import found_folder, sendable

if TYPE_CHECKING:
    from typing import Any

    from tools_filesystem._entries import Entry


class DirectoryTree(FileTool):
    """Show a folder of the workspace and what is below it as JSON, hidden files included.

    Each entry has a name and a type (file, directory, link, pipe, socket, device), a directory its children, a
    link its target: links are never followed. A directory that was not listed has no children; where some are
    left out, left_out says how many.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "The folder, relative to the workspace."] = ".",
        depth: Annotated[int, "How many levels to show.", Limits(ge=1, le=20)] = 5,
        limit: Annotated[int, "The most entries to show.", Limits(ge=1, le=10_000)] = 1000,
        *,
        context: Context,
    ) -> Result:
        listing = Listing(depth, limit)
        with self.access(context) as access, explained(access, path):
            place, note = found_folder(access, path)
            top = listing.of(place, context)
        facts: dict[str, Any] = {"total": listing.total, "left_out": listing.total - listing.shown}
        return Result.ok(_as_json(top) | {"name": path}, metadata=facts | ({"note": note} if note else {}))


def _as_json(entry: Entry) -> dict[str, Any]:
    out: dict[str, Any] = {"name": sendable(entry.name), "type": entry.type}
    if entry.target:
        out["target"] = sendable(entry.target)
    if entry.problem:
        out["problem"] = entry.problem
    if entry.children is not None:
        out["children"] = [_as_json(child) for child in entry.children]
        if entry.total > len(entry.children):
            out["left_out"] = entry.total - len(entry.children)
    return out
