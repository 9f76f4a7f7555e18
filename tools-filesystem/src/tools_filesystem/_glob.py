"""The `glob` tool."""

from __future__ import annotations

import os
from heapq import nsmallest
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Literal

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._access import Place
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._names import opened
from tools_filesystem._resolve import open_folder
from tools_filesystem._search._budget import Budget
from tools_filesystem._search._folders import Walk
from tools_filesystem._search._pattern import Pattern, expanded
from tools_filesystem._search._start import all_visible, left_unseen, prefix_of, rules_above, why_nothing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tools_filesystem._access import Access
    from tools_filesystem._names import Opened
    from tools_filesystem._search._pattern import State

_SPARE = 10_000  # matches that are kept beyond those wanted before the list is cut back


class Glob(FileTool):
    """Find files of the workspace by name, such as `**/*.py` or `src/**/test_*.{js,ts}`.

    `*` and `?` match within one name, `**` any number of folders, `[abc]` one of these characters, `{a,b}` either; a
    pattern that ends with a slash finds folders. Returns one path per line; when there are more than limit, the last
    line says how many and how to go on. What .gitignore and .ignore files name, and hidden names that the pattern does
    not spell out, are left out unless asked for. Links are shown and not followed.
    """

    read_only = True

    def paths_in(self, arguments: Mapping[str, Any]) -> Sequence[Any] | None:
        """Where the search begins: the folder, and those that the pattern spells out."""
        pattern, folder = arguments.get("pattern"), arguments.get("path", ".")
        if not isinstance(pattern, str) or not isinstance(folder, str):
            return None
        parts = pattern.split("/")
        plain = list(takewhile(lambda part: not any(char in "*?[]{}!\\" for char in part), parts))
        if ".." in parts[len(plain) :]:
            return None
        start = "/".join(plain) or ("/" if pattern.startswith("/") else "")
        return [start if pattern.startswith("/") else f"{folder}/{start}" if start else folder]

    def execute(
        self,
        pattern: Annotated[str, "The pattern; it is relative to path, or an absolute path of the workspace."],
        path: Annotated[str, "The folder to search, relative to the workspace."] = ".",
        sort: Annotated[Literal["path", "newest"], "By path, or the last modified first."] = "path",
        limit: Annotated[int, "The most paths to return.", Limits(ge=1, le=10_000)] = 1000,
        offset: Annotated[int, "How many paths to leave out, to go on.", Limits(ge=0, le=1_000_000)] = 0,
        ignore: Annotated[bool, "Leave out what ignore files name."] = True,
        hidden: Annotated[bool, "Let wildcards match hidden names."] = False,
        *,
        context: Context,
    ) -> Result:
        _check(pattern, path)
        budget = Budget(context)
        with self.access(context) as access, explained(access, path):
            start, below = _start(access, pattern, path)
            try:
                matcher = Pattern(expanded(below), hidden=hidden)
                rules, prefix = rules_above(start.place) if ignore else (None, "")
                walk = Walk(start.descriptor, matcher.start, budget, ignore=rules, prefix=prefix, links=True)
                matches = _Matches(walk, offset + limit, newest=sort == "newest")
            finally:
                os.close(start.descriptor)
        found = matches.first()[offset:]
        where = prefix_of(start.path)
        facts: dict[str, Any] = {"total": matches.total, "count": len(found), "truncated": False}
        notes = [start.note] if start.note else []
        if offset + len(found) < matches.total:
            facts["truncated"] = True
            facts["next"] = {"pattern": pattern, "path": path, "sort": sort, "limit": limit,
                             "offset": offset + len(found), "ignore": ignore, "hidden": hidden}  # fmt: skip
            if found:
                shown = f"{offset + 1} to {offset + len(found)} of {matches.total}"
                notes.append(f"{shown}; go on with offset={offset + len(found)}")
        if budget.stopped is not None:
            facts["truncated"] = True
        notes += left_unseen(walk.skipped, budget, facts)
        lines = all_visible([where + one for one in found]) or [_nothing(pattern, path, matches.total, offset)]
        if not matches.total:
            lines[0] += why_nothing(walk.skipped, hidden=hidden)
        return Result.ok("\n".join([*lines, *(f"[{note}]" for note in notes)]), metadata=facts)


class _Matches:
    """Counts all that a walk finds, and keeps as many as may be wanted."""

    def __init__(self, walk: Walk[State], wanted: int, *, newest: bool) -> None:
        self.total = 0
        self._wanted = wanted
        self._dated: list[tuple[int, str]] = []
        self._plain: list[str] = []
        keep = self._keep_dated if newest else self._keep
        for folder, path, files, state in walk:
            if state.is_match and path:
                keep(folder, "", [path])
            if files:
                keep(folder, path, files)

    def first(self) -> list[str]:
        """The wanted ones, in order."""
        return [path for _, path in nsmallest(self._wanted, self._dated)] or sorted(self._plain)[: self._wanted]

    def _keep(self, _folder: int, path: str, names: list[str]) -> None:
        self.total += len(names)
        self._plain += [path + name for name in names]
        if len(self._plain) > self._wanted + _SPARE:
            self._plain = self.first()

    def _keep_dated(self, folder: int, path: str, names: list[str]) -> None:
        dated = [(-when, path + name) for name in names if (when := _modified(folder, name)) is not None]
        self.total += len(dated)
        self._dated += dated
        if len(self._dated) > self._wanted + _SPARE:
            self._dated = nsmallest(self._wanted, self._dated)


def _modified(folder: int, name: str) -> int | None:
    """When a file was modified, or the folder itself if the name ends with a slash; None if it has vanished."""
    try:
        return os.stat("." if name.endswith("/") else name, dir_fd=folder, follow_symlinks=False).st_mtime_ns
    except OSError:
        return None


def _check(pattern: str, path: str) -> None:
    if not pattern.strip("/"):
        raise ToolError("pattern must not be empty; '**' finds all files", "validation_error")
    if "\0" in pattern:
        raise ToolError("pattern must not contain NUL characters", "validation_error")
    if pattern.startswith("/") and path != ".":
        raise ToolError("pattern is an absolute path: leave out path, or make it relative to it", "validation_error")


def _start(access: Access, pattern: str, path: str) -> tuple[Opened, str]:
    """Where to begin, and the pattern from there on; an absolute pattern begins at its root."""
    if not pattern.startswith("/"):
        return opened(access, path, open_folder), pattern
    found = access.place(pattern)  # the root in it is text, whatever characters its name has
    start = opened(access, found.root.path, lambda _: open_folder(Place(found.root, ".")))
    return start._replace(place=Place(found.root, ".")), found.path


def _nothing(pattern: str, path: str, total: int, offset: int) -> str:
    if total:
        return f"{total} files match {pattern!r} in {path!r}; offset {offset} is past the last"
    hint = "" if "/" in pattern or pattern.startswith("**") else f"; '**/{pattern}' looks in its folders, too"
    return f"No files match {pattern!r} in {path!r}{hint}"
