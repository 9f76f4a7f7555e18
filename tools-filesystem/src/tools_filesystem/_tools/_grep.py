"""The `grep` tool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._paths._locate import locate
from tools_filesystem._search._engine import Order, find_rg, search
from tools_filesystem._search._glob import PathPattern
from tools_filesystem._search._rows import (
    MOST_SHOWN,
    WIDTH,
    FileRows,
    Row,
    files_of,
    prefix_of,
    rows_of,
    shown,
    visible,
)
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools_filesystem._paths._locate import Located
    from tools_filesystem._search._process import Answer

_LONGEST = 10_000  # characters of a pattern
_SNIFF = 64 << 10


class Grep(FileTool):
    """Search file contents with a regular expression.

    Returns `path:line:text` for each matching line, or the matching files or counts (output_mode). Uses ripgrep: skips
    binary files, `.git` and what .gitignore names (pass such a folder as path to search it). Lines are cut at 500
    characters around the match.
    """

    read_only = True

    def diagnose(self) -> Mapping[str, object]:
        """Return which program searches here, and where it is."""
        program = find_rg(self.workspace_in(Context()))
        engine = "ripgrep" if program else "plain scan in Python: install ripgrep for speed, .gitignore and `type`"
        return {"grep_engine": engine, "programs": {"rg": program}}

    def execute(  # noqa: PLR0913, PLR0917  (its parameters are the model's words)
        self,
        pattern: Annotated[str, "Regular expression, matched line by line. Escape ( [ { . to match them literally."],
        path: Annotated[str, "Folder or file to search."] = ".",
        glob: Annotated[str, "Search only matching files, e.g. '*.{ts,tsx}', 'src/**/*.py'; '!*.min.js' skips."] = "",
        type: Annotated[str, "Search only this file type: py, js, ts, rust, go, java, ..."] = "",
        output_mode: Annotated[Literal["content", "files", "count"], "What to return."] = "content",
        ignore_case: Annotated[bool, "Match upper and lower case alike."] = False,
        context: Annotated[int, "Lines to show around each match.", Limits(ge=0, le=50)] = 0,
        limit: Annotated[int, "Maximum number of matching lines (or files).", Limits(ge=1, le=10_000)] = 100,
        offset: Annotated[int, "Matching lines (or files) to skip.", Limits(ge=0, le=1_000_000)] = 0,
        *,
        call: Context,
    ) -> Result:
        _check(pattern)
        page = _Page(output_mode, limit, offset, context)
        is_excluded = glob.startswith("!")
        listed = PathPattern(glob.removeprefix("!"), anywhere=True) if glob else None
        names = listed.names_alone() if listed is not None and not type and not is_excluded else None
        order = Order(output_mode, pattern, ignore_case, context, tuple(names or ()), type)
        with self.access(call) as access, locate(access, path, repair=True) as start:
            if not start.is_folder and _is_binary(start):
                return Result.ok(f"{path!r} is a binary file, which is not searched", metadata={"binary": 1})
            answer = search(start, order, access.workspace, call)
        found = _found(answer, output_mode, is_folder=start.is_folder)
        if listed is not None and start.is_folder and is_excluded:
            found = [file for file in found if not listed.matches_any_of(file.path)]
        elif listed is not None and start.is_folder and names is None:
            found = [file for file in found if listed.matches(file.path)]
        return _result(page, found, answer, start)


class _Page(NamedTuple):
    """The part of the matches that is asked for."""

    mode: str
    limit: int
    offset: int
    context: int


def _check(pattern: str) -> None:
    if not pattern:
        raise ToolError("pattern must not be empty; glob finds files by name", "validation_error")
    if len(pattern) > _LONGEST:
        raise ToolError(f"pattern has {len(pattern)} characters; the limit is {_LONGEST}", "limit_exceeded")
    if "\n" in pattern or "\0" in pattern:
        message = "pattern must not contain line breaks or NUL characters: lines are searched one by one"
        raise ToolError(message, "validation_error")
    if any("\ud800" <= char <= "\udfff" for char in pattern):
        raise ToolError("pattern must not contain lone surrogates", "validation_error")


def _is_binary(place: Located) -> bool:
    file = place.open_file()
    try:
        data = os.pread(file, _SNIFF, 0)
    finally:
        os.close(file)
    return b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff"))


def _found(answer: Answer, mode: str, *, is_folder: bool) -> list[FileRows]:
    """Return the files with matches in the order of their paths, which begin at the start."""
    if mode == "content":
        files: Iterable[FileRows] = files_of(answer.output)
    elif mode == "files":
        files = [FileRows(os.fsdecode(path), 1, []) for path in answer.output.split(b"\0") if path]
    else:
        files = _counts(answer.output)
    return sorted(file._replace(path=answer.inner(file.path) if is_folder else "") for file in files)


def _counts(output: bytes) -> list[FileRows]:
    """Parse counts: each path ends with a NUL, and has a count and a line break behind it."""
    found: list[FileRows] = []
    at = 0
    while (end := output.find(b"\0", at)) >= 0 and (stop := output.find(b"\n", end)) >= 0:
        found.append(FileRows(os.fsdecode(output[at:end]), int(output[end + 1 : stop]), []))
        at = stop + 1
    return found


def _result(page: _Page, found: list[FileRows], answer: Answer, start: Located) -> Result:
    prefix = prefix_of(start) if start.is_folder else start.path.removeprefix("./")
    matches = sum(file.matches for file in found)
    total = matches if page.mode == "content" else len(found)
    facts: dict[str, Any] = {"matches": matches, "files": len(found), "total": total, "truncated": bool(answer.stopped)}
    lines: list[str] = []
    notes = [start.note] if start.note else []
    if page.mode == "content":
        reached, cut = _content(page, found, prefix, lines)
        if cut:
            notes.append(f"{cut} lines are longer than {WIDTH} characters and cut around the match")
    else:
        some = found[page.offset : page.offset + page.limit]
        reached = page.offset + len(some)
        is_count = page.mode == "count"
        lines += [visible(prefix + file.path) + f":{file.matches}" * is_count for file in some]
    if answer.stopped:
        notes.append(f"stopped early ({answer.stopped}): there may be more; search a smaller folder")
    if answer.code == 2:
        notes.append("some files could not be read")
    if page.offset < reached < total:
        facts |= {"truncated": True, "next_offset": reached}
        unit = "matching lines" if page.mode == "content" else "files"
        where = f" in {len(found)} files" if page.mode == "content" and len(found) > 1 else ""
        least = "at least " if answer.stopped else ""
        notes.append(f"{page.offset + 1} to {reached} of {least}{total} {unit}{where}; continue with offset={reached}")
    if not lines:
        lines.append(f"{total} matches; offset {page.offset} is past the last" if total else "No matches")
    return Result.ok("\n".join([*lines, *(f"[{note}]" for note in notes)]), metadata=facts)


def _content(page: _Page, found: list[FileRows], prefix: str, lines: list[str]) -> tuple[int, int]:
    """Add the lines of a page; returns how many matches lie before what comes next, and how many lines are cut."""
    skip, left, reached, cut = page.offset, page.limit, page.offset, 0
    room = MOST_SHOWN
    for file in found:
        if skip >= file.matches:
            skip -= file.matches
            continue
        if not left or room <= 0:
            break
        rows = rows_of(file, skip, left, page.context)
        kept: list[Row] = []
        for row in rows:
            if room <= 0:
                break
            room -= len(row.text) + len(prefix) + len(file.path) + 8
            kept.append(row)
        if page.context and lines:
            lines.append("--")
        lines += shown(visible(prefix + file.path), kept, gaps=page.context > 0)
        cut += sum(row.is_cut for row in kept)
        taken = sum(row.is_match for row in kept) if len(kept) < len(rows) else min(left, file.matches - skip)
        reached += taken
        left -= taken
        skip = 0
    return reached, cut
