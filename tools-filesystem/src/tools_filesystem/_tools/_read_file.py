"""The `read_file` tool."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._ledger import ledger_of
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._resolve import closing
from tools_filesystem._reading import _pdf
from tools_filesystem._reading._lines import BUDGET
from tools_filesystem._reading._view import Page, View, view
from tools_filesystem._search._process import Command, run
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_filesystem._paths._access import Access

_PAGES = re.compile(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?", re.ASCII)
_NOTES = 500  # characters
_MAX_FILES = 50


class ReadFile(FileTool):
    """Read a file: text with line numbers, a notebook as cells with outputs, an image or a PDF. Or read several files.

    Returns up to 2,000 lines, 100 kB and 2,000 bytes of a line; a note says how to continue. Several files share the
    100 kB. To search in many files, use grep.
    """

    read_only = True

    def paths_in(self, arguments: Mapping[str, Any]) -> Sequence[Any] | None:
        """Return the paths, one or several."""
        path = arguments.get("path")
        return path if isinstance(path, list) else [path]

    def execute(
        self,
        path: Annotated[
            str | Annotated[list[str], Limits(min_length=1, max_length=_MAX_FILES)],
            "File path, relative to the workspace, or a list of paths.",
        ],
        offset: Annotated[int, "First line; a negative number counts from the end (-50: the last 50 lines)."] = 1,
        limit: Annotated[int, "Maximum number of lines.", Limits(ge=1)] = 2000,
        line_numbers: Annotated[bool, "Prefix each line with its number and a tab."] = True,
        pages: Annotated[str, "Pages of a PDF, such as 3 or 1-5: return their text.", Limits(max_length=20)] = "",
        *,
        context: Context,
    ) -> Result:
        page = Page("", "", offset or 1, limit, line_numbers, _room(context))
        with self.access(context) as access:
            if not isinstance(path, str):
                if pages:
                    raise ToolError("pages belong to one PDF: pass one path", "validation_error")
                return _several(access, path, page, context)
            if pages:
                return _pdf_text(access, path, pages, context)
            file_view = _view(access, path, page, context)
        if isinstance(file_view.content, str):
            result = Result.ok(_with_notes(file_view), metadata=file_view.facts)
        else:
            result = Result.ok(
                [file_view.content, *file_view.notes] if file_view.notes else file_view.content,
                metadata=file_view.facts,
            )
        if file_view.reading is not None:
            file_view.reading.show(result, context)
        return result


def _room(context: Context) -> int:
    """Return how many characters of lines fit into the result, so that the caller does not cut it."""
    most = context.max_characters
    return BUDGET if most is None else min(BUDGET, most - _NOTES)


def _view(access: Access, path: str, page: Page, context: Context) -> View:
    with locate(access, path, repair="case") as place, closing(place.open_file()) as file:
        file_view = view(file, page._replace(path=place.path, real=place.real), context, ledger_of(context.run_id))
    if place.note:
        file_view.facts["repaired_path"] = place.path
        file_view.notes.append(place.note)
    if file_view.notes:
        file_view.facts["note"] = "; ".join(file_view.notes)
    return file_view


def _with_notes(file_view: View) -> str:
    content = str(file_view.content) if isinstance(file_view.content, str) else ""
    if not file_view.notes:
        return content
    between = "" if not content or content.endswith("\n") else "\n"
    return f"{content}{between}[{'; '.join(file_view.notes)}]"


def _several(access: Access, paths: Sequence[str], page: Page, context: Context) -> Result:
    """Read files one after the other; each gets an equal part of the remaining room."""
    views: list[tuple[str, View]] = []
    room = page.room
    for number, path in enumerate(paths):
        head = f"==> {path} <==\n"
        share = room // (len(paths) - number) - len(head)
        try:
            file_view = _view(access, path, page._replace(room=share), context)
        except ToolError as error:
            file_view = View(f"[{error}]", {"error": str(error), "error_type": error.type}, [])
        text = head + _with_notes(file_view)
        views.append((text if text.endswith("\n") else f"{text}\n", file_view))
        room -= len(views[-1][0])
    facts = [{"path": path, **file_view.facts} for path, (_, file_view) in zip(paths, views, strict=True)]
    if all("error" in fact for fact in facts):
        raise ToolError("\n".join(f"{fact['path']}: {fact['error']}" for fact in facts), facts[0]["error_type"])
    is_text = all(isinstance(file_view.content, str) for _, file_view in views)
    parts = [
        part
        for text, file_view in views
        for part in (text, file_view.content)[: 2 - isinstance(file_view.content, str)]
    ]
    result = Result.ok("".join(map(str, parts)) if is_text else parts, metadata={"files": facts})
    begin = 0
    for text, file_view in views:
        if file_view.reading is not None:
            file_view.reading.moved(begin + text.index("\n") + 1).show(result, context)
        begin += len(text) + (not is_text)  # texts between other parts are joined by line feeds
    return result


def _pdf_text(access: Access, path: str, pages: str, context: Context) -> Result:
    span = _PAGES.fullmatch(pages.strip())
    first, last = (int(span[1]), int(span[2] or span[1])) if span else (0, 0)
    if not 1 <= first <= last:
        raise ToolError(f"pages must be a page or a range, such as '3' or '1-5', not {pages!r}", "validation_error")
    with locate(access, path, repair="case") as place, closing(place.open_file()) as file:
        program = [sys.executable, "-I", _pdf.__file__, str(file), str(first), str(last)]
        output = run(Command(program, files=(file,)), context)
    if output.code > 0:
        raise ToolError(
            output.complaints.strip()[-300:], "unavailable" if "needs pypdf" in output.complaints else "conflict"
        )
    text = output.output[:BUDGET].decode(errors="replace")
    is_cut = len(output.output) > BUDGET or output.stopped
    return Result.ok(f"{text}\n[truncated: ask for fewer pages]" if is_cut else text)
