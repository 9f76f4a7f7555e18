"""The `edit_file` tool."""

from __future__ import annotations

from typing import Annotated

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._ledger import Content, ledger_of
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._located import lock
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._changes import Change, commit
from tools_filesystem._writing._diff import diff, line_numbers, replaced
from tools_filesystem._writing._edit import resolve
from tools_filesystem._writing._text import MAX_SIZE, text_of

_MAX_LINES = 20  # numbers of lines in the result


class EditFile(FileTool):
    """Replace exact text in a file, and return a diff. To change several files together, use apply_patch.

    old_string must occur exactly once, with its indentation and newlines, unless replace_all=true.
    """

    destructive = True

    def execute(
        self,
        path: Annotated[str, "File path, relative to the workspace."],
        old_string: Annotated[str, "Text to replace, without line numbers.", Limits(min_length=1)],
        new_string: Annotated[str, "Replacement text."],
        replace_all: Annotated[bool, "Replace every occurrence."] = False,
        dry_run: Annotated[bool, "Only return the diff."] = False,
        *,
        context: Context,
    ) -> Result:
        if old_string == new_string:
            raise ToolError("old_string and new_string are the same", "validation_error")
        with self.access(context) as access, locate(access, path, write=True) as file:
            if not dry_run:
                lock(context, file)
            data, state = file.read(MAX_SIZE)
            text = text_of(data, path)
            spans = resolve(text, old_string, new_string, path, replace_all=replace_all)
            lines = line_numbers(text.data, [span.start for span in spans])
            changes = diff(text, spans, path)
            if not dry_run:
                file.check_permitted("write_file with overwrite=true replaces it")
                new = text.restored(replaced(text.data, 0, len(text.data), spans))
                change = Change(place=file, data=new, status=state)
                commit([change], context)
                after = None if change.state is None else Content(file.real, change.state, new)
                ledger_of(context.run_id).replace(Content(file.real, state, data), after)
        facts = {"path": path, "replacements": len(spans), "lines": lines[:_MAX_LINES], "dry_run": dry_run}
        facts |= access.warnings()
        return Result.ok(f"{_summary(path, lines, dry_run=dry_run)}\n{changes}", metadata=facts)


def _summary(path: str, lines: list[int], *, dry_run: bool) -> str:
    places = "1 place" if len(lines) == 1 else f"{len(lines)} places"
    more = ", ..." if len(lines) > _MAX_LINES else ""
    place = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_MAX_LINES]))}{more}"
    if dry_run:
        return f"Would change {places} of {path!r} ({place}); nothing was written:"
    return f"Changed {places} of {path!r} ({place}):"
