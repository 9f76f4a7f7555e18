"""The `glob` tool."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._names import all_escaped, escaped
from tools_filesystem._search._engine import SearchRequest, search
from tools_filesystem._search._globs import globs_of, is_folder, relative
from tools_filesystem._search._path_pattern import WILD, PathPattern
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_filesystem._paths._access import Access
    from tools_filesystem._paths._located import Located
    from tools_filesystem._search._process import SearchOutput
    from tools_filesystem._workspace import Workspace


class Glob(FileTool):
    """Find files by name pattern, such as `**/*.py` or `src/**/test_*.{js,ts}`.

    `*`, `?` and `[a-z]` match within a name, `**` any number of folders; a folder stands for the files in it. Returns
    one file path per line; use list_directory for folders. Skips `.git` and ignored files (to search an ignored folder,
    pass it as path).
    """

    read_only = True

    def paths_in(self, arguments: Mapping[str, Any]) -> Sequence[Any] | None:
        """Return where the search begins."""
        pattern, folder = arguments.get("pattern"), arguments.get("path", ".")
        if not isinstance(pattern, str) or not isinstance(folder, str):
            return None
        literal, below = _split(pattern)
        if ".." in below.split("/"):
            return None
        start = literal or ("/" if pattern.startswith("/") else "")
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
        globs = globs_of(pattern)
        with self.access(context) as access:
            is_single = not globs.skipped and len(globs.allowed) == 1
            folder, below = _start(access, globs.allowed[0], path) if is_single else (path, "")
            with locate(access, folder, repair="case") as start:
                start.check_folder()
                allowed = [below] if is_single else [relative(glob, access, start) for glob in globs.allowed or ["**"]]
                skipped = [relative(glob, access, start) for glob in globs.skipped]
                allowed = [f"{glob}/" if is_folder(start, glob) else glob for glob in allowed]
                paths = PathPattern(*allowed)
                left_out = PathPattern(*skipped, anywhere=True) if skipped else None
                newest = sort == "newest"
                request = SearchRequest("list", paths=paths, skipped=left_out, deep=not paths.is_flat, newest=newest)
                matches, output, notes = _found(request, start, access.workspace, context)
                if sort == "path":
                    matches.sort()
                notes = [*([start.note] if start.note else []), *notes]
                return _result(matches, output, start, pattern, notes, limit=limit, offset=offset)


def _found(
    request: SearchRequest, start: Located, workspace: Workspace, context: Context
) -> tuple[list[str], SearchOutput, list[str]]:
    """Return the files, and notes; files that are ignored only if the pattern names them."""
    output = search(start, request, workspace, context)
    matches = _matching(output, request)
    if matches or output.stopped:
        return matches, output, []
    ignored = _matching(search(start, request._replace(ignored=True), workspace, context), request)
    if not ignored:
        return [], output, []
    if request.paths is not None and all(WILD.isdisjoint(name) for name in request.paths.last_names):
        return ignored, output, ["ignored by .gitignore or a similar file"]
    example = escaped(start.prefix + ignored[0].rpartition("/")[0])
    return [], output, [f"{len(ignored)} files that match are ignored; pass their folder as path, such as {example!r}"]


def _matching(output: SearchOutput, request: SearchRequest) -> list[str]:
    paths = output.paths()
    if request.skipped is None and request.paths is not None and request.paths.is_by_name:
        return paths
    return list(filter(request.allows, paths))


def _result(
    paths: list[str], output: SearchOutput, start: Located, pattern: str, notes: list[str], *, limit: int, offset: int
) -> Result:
    total, page, prefix = len(paths), paths[offset : offset + limit], start.prefix
    facts = {"total": total, "count": len(page), **output.page(offset, offset + len(page), total, "files", notes)}
    lines = all_escaped([prefix + path for path in page])
    if total and not page:
        lines = [f"{total} files match; offset {offset} is past the last"]
    elif not total:
        hint = "" if notes or "/" in pattern or pattern.startswith("**") else f"; '**/{pattern}' searches all folders"
        lines = [f"No files match {pattern!r}{hint}"]
    return Result.ok("\n".join([*lines, *(f"[{note}]" for note in notes)]), metadata=facts)


def _check(pattern: str, path: str) -> None:
    if not pattern.strip("/"):
        raise ToolError("pattern must not be empty; '**' finds all files", "validation_error")
    if "\0" in pattern:
        raise ToolError("pattern must not contain NUL characters", "validation_error")
    if pattern.startswith("/") and path != ".":
        raise ToolError("pattern is absolute: omit path, or use a relative pattern", "validation_error")


def _split(pattern: str) -> tuple[str, str]:
    """Split a pattern into its literal folders and the rest."""
    parts = pattern.split("/")
    literal = list(takewhile(WILD.isdisjoint, parts[:-1]))
    return "/".join(literal), "/".join(parts[len(literal) :])


def _start(access: Access, pattern: str, path: str) -> tuple[str, str]:
    """Return the start folder and the pattern below it; an absolute pattern starts at its root."""
    if pattern.startswith("/"):
        root, names = access.root_of(pattern)  # wildcard characters in the name of the root are literal
        return root.path, "/".join(names)
    literal, below = _split(pattern)
    if literal:
        path = literal if path in (".", "") else f"{path.rstrip('/')}/{literal}"
    return path, below
