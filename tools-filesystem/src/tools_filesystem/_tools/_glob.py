"""The `glob` tool."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._names import all_escaped
from tools_filesystem._search._engine import Order, search
from tools_filesystem._search._path_pattern import WILD, PathPattern
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_filesystem._paths._access import Access
    from tools_filesystem._paths._locate import Located
    from tools_filesystem._search._process import Answer


class Glob(FileTool):
    """Find files by name pattern, such as `**/*.py` or `src/**/test_*.{js,ts}`.

    `*` and `?` match within a name, `**` any number of folders. Returns one path per line. Skips `.git` and what
    .gitignore names (pass such a folder as path to look into it). Finds files only; list_directory shows folders.
    """

    read_only = True

    def paths_in(self, arguments: Mapping[str, Any]) -> Sequence[Any] | None:
        """Return where the search begins."""
        pattern, folder = arguments.get("pattern"), arguments.get("path", ".")
        if not isinstance(pattern, str) or not isinstance(folder, str):
            return None
        plain, below = _split(pattern)
        if ".." in below.split("/"):
            return None
        start = plain or ("/" if pattern.startswith("/") else "")
        return [start if pattern.startswith("/") else f"{folder}/{start}" if start else folder]

    def execute(
        self,
        pattern: Annotated[str, "Relative to path, or an absolute path in the workspace.", Limits(max_length=4096)],
        path: Annotated[str, "Folder to search."] = ".",
        sort: Annotated[Literal["path", "newest"], "By path, or last modified first."] = "path",
        limit: Annotated[int, "Maximum number of paths.", Limits(ge=1, le=10_000)] = 1000,
        offset: Annotated[int, "Paths to skip.", Limits(ge=0, le=1_000_000)] = 0,
        *,
        context: Context,
    ) -> Result:
        _check(pattern, path)
        with self.access(context) as access:
            folder, below = _start(access, pattern, path)
            with locate(access, folder, repair=True) as start:
                start.check_folder()
                wanted = PathPattern(below)
                names = wanted.names_alone()
                depth = 1 if all("/" not in one and one != "**" for one in wanted.alternatives) else 0
                order = Order("list", names=tuple(names or ()), depth=depth, newest=sort == "newest")
                answer = search(start, order, access.workspace, context)
                found = answer.paths()
                if names is None:
                    found = [one for one in found if wanted.matches(one)]
                if sort == "path":
                    found.sort()
                return _result(found, answer, start, pattern, limit=limit, offset=offset)


def _result(found: list[str], answer: Answer, start: Located, pattern: str, *, limit: int, offset: int) -> Result:
    total, some, prefix = len(found), found[offset : offset + limit], start.prefix
    notes = [start.note] if start.note else []
    facts = {"total": total, "count": len(some), **answer.page(offset, offset + len(some), total, "files", notes)}
    lines = all_escaped([prefix + one for one in some])
    if total and not some:
        lines = [f"{total} files match; offset {offset} is past the last"]
    elif not total:
        hint = "" if "/" in pattern or pattern.startswith("**") else f"; '**/{pattern}' looks in all folders"
        lines = [f"No files match {pattern!r}{hint}"]
    return Result.ok("\n".join([*lines, *(f"[{note}]" for note in notes)]), metadata=facts)


def _check(pattern: str, path: str) -> None:
    if not pattern.strip("/"):
        raise ToolError("pattern must not be empty; '**' finds all files", "validation_error")
    if "\0" in pattern:
        raise ToolError("pattern must not contain NUL characters", "validation_error")
    if pattern.startswith("/") and path != ".":
        raise ToolError("pattern is an absolute path: leave out path, or make it relative to it", "validation_error")


def _split(pattern: str) -> tuple[str, str]:
    """Split a pattern into its literal folders and the rest."""
    parts = pattern.split("/")
    plain = list(takewhile(WILD.isdisjoint, parts[:-1]))
    return "/".join(plain), "/".join(parts[len(plain) :])


def _start(access: Access, pattern: str, path: str) -> tuple[str, str]:
    """Return the start folder and the pattern below it; an absolute pattern starts at its root."""
    if pattern.startswith("/"):
        root, names = access.root_of(pattern)  # wildcard characters in the name of the root are literal
        return root.path, "/".join(names)
    plain, below = _split(pattern)
    if plain:
        path = plain if path in (".", "") else f"{path.rstrip('/')}/{plain}"
    return path, below
