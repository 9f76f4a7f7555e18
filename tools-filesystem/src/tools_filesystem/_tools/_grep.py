"""The `grep` tool."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._names import escaped
from tools_filesystem._search._engine import (
    PatternError,
    SearchRequest,
    find_rg,
    has_line_ends,
    other_readings,
    search,
)
from tools_filesystem._search._globs import globs_of, is_folder, relative
from tools_filesystem._search._other_encodings import with_other_encodings
from tools_filesystem._search._path_pattern import WILD, PathPattern
from tools_filesystem._search._rows import WIDTH, FileRows, files_of, rows_of
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools_filesystem._paths._access import Access
    from tools_filesystem._paths._located import Located
    from tools_filesystem._search._process import SearchOutput
    from tools_filesystem._workspace import Workspace

_MAX_SHOWN = 100_000  # characters of one result
_SNIFF = 64 << 10
# Names of languages, and endings, for which ripgrep has another name.
_TYPES = {
    "bash": "sh",
    "c#": "csharp",
    "c++": "cpp",
    "cs": "csharp",
    "golang": "go",
    "javascript": "js",
    "jsx": "js",
    "kt": "kotlin",
    "python": "py",
    "rb": "ruby",
    "rs": "rust",
    "shell": "sh",
    "tsx": "ts",
    "typescript": "ts",
    "yml": "yaml",
}
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")


class Grep(FileTool):
    """Search file contents with a regular expression (ripgrep). To find files by name, use glob.

    Returns `path:line:text` for each matching line, truncated to 500 characters, or the matching files or counts
    (output_mode). Skips binary files, `.git` and ignored files (to search an ignored folder, pass it as path).
    """

    read_only = True

    def diagnose(self) -> Mapping[str, object]:
        """Return the search program and its path."""
        program = find_rg(self.workspace_in(Context()))
        engine = "ripgrep" if program else "plain scan in Python: install ripgrep for speed, .gitignore and all options"
        return {"grep_engine": engine, "programs": {"rg": program}}

    def execute(  # noqa: PLR0913, PLR0917  (its parameters are the model's words)
        self,
        pattern: Annotated[
            str, "Regular expression. Escape ( [ { . to match them literally.", Limits(max_length=10_000)
        ],
        path: Annotated[str, "Folder or file to search."] = ".",
        glob: Annotated[
            str,
            "Search only these files, e.g. '*.{ts,tsx}', 'src/**/*.py', 'docs/'; '!*.min.js' excludes.",
            Limits(max_length=4096),
        ] = "",
        type: Annotated[str, "Search only this file type: py, js, ts, rust, go, java, ..."] = "",
        output_mode: Annotated[Literal["content", "files", "count"], "What to return."] = "content",
        ignore_case: Annotated[bool, "Match upper and lower case alike."] = False,
        multiline: Annotated[bool, "Let matches span lines; `.` still needs (?s) to match newlines."] = False,
        context: Annotated[int, "Lines to show around each match.", Limits(ge=0, le=50)] = 0,
        before: Annotated[int, "Lines to show before each match.", Limits(ge=0, le=50)] = 0,
        after: Annotated[int, "Lines to show after each match.", Limits(ge=0, le=50)] = 0,
        limit: Annotated[int, "Maximum number of matches (or files).", Limits(ge=1, le=10_000)] = 100,
        offset: Annotated[int, "Matches (or files) to skip.", Limits(ge=0, le=1_000_000)] = 0,
        *,
        call: Context,
    ) -> Result:
        _check(pattern, glob, type)
        type = type.strip().lower().removeprefix("*").removeprefix(".")
        type = _TYPES.get(type, type)
        before, after = max(before, context), max(after, context)
        multiline = multiline or has_line_ends(pattern)
        request = SearchRequest(output_mode, pattern, ignore_case, multiline, before, after, type=type)
        with self.access(call) as access, locate(access, path, repair="case") as start:
            head = b"" if start.is_folder else start.read_start(_SNIFF)
            if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
                return Result.ok(f"{path!r} is a binary file, which is not searched", metadata={"binary": 1})
            if glob.strip() and start.is_folder:
                request = _restricted(request, glob, access, start)
            files, output, notes = _found(request, start, access.workspace, call)
            if not files and not output.stopped:
                notes += _obstacles(request, glob, start, access.workspace, call)
            return _result(request, files, output, start, notes, limit=limit, offset=offset)


def _check(pattern: str, glob: str, type_: str) -> None:
    if not pattern:
        raise ToolError("pattern must not be empty; glob finds files by name", "validation_error")
    for name, text in (("pattern", pattern), ("glob", glob), ("type", type_)):
        if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
            raise ToolError(f"{name} must not contain NUL characters or lone surrogates", "validation_error")


def _restricted(request: SearchRequest, glob: str, access: Access, start: Located) -> SearchRequest:
    """Return the request for the files of `glob`; a folder stands for its files."""
    allowed, skipped = ([relative(part, access, start) for part in parts] for parts in globs_of(glob))
    folders = [f"{part}/" for part in allowed if is_folder(start, part) or WILD.isdisjoint(part)]
    return request._replace(
        paths=PathPattern(*allowed, *folders, anywhere=True) if allowed else None,
        skipped=PathPattern(*skipped, anywhere=True) if skipped else None,
    )


def _found(
    request: SearchRequest, start: Located, workspace: Workspace, call: Context
) -> tuple[list[FileRows], SearchOutput, list[str]]:
    """Return the files with matches, the output of the search, and notes, perhaps of what the pattern may mean."""

    def files_in(output: SearchOutput, mode: str) -> list[FileRows]:
        return [file for file in _files(output, mode, start) if request.allows(file.path)]

    def meant(others: dict[str, str]) -> tuple[SearchRequest, SearchOutput, list[str]] | None:
        for pattern, note in others.items():
            other = request._replace(pattern=pattern)
            with suppress(PatternError):
                output = search(start, other, workspace, call)
                if files_in(output, other.mode):
                    return other, output, [note]
        return None

    others = other_readings(request.pattern)
    try:
        found = request, search(start, request, workspace, call), list[str]()
    except PatternError as error:
        if (as_meant := meant(others | error.others)) is None:
            raise
        found = as_meant
    if not found[1].stopped and not files_in(found[1], request.mode):
        found = meant(others) or found
    request, output, notes = found
    files = files_in(output, request.mode)
    if not output.stopped:
        files, more = with_other_encodings(request, files, files_in, start, workspace, call)
        notes += more
    return files, output, notes


def _obstacles(request: SearchRequest, glob: str, start: Located, workspace: Workspace, call: Context) -> list[str]:
    """Explain why no file was searched, if that is so."""
    if not start.is_folder or not (request.paths or request.skipped or request.type):
        return []
    listing = SearchRequest("list", paths=request.paths, skipped=request.skipped, type=request.type)
    conditions = " and ".join([f"glob {glob!r}"] * bool(glob) + [f"type {request.type!r}"] * bool(request.type))
    if _listed(listing, start, workspace, call):
        return []
    ignored = _listed(listing._replace(ignored=True), start, workspace, call)
    if ignored:
        example = escaped(start.prefix + ignored[0])
        count = len(ignored)
        return [f"all {count} files that match {conditions} are ignored; pass one as path, such as {example!r}"]
    return [f"no file matches {conditions}"]


def _listed(request: SearchRequest, start: Located, workspace: Workspace, call: Context) -> list[str]:
    return list(filter(request.allows, search(start, request, workspace, call).paths()))


def _files(output: SearchOutput, mode: str, start: Located) -> list[FileRows]:
    """Return the files with matches, sorted by path."""
    if mode == "content":
        files: Iterable[FileRows] = files_of(output.output)
    elif mode == "files":
        files = [FileRows(path, 1, []) for path in output.paths()]
    else:  # each path ends with a NUL, before a count and a line break
        files = [FileRows(os.fsdecode(path), int(count), []) for path, count in _COUNT.findall(output.output)]
    return sorted(file._replace(path=output.inner(file.path) if start.is_folder else "") for file in files)


def _result(
    request: SearchRequest, files: list[FileRows], output: SearchOutput, start: Located, notes: list[str],
    *, limit: int, offset: int,
) -> Result:  # fmt: skip
    prefix = start.prefix if start.is_folder else start.shown
    is_content = request.mode == "content"
    matches = sum(file.matches for file in files)
    total = matches if is_content else len(files)
    facts: dict[str, Any] = {"matches": matches, "files": len(files), "total": total}
    notes = [*([start.note] if start.note else []), *notes]
    if is_content:
        lines, reached, cut = _content(request, files, prefix, limit, offset)
        if cut:
            notes.append(f"lines longer than {WIDTH} characters are truncated around the match: {cut}")
    else:
        page = files[offset : offset + limit]
        reached = offset + len(page)
        lines = [escaped(prefix + file.path) + f":{file.matches}" * (request.mode == "count") for file in page]
    spread = f" in {len(files)} files" if is_content and len(files) > 1 else ""
    unit = f"matches{spread}" if is_content else "files"
    facts |= output.page(offset, reached, total, unit, notes)
    if not lines:
        none = "No matches so far" if output.stopped else "No matches"
        lines = [f"{total} matches; offset {offset} is past the last" if total else none]
    return Result.ok("\n".join([*lines, *(f"[{note}]" for note in notes)]), metadata=facts)


def _content(
    request: SearchRequest, files: list[FileRows], prefix: str, limit: int, offset: int
) -> tuple[list[str], int, int]:
    """Return the lines of a page, the offset of the next page, and the number of truncated lines.

    A line is `path:line:text`, or `path-line-text` around matches, with `--` between groups of lines.
    """
    lines: list[str] = []
    skip, left, cut, room = offset, limit, 0, _MAX_SHOWN
    for file in files:
        if not left or room <= 0:
            break
        path, last = escaped(prefix + file.path), None
        rows = rows_of(file, skip, left, request.before, request.after)
        skip = max(0, skip - file.matches)
        for row in rows:
            if room <= 0:
                break
            if (request.before or request.after) and lines and (last is None or row.number > last + 1):
                lines.append("--")
            mark = ":" if row.is_match else "-"
            lines.append(f"{path}{mark}{row.number}{mark}{row.text}")
            last = row.number
            left -= row.is_match
            cut += row.is_cut
            room -= len(lines[-1])
    return lines, offset + limit - left, cut
