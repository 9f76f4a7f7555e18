"""The `grep` tool."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._names import opened
from tools_filesystem._resolve import pin
from tools_filesystem._search._budget import Budget
from tools_filesystem._search._engines import OwnEngine, engine_for
from tools_filesystem._search._file_types import patterns_of
from tools_filesystem._search._regex import query
from tools_filesystem._search._ripgrep import EngineError, find_rg
from tools_filesystem._search._run import Search, Shape
from tools_filesystem._search._start import left_unseen, tell, why_nothing
from tools_filesystem._search._wanted import wanted_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_filesystem._search._engines import Choice, Engine
    from tools_filesystem._workspace import Workspace


class Grep(FileTool):
    """Search the contents of files of the workspace for a regular expression, line by line.

    Returns lines as `path:line:text`, with `-` for lines around them; or with output_mode the files that match, or how
    many lines match in each. When there is more than limit, the last line says how much and how to go on. The syntax is
    that of RE2 and Rust: no look-around, no back-references. Binary files, what ignore files name, and hidden files are
    left out; links are not followed. Long lines are shown around the match.
    """

    read_only = True

    def __init__(self, workspace: Workspace | str | os.PathLike[str] | None = None, *, engine: Choice = "auto") -> None:
        super().__init__(workspace)
        self.engine: Choice = engine

    def diagnose(self) -> Mapping[str, object]:
        """The engine that looks for a regular expression here, and where `rg` is."""
        call = Context()
        workspace = self.workspace_in(call)
        facts: dict[str, object] = {"programs": {"rg": find_rg(workspace)}}
        try:
            asked = query("a+b", is_fixed=False, ignore_case=False)
            return {"grep_engine": engine_for(self.engine, asked, Budget(call), workspace).name, **facts}
        except ToolError as error:  # plain text can be searched all the same
            return {"grep_engine": f"plain text alone: {error}", **facts}

    def execute(  # noqa: PLR0913, PLR0917  (its parameters are the model's words)
        self,
        pattern: Annotated[str, "The regular expression to search for."],
        path: Annotated[str, "A folder or a file, relative to the workspace."] = ".",
        glob: Annotated[str | list[str], "Only files like `*.py` or `src/**/*.ts`; `!*.min.js` leaves out."] = "",
        type: Annotated[str, "Only files of this type: py, js, ts, rust, go, java, markdown, ..."] = "",
        output_mode: Annotated[
            Literal["content", "files", "count"], "Matching lines, files that match, or matching lines per file."
        ] = "content",
        fixed_strings: Annotated[bool, "pattern is plain text and no regular expression."] = False,
        ignore_case: Annotated[bool, "Upper and lower case are the same."] = False,
        before: Annotated[int, "Lines to show before each match.", Limits(ge=0, le=50)] = 0,
        after: Annotated[int, "Lines to show after each match.", Limits(ge=0, le=50)] = 0,
        context: Annotated[int, "Lines to show before and after each match.", Limits(ge=0, le=50)] = 0,
        limit: Annotated[int, "The most matching lines, or files, to return.", Limits(ge=1, le=10_000)] = 100,
        offset: Annotated[int, "How many to leave out, to go on.", Limits(ge=0, le=1_000_000)] = 0,
        max_columns: Annotated[int, "The most characters of a line to show.", Limits(ge=20, le=10_000)] = 500,
        ignore: Annotated[bool, "Leave out what ignore files name."] = True,
        hidden: Annotated[bool, "Search hidden files and folders, too."] = False,
        *,
        call: Context,
    ) -> Result:
        asked = query(pattern, is_fixed=fixed_strings, ignore_case=ignore_case)
        globs = [one for one in ([glob] if isinstance(glob, str) else glob) if one]
        wanted = wanted_for(globs, patterns_of(type) if type else (), hidden=hidden)
        shape = Shape(output_mode, limit, offset, max(before, context), max(after, context), max_columns)
        budget = Budget(call)

        def search_with(engine: Engine) -> Search:
            search = Search(engine, shape, budget)
            if stat.S_ISDIR(os.fstat(start.descriptor).st_mode):
                search.in_folder(start, wanted, ignore=ignore)
            else:
                search.in_file(start)
            return search

        with self.access(call) as access, explained(access, path):
            engine = engine_for(self.engine, asked, budget, access.workspace)
            start = opened(access, path, pin)
            try:
                search = search_with(engine)
            except EngineError as error:
                if self.engine == "rg":
                    raise ToolError(f"{error}; leave the choice of the engine to the tool", "unavailable") from error
                search = search_with(OwnEngine(asked, budget))
            finally:
                os.close(start.descriptor)
        again = {"pattern": pattern, "path": path, "glob": glob, "type": type, "output_mode": output_mode,
                 "fixed_strings": fixed_strings, "ignore_case": ignore_case, "before": before, "after": after,
                 "context": context, "limit": limit, "offset": search.reached, "max_columns": max_columns,
                 "ignore": ignore, "hidden": hidden}  # fmt: skip
        facts, notes = _facts(search, budget, again)
        if start.note:
            notes.insert(0, start.note)
        if not search.lines:
            search.lines.append(_nothing(search, pattern, path, hidden=hidden))
        return Result.ok("\n".join([*search.lines, *(f"[{note}]" for note in notes)]), metadata=facts)


def _facts(search: Search, budget: Budget, again: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What there is to say besides the lines, for a program and for a reader."""
    is_whole = search.is_whole and budget.stopped is None
    facts: dict[str, Any] = {"matches": search.matches, "files": search.files, "engine": search.engine.name}
    facts |= {"total": search.total, "is_total_exact": is_whole, "truncated": False}
    notes: list[str] = []
    first, last, total = search.shape.offset + 1, search.reached, search.total
    if not is_whole or last < total:
        facts["truncated"] = True
    if last >= first and last < total:
        facts["next"] = again
        unit = "matching lines" if search.shape.mode == "content" else "files"
        least = "" if is_whole else "at least "
        where = f" in {search.files} files" if search.shape.mode == "content" and search.files > 1 else ""
        notes.append(f"{first} to {last} of {least}{total} {unit}{where}; go on with offset={last}")
    if search.is_binary:
        facts["binary"] = 1
    tell(facts, notes, "binary", search.binary, "binary files were not searched")
    long = f"lines are longer than {search.shape.width} characters and shown in part"
    tell(facts, notes, "clamped", search.clamped, long)
    tell(facts, notes, "changed", search.changed, "files changed while they were searched: their lines are not shown")
    return facts, notes + left_unseen(search.skipped, budget, facts)


def _nothing(search: Search, pattern: str, path: str, *, hidden: bool) -> str:
    if search.total > search.shape.offset:
        return f"{search.total} match {pattern!r} in {path!r}, of which none could be shown"
    if search.total:
        return f"{search.total} match {pattern!r} in {path!r}; offset {search.shape.offset} is past the last"
    if search.is_binary:
        return f"{path!r} is a binary file, which is not searched"
    return f"No lines match {pattern!r} in {path!r}{why_nothing(search.skipped, hidden=hidden)}"
