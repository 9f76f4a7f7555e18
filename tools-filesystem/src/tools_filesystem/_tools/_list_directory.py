"""The `list_directory` tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._names import escaped, unescaped
from tools_filesystem._reading._entries import Listing, Order
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tools_filesystem._reading._entries import Entry


class ListDirectory(FileTool):
    r"""List a folder, hidden entries included; depth also lists what is below.

    Folders end with a slash, files show their size in bytes, links their target. Bytes that cannot be
    shown are \xNN.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "Folder, relative to the workspace."] = ".",
        depth: Annotated[int, "Levels to list; 1 is the folder alone.", Limits(ge=1, le=20)] = 1,
        limit: Annotated[int, "Maximum number of entries.", Limits(ge=1, le=10_000)] = 1000,
        sort: Annotated[Order, "By name, largest first, or last modified first."] = "name",
        after: Annotated[str, "Continue behind this name."] = "",
        *,
        context: Context,
    ) -> Result:
        if after and sort != "name":
            raise ToolError("after reads on in the order of names: leave out sort", "validation_error")
        listing = Listing(depth, limit, sort, unescaped(after) or after)
        with self.access(context) as access, locate(access, path, repair=True) as place:
            note = place.note
            top = listing.of(place, context)
        lines = list(_lines(top, 0))
        left_out = listing.total - listing.shown
        facts: dict[str, Any] = {"total": listing.total, "left_out": left_out}
        here = top.children or []
        if top.total > len(here):
            here_out = top.total - len(here)
            way = ""
            if sort == "name" and here:
                facts["next"] = {"path": path, "depth": depth, "limit": limit, "after": escaped(here[-1].name)}
                way = f"; read on with after='{escaped(here[-1].name)}'"
            lines.append(f"[the first {len(here)} of {top.total} entries; {here_out} are left out{way}]")
        if note:
            lines.append(f"[{note}]")
        empty = f"{path!r} is empty." if not after else f"{path!r} has no entries after {after!r}."
        return Result.ok("\n".join(lines) if here else "\n".join([empty, *lines]), metadata=facts)


def _lines(folder: Entry, level: int) -> Iterator[str]:
    indent = "  " * level
    for entry in folder.children or ():
        yield indent + _line(entry)
        yield from _lines(entry, level + 1)
    left_out = folder.total - len(folder.children or ())
    if level and left_out:
        yield f"{indent}[{left_out} of {folder.total} entries are left out: list this folder by itself]"


def _line(entry: Entry) -> str:
    name, problem = escaped(entry.name), f" ({entry.problem})" if entry.problem else ""
    if entry.type == "directory":
        return f"{name}/{problem}"
    if entry.type == "link":
        return f"{name} -> {escaped(entry.target)}"
    if entry.type == "file":
        return f"{name} ({entry.size} bytes)"
    return f"{name}{problem or f' ({entry.type})'}"
