"""The `read_files` tool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._ledger import ledger_of
from tools_filesystem._names import opened
from tools_filesystem._read._lines import BUDGET
from tools_filesystem._read._reading import Wanted, read
from tools_filesystem._read._source import SECONDS
from tools_filesystem._resolve import open_regular

if TYPE_CHECKING:
    from typing import Any

    from tools_filesystem._access import Access


class ReadFiles(FileTool):
    """Read several text files of the workspace in one call, each from its beginning.

    Each file follows a header with its path, between marks that occur in none of the files. All files together
    show at most 100 kB, shared among them; what is left out is said together with the arguments of read_file that
    read on. A path that cannot be read is told in its place, and hides none of the others; only if none can be
    read does the call fail.
    """

    read_only = True

    def execute(
        self,
        paths: Annotated[list[str], "The files, relative to the workspace.", Limits(min_length=1, max_length=50)],
        limit: Annotated[int, "The most lines of each file.", Limits(ge=1)] = 2000,
        line_numbers: Annotated[bool, "Put its number and a tab in front of each line."] = False,
        *,
        context: Context,
    ) -> Result:
        texts: list[str] = []
        facts: list[dict[str, Any]] = []
        left = BUDGET
        if context.deadline is None:
            context = context.for_call(SECONDS)  # all together may take as long as one file alone
        with self.access(context) as access:
            for index, path in enumerate(paths):
                share = left // (len(paths) - index)  # what one file leaves is for those after it
                result = _one(access, path, Wanted(limit=limit, line_numbers=line_numbers, budget=share), context)
                texts.append(str(result))
                facts.append(_entry(path, result))
                left -= min(share, len(texts[-1].encode()) if result.ok else 0)
        text = _framed(paths, texts)
        if not any(entry["ok"] for entry in facts):
            return Result.error(text, type=facts[0]["error_type"], metadata={"files": facts})
        return Result.ok(text, metadata={"files": facts})


def _one(access: Access, path: str, wanted: Wanted, context: Context) -> Result:
    try:
        with explained(access, path):
            file = opened(access, path, open_regular)
            try:
                return read(file, wanted, context, ledger_of(access, context))
            finally:
                os.close(file.descriptor)
    except ToolError as error:
        return Result.error(str(error), type=error.type)


def _entry(path: str, result: Result) -> dict[str, Any]:
    if result.ok:
        return {"path": path, "ok": True, **result.metadata}
    return {"path": path, "ok": False, "error_type": result.error_type, "error": result.error}


def _framed(paths: list[str], texts: list[str]) -> str:
    """The texts, each below a header that none of them can imitate."""
    fence, number = "===", 0
    while any(fence in text for text in texts):
        number += 1
        fence = f"=={number}=="
    parts: list[str] = []
    for path, text in zip(paths, texts, strict=True):
        ending = "" if text.endswith("\n") else "\n"
        parts.append(f"{fence} {path!r} {fence}\n{text}{ending}")
    return "".join(parts)
