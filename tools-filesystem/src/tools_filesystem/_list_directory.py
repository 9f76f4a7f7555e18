"""The `list_directory` tool."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Limits, Result
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._resolve import open_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPECIAL = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}


class ListDirectory(FileTool):
    """List what is in a folder of the workspace, sorted by name.

    One entry per line: a folder ends with a slash, a file has its size in bytes, a link shows where it
    points. When not everything is shown, the last line says how much is left out. Refuses every path that
    leads out of the workspace.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "The folder, relative to the workspace."] = ".",
        limit: Annotated[int, "The most entries to list.", Limits(ge=1, le=10_000)] = 1000,
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access, explained(access, path):
            folder = open_folder(access.place(path))
            try:
                names, total = _first_names(folder, limit)
                lines = [_line(folder, name) for name in names]
            finally:
                os.close(folder)
        left_out = total - len(lines)
        if left_out:
            lines.append(f"[the first {len(lines)} of {total} entries; {left_out} are left out]")
        text = "\n".join(lines) or f"{path!r} is empty."
        return Result.ok(text, metadata={"total": total, "left_out": left_out})


def _first_names(folder: int, limit: int) -> tuple[list[str], int]:
    """The first names in order, and how many there are, without keeping a million of them."""
    from heapq import nsmallest  # only here

    total = 0

    def counted() -> Iterator[str]:
        nonlocal total
        with os.scandir(folder) as entries:
            for entry in entries:
                total += 1
                yield entry.name

    return nsmallest(limit, counted()), total


def _line(folder: int, name: str) -> str:
    shown = _visible(name)
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            return f"{shown} -> {_visible(os.readlink(name, dir_fd=folder))}"
    except OSError:
        return f"{shown} (gone, or not permitted)"
    if stat.S_ISDIR(found.st_mode):
        return f"{shown}/"
    if stat.S_ISREG(found.st_mode):
        return f"{shown} ({found.st_size} bytes)"
    return f"{shown} ({_SPECIAL.get(stat.S_IFMT(found.st_mode), 'special')})"


def _visible(name: str) -> str:
    """A name on one line that UTF-8 can carry: a newline in it must not look like another entry."""
    return name if name.isprintable() else repr(name)
