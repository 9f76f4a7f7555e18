"""The `edit_file` tool."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._paths._locate import locate, lock
from tools_filesystem._tools._file_tool import FileTool
from tools_filesystem._writing._changes import Change, commit
from tools_filesystem._writing._diff import diff, line_numbers, replaced
from tools_filesystem._writing._edit import Edit, resolve
from tools_filesystem._writing._text import LARGEST, text_of

_MOST_LINES = 20  # numbers of lines in the result


class OneEdit(TypedDict):
    """One replacement of several."""

    old_string: str
    new_string: str
    replace_all: NotRequired[bool]


class EditFile(FileTool):
    """Replace exact text in a file. To change several files together, use apply_patch.

    old_string must occur exactly once, with its indentation and newlines, unless replace_all=true. With edits, all
    replacements are matched against the present file and made together, or none is. Returns a diff.
    """

    destructive = True

    def execute(
        self,
        path: Annotated[str, "File path, relative to the workspace."],
        old_string: Annotated[str, "Text to replace, without line numbers."] = "",
        new_string: Annotated[str, "Replacement text."] = "",
        replace_all: Annotated[bool, "Replace every occurrence."] = False,
        edits: Annotated[
            list[OneEdit], "Several replacements, instead of old_string and new_string.", Limits(max_length=200)
        ] = [],  # noqa: B006  (it is never changed)
        dry_run: Annotated[bool, "Only return the diff."] = False,
        *,
        context: Context,
    ) -> Result:
        wanted = _wanted(old_string, new_string, replace_all, edits)
        with self.access(context) as access, locate(access, path, write=True) as file:
            if not dry_run:
                lock(context, file)
            data, found = file.read(LARGEST)
            text = text_of(data, path)
            spans = resolve(text, wanted, path)
            lines = line_numbers(text.data, [span.start for span in spans])
            shown = diff(text, spans, path)
            if not dry_run:
                file.check_permitted("write_file with overwrite=true replaces it")
                new = text.restored(replaced(text.data, 0, len(text.data), spans))
                change = Change(place=file, data=new, found=found)
                commit([change], context)
                access.ledger(context).replace(found, change.state)
        facts = {"path": path, "replacements": len(spans), "lines": lines[:_MOST_LINES], "dry_run": dry_run}
        return Result.ok(f"{_summary(path, lines, dry_run=dry_run)}\n{shown}", metadata=facts)


def _wanted(old: str, new: str, replace_all: bool, edits: list[OneEdit]) -> list[Edit]:
    """Return the edits from either form of the arguments."""
    if edits and (old or new or replace_all):
        raise ToolError("give either edits or old_string and new_string, not both", "validation_error")
    wanted = [
        Edit(edit["old_string"], edit["new_string"], edit.get("replace_all", False), f"edits[{number}]: ")
        for number, edit in enumerate(edits)
    ] or [Edit(old, new, replace_all, "")]
    for edit in wanted:
        if not edit.old:
            problem = "old_string must not be empty: to insert, repeat the text beside the place in both strings"
            raise ToolError(edit.label + problem, "validation_error")
        if edit.old == edit.new:
            raise ToolError(f"{edit.label}old_string and new_string are the same", "validation_error")
    return wanted


def _summary(path: str, lines: list[int], *, dry_run: bool) -> str:
    places = "1 place" if len(lines) == 1 else f"{len(lines)} places"
    more = ", ..." if len(lines) > _MOST_LINES else ""
    where = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_MOST_LINES]))}{more}"
    if dry_run:
        return f"Would change {places} of {path!r} ({where}); nothing was written:"
    return f"Changed {places} of {path!r} ({where}):"
