"""The `read_file` tool."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._ledger import ledger_of
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._resolve import closing
from tools_filesystem._reading import _pdf
from tools_filesystem._reading._lines import BUDGET
from tools_filesystem._reading._view import Page, view
from tools_filesystem._search._process import Command, run
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from tools_filesystem._paths._access import Access

_PAGES = re.compile(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?", re.ASCII)
_NOTES = 500  # characters


class ReadFile(FileTool):
    """Read a file: text with line numbers, a notebook as cells with outputs, an image or a PDF.

    Returns up to 2,000 lines, 100 kB and 2,000 bytes of a line; a note says how to continue.
    To search in many files, use grep.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "File path, relative to the workspace."],
        offset: Annotated[int, "First line; a negative number counts from the end (-50: the last 50 lines)."] = 1,
        limit: Annotated[int, "Maximum number of lines.", Limits(ge=1)] = 2000,
        line_numbers: Annotated[bool, "Prefix each line with its number and a tab."] = True,
        pages: Annotated[str, "Pages of a PDF, such as 3 or 1-5: return their text.", Limits(max_length=20)] = "",
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access:
            if pages:
                return _pdf_text(access, path, pages, context)
            with locate(access, path, repair=True) as place, closing(place.open_file()) as file:
                page = Page(place.path, place.real, offset or 1, limit, line_numbers, _room(context))
                shown = view(file, page, context, ledger_of(context.run_id))
        content, facts, notes = shown.content, shown.facts, shown.notes
        if place.note:
            facts["repaired_path"] = place.path
            notes.append(place.note)
        if not isinstance(content, str):
            return Result.ok([content, *notes] if notes else content, metadata=facts)
        if notes:
            facts["note"] = "; ".join(notes)
            content += ("" if content.endswith("\n") else "\n") + f"[{facts['note']}]"
        if shown.reading is not None:
            shown.reading.show(content, context)
        return Result.ok(content, metadata=facts)


def _room(context: Context) -> int:
    """Return how many characters of lines fit into the result, so that the caller does not cut it."""
    most = context.max_characters
    return BUDGET if most is None else min(BUDGET, most - _NOTES)


def _pdf_text(access: Access, path: str, pages: str, context: Context) -> Result:
    span = _PAGES.fullmatch(pages.strip())
    first, last = (int(span[1]), int(span[2] or span[1])) if span else (0, 0)
    if not 1 <= first <= last:
        raise ToolError(f"pages must be a page or a range, such as '3' or '1-5', not {pages!r}", "validation_error")
    with locate(access, path, repair=True) as place, closing(place.open_file()) as file:
        program = [sys.executable, "-I", _pdf.__file__, str(file), str(first), str(last)]
        output = run(Command(program, files=(file,)), context)
    if output.code > 0:
        raise ToolError(
            output.complaints.strip()[-300:], "unavailable" if "needs pypdf" in output.complaints else "conflict"
        )
    text = output.output[:BUDGET].decode(errors="replace")
    is_cut = len(output.output) > BUDGET or output.stopped
    return Result.ok(f"{text}\n[truncated: ask for fewer pages]" if is_cut else text)
