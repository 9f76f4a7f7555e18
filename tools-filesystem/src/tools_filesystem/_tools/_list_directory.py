"""The `list_directory` tool."""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Limits, Result
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._names import escaped, unescaped
from tools_filesystem._paths._resolve import closing, open_folder, open_inner
from tools_filesystem._reading._kinds import type_of
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tools_filesystem._paths._located import Located


class ListDirectory(FileTool):
    r"""List a folder, hidden entries included; depth also lists what is below, except in `.git`.

    To find files by name, use glob. Folders end with a slash, files show their size in bytes, links their target. Bytes
    that cannot be shown are \xNN.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "Folder, relative to the workspace."] = ".",
        depth: Annotated[int, "Levels to list; 1 is the folder alone.", Limits(ge=1, le=20)] = 1,
        limit: Annotated[int, "Maximum number of entries.", Limits(ge=1, le=10_000)] = 1000,
        after: Annotated[str, "Return entries after this name."] = "",
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access, locate(access, path, repair="case") as place:
            place.check_folder()
            listing = _Listing(depth, limit, unescaped(after) or after)
            top = listing.of(place, context)
        lines = list(_lines(top, 0))
        here, left_out = top.children, top.total - len(top.children)
        facts: dict[str, Any] = {"total": listing.total, "left_out": listing.total - listing.count}
        if left_out:
            last = escaped(here[-1].name)
            facts["next"] = {"path": path, "depth": depth, "limit": limit, "after": last}
            lines.append(f"[the first {len(here)} of {top.total} entries; continue with after='{last}']")
        if not here:
            lines.insert(0, f"{path!r} is empty." if not after else f"{path!r} has no entries after {after!r}.")
        return Result.ok("\n".join([*lines, *([f"[{place.note}]"] if place.note else [])]), metadata=facts)


@dataclass(slots=True)
class _Entry:
    """One name in a folder; `text` is its line, `total` counts what is in it."""

    name: str
    text: str
    is_folder: bool = False
    children: list[_Entry] = field(default_factory=list["_Entry"])
    total: int = 0


@dataclass(slots=True)
class _Listing:
    """A breadth-first walk, so that one large folder does not use up the limit."""

    depth: int
    limit: int
    after: str
    count: int = 0
    total: int = 0

    def of(self, place: Located, context: Context) -> _Entry:
        """Return the tree below a folder; OSError if it cannot be listed."""
        top = _Entry(".", ".", is_folder=True)
        waiting = deque([(top, [] if place.below == "." else place.below.split("/"), 1)])
        while waiting:
            entry, names, level = waiting.popleft()
            if level > 1 and (entry.name == ".git" or self.count >= self.limit or context.cancelled):
                entry.text += " (not listed)"
                continue
            try:
                with closing(open_folder(place.root, names)) as folder, closing(open_inner(folder)) as inner:
                    self._fill(entry, inner, self.after if level == 1 else "")
            except OSError as error:
                if level == 1:
                    raise
                entry.text += f" ({(error.strerror or 'unreadable').lower()})"
            if level < self.depth:
                waiting.extend((child, [*names, child.name], level + 1) for child in entry.children if child.is_folder)
        return top

    def _fill(self, entry: _Entry, folder: int, after: str) -> None:
        names = sorted(name for name in os.listdir(folder) if name > after)
        entry.children = [_entry(folder, name) for name in names[: self.limit - self.count]]
        entry.total = len(names)
        self.count += len(entry.children)
        self.total += entry.total


def _entry(folder: int, name: str) -> _Entry:
    text = escaped(name)
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return _Entry(name, f"{text} -> {escaped(os.readlink(name, dir_fd=folder))}")
    except OSError:
        return _Entry(name, f"{text} (gone, or not permitted)")
    if stat.S_ISDIR(status.st_mode):
        return _Entry(name, f"{text}/", is_folder=True)
    kind = f"{status.st_size} bytes" if stat.S_ISREG(status.st_mode) else type_of(status.st_mode)
    return _Entry(name, f"{text} ({kind})")


def _lines(folder: _Entry, level: int) -> Iterator[str]:
    indent = "  " * level
    for entry in folder.children:
        yield indent + entry.text
        yield from _lines(entry, level + 1)
    left_out = folder.total - len(folder.children)
    if level and left_out:
        yield f"{indent}[{left_out} of {folder.total} entries omitted; list this folder directly]"
