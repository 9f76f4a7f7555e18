"""The `edit_file` tool."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from tools_core import Context, Result, ToolError
from tools_filesystem._ledger import Content, ledger_of
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._located import lock
from tools_filesystem._tools._check import checked
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._cells import cell_of
from tools_filesystem._writing._changes import Change, commit, other_names
from tools_filesystem._writing._diff import Span, diff, line_numbers, replaced
from tools_filesystem._writing._edit import resolve
from tools_filesystem._writing._text import MAX_SIZE, Text, text_of

_MAX_LINES = 20  # numbers of lines in the result


class EditFile(FileTool):
    """Replace exact text in a file, and return a diff. To change several files together, use apply_patch.

    old_string must occur exactly once, with its indentation and newlines, unless replace_all=true. Of a notebook, edit
    one cell by its number.
    """

    destructive = True

    def execute(
        self,
        path: Annotated[str, "File path, relative to the workspace."],
        old_string: Annotated[str, "Text to replace, without line numbers; empty for a whole cell."],
        new_string: Annotated[str, "Replacement text."],
        replace_all: Annotated[bool, "Replace every occurrence."] = False,
        dry_run: Annotated[bool, "Only return the diff."] = False,
        cell: Annotated[int, "Number of a notebook's cell, as read_file shows it; 0: no cell."] = 0,
        *,
        context: Context,
    ) -> Result:
        if not old_string and not cell:
            raise ToolError("old_string must not be empty; write_file creates files", "validation_error")
        if old_string == new_string:
            raise ToolError("old_string and new_string are the same", "validation_error")
        real = ""
        with self.access(context) as access, locate(access, path, write=True, repair="spelling") as file:
            if not dry_run:
                lock(context, file)
            data, state = file.read(MAX_SIZE)
            edit = _edited(data, path, old_string, new_string, cell, replace_all=replace_all)
            if not dry_run:
                file.check_permitted("write_file with overwrite=true replaces it")
                change, real = Change(place=file, data=edit.parts, status=state), file.real
                commit([change], context, is_locked=True)
                after = None if change.state is None else Content(real, change.state, edit.parts)
                ledger_of(context.run_id).replace(Content(real, state, [data]), after)
        lines = edit.lines
        facts = {"path": path, "replacements": len(lines), "lines": lines[:_MAX_LINES], "dry_run": dry_run}
        facts |= {"cell": cell} if cell else {}
        notes = [f"[{note}]" for note in (edit.note, file.note, "" if dry_run else other_names(state)) if note]
        if not dry_run and (remark := checked(file.root.real, [real], context)):
            notes.append(remark)
        text = "\n".join([_summary(path, lines, dry_run=dry_run), edit.diff, *notes])
        return Result.ok(text, metadata=facts | access.warnings())


class _Edit(NamedTuple):
    """The parts of the new content, the changed lines, their diff, and how the place differs from the old text."""

    parts: list[bytes | memoryview]
    lines: list[int]
    diff: str
    note: str


def _edited(data: bytes, path: str, old: str, new: str, cell: int, *, replace_all: bool) -> _Edit:
    text = file_text = text_of(data, path)
    place = None
    if cell:
        path = f"{path}, cell {cell}"
        place = cell_of(file_text.decoded(file_text.data), cell, path)
        text = Text(place.source.encode(), "utf-8")
    note = "the outputs of the cell belong to its old source" if place is not None and place.has_outputs else ""
    if old:
        spans, differs = resolve(text, old, new, path, replace_all=replace_all)
        note = "; ".join(filter(None, (differs, note)))
    else:
        spans = [Span(0, len(text.data), new.encode())]
    parts: list[bytes | memoryview] = replaced(text.data, 0, len(text.data), spans)
    if place is not None:
        parts = [file_text.encoded(place.replaced(file_text.decoded(file_text.data), b"".join(parts).decode()))]
    if file_text.wide is not None:
        parts = [file_text.restored(b"".join(parts))]
    lines = line_numbers(text.data, [span.start for span in spans])
    return _Edit(parts, lines, diff(text, spans, lines, path), note)


def _summary(path: str, lines: list[int], *, dry_run: bool) -> str:
    places = "1 place" if len(lines) == 1 else f"{len(lines)} places"
    more = ", ..." if len(lines) > _MAX_LINES else ""
    place = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_MAX_LINES]))}{more}"
    if dry_run:
        return f"Would change {places} of {path!r} ({place}); nothing was written:"
    return f"Changed {places} of {path!r} ({place}):"
