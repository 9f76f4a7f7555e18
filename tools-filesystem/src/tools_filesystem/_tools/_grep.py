"""The `grep` tool."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._names import escaped
from tools_filesystem._search._engine import Order, find_rg, search
from tools_filesystem._search._path_pattern import PathPattern
from tools_filesystem._search._rows import WIDTH, FileRows, files_of, rows_of
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools_filesystem._paths._locate import Located
    from tools_filesystem._search._process import Answer

_MOST_SHOWN = 100_000  # characters of one result
_SNIFF = 64 << 10
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")


class Grep(FileTool):
    """Search file contents with a regular expression. To find files by name, use glob.

    Returns `path:line:text` for each matching line, or the matching files or counts (output_mode). Uses ripgrep: skips
    binary files, `.git` and what .gitignore names (pass such a folder as path to search it). Lines are cut at 500
    characters around the match.
    """

    read_only = True

    def diagnose(self) -> Mapping[str, object]:
        """Return the search program and its path."""
        program = find_rg(self.workspace_in(Context()))
        engine = "ripgrep" if program else "plain scan in Python: install ripgrep for speed, .gitignore and `type`"
        return {"grep_engine": engine, "programs": {"rg": program}}

    def execute(  # noqa: PLR0913, PLR0917  (its parameters are the model's words)
        self,
        pattern: Annotated[
            str,
            "Regular expression, matched line by line. Escape ( [ { . to match them literally.",
            Limits(max_length=10_000),
        ],
        path: Annotated[str, "Folder or file to search."] = ".",
        glob: Annotated[
            str,
            "Search only matching files, e.g. '*.{ts,tsx}', 'src/**/*.py'; '!*.min.js' skips.",
            Limits(max_length=4096),
        ] = "",
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
        is_excluded = glob.startswith("!")
        listed = PathPattern(glob.removeprefix("!"), anywhere=True) if glob else None
        names = listed.names_alone() if listed is not None and not type and not is_excluded else None
        order = Order(output_mode, pattern, ignore_case, context, tuple(names or ()), type)
        with self.access(call) as access, locate(access, path, repair=True) as start:
            head = b"" if start.is_folder else start.read_start(_SNIFF)
            if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
                return Result.ok(f"{path!r} is a binary file, which is not searched", metadata={"binary": 1})
            answer = search(start, order, access.workspace, call)
            found = _found(answer, output_mode, is_folder=start.is_folder)
            if listed is not None and start.is_folder and names is None:
                fits = listed.matches_any_of if is_excluded else listed.matches
                found = [file for file in found if fits(file.path) is not is_excluded]
            return _result(order, found, answer, start, limit=limit, offset=offset)


def _check(pattern: str) -> None:
    if not pattern:
        raise ToolError("pattern must not be empty; glob finds files by name", "validation_error")
    if "\n" in pattern or "\0" in pattern:
        message = "pattern must not contain line breaks or NUL characters: lines are searched one by one"
        raise ToolError(message, "validation_error")
    if any("\ud800" <= char <= "\udfff" for char in pattern):
        raise ToolError("pattern must not contain lone surrogates", "validation_error")


def _found(answer: Answer, mode: str, *, is_folder: bool) -> list[FileRows]:
    """Return the files with matches, sorted by path."""
    if mode == "content":
        files: Iterable[FileRows] = files_of(answer.output)
    elif mode == "files":
        files = [FileRows(path, 1, []) for path in answer.paths()]
    else:  # each path ends with a NUL, and has a count and a line break behind it
        files = [FileRows(os.fsdecode(path), int(count), []) for path, count in _COUNT.findall(answer.output)]
    return sorted(file._replace(path=answer.inner(file.path) if is_folder else "") for file in files)


def _result(order: Order, found: list[FileRows], answer: Answer, start: Located, *, limit: int, offset: int) -> Result:
    prefix = start.prefix if start.is_folder else start.shown
    is_content = order.mode == "content"
    matches = sum(file.matches for file in found)
    total = matches if is_content else len(found)
    facts: dict[str, Any] = {"matches": matches, "files": len(found), "total": total}
    notes = [start.note] if start.note else []
    if is_content:
        lines, reached, cut = _content(order, found, prefix, limit, offset)
        if cut:
            notes.append(f"lines longer than {WIDTH} characters are cut around the match: {cut}")
    else:
        some = found[offset : offset + limit]
        reached = offset + len(some)
        lines = [escaped(prefix + file.path) + f":{file.matches}" * (order.mode == "count") for file in some]
    where = f" in {len(found)} files" if is_content and len(found) > 1 else ""
    unit = f"matching lines{where}" if is_content else "files"
    facts |= answer.page(offset, reached, total, unit, notes)
    if not lines:
        none = "No matches so far" if answer.stopped else "No matches"
        lines = [f"{total} matches; offset {offset} is past the last" if total else none]
    return Result.ok("\n".join([*lines, *(f"[{note}]" for note in notes)]), metadata=facts)


def _content(order: Order, found: list[FileRows], prefix: str, limit: int, offset: int) -> tuple[list[str], int, int]:
    """Return the lines of a page, the offset of the next page, and the number of truncated lines.

    A line is `path:line:text`, or `path-line-text` around matches, with `--` where lines are left out between.
    """
    lines: list[str] = []
    skip, left, cut, room = offset, limit, 0, _MOST_SHOWN
    for file in found:
        if not left or room <= 0:
            break
        path, last = escaped(prefix + file.path), None
        rows = rows_of(file, skip, left, order.context)
        skip = max(0, skip - file.matches)
        for row in rows:
            if room <= 0:
                break
            if order.context and lines and (last is None or row.number > last + 1):
                lines.append("--")
            mark = ":" if row.is_match else "-"
            lines.append(f"{path}{mark}{row.number}{mark}{row.text}")
            last = row.number
            left -= row.is_match
            cut += row.is_cut
            room -= len(lines[-1])
    return lines, offset + limit - left, cut
