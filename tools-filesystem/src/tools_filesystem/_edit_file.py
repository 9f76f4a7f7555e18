"""The `edit_file` tool."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._atomic import put
from tools_filesystem._edit._hunks import diff
from tools_filesystem._edit._plan import Edit, check_edit, resolve
from tools_filesystem._edit._splice import Span, moved, splice
from tools_filesystem._edit._text_file import TextFile
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._ledger import Ledger, Stamp, ledger_of
from tools_filesystem._names import meant_place
from tools_filesystem._overwrite import check_version
from tools_filesystem._read._version import check_unchanged, version_of
from tools_filesystem._step import open_in
from tools_filesystem._target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

_LARGEST = 4 << 30  # bytes of a file that is edited
_SMALL = 4 << 20  # bytes of a file whose version is told: of a larger one it would cost a second pass
_MOST_LINES = 20  # numbers of lines in the result


_All = Annotated[bool, "Replace every occurrence of old_string."]
_Nth = Annotated[int, "Replace only this one of them; 1 is the first.", Limits(ge=1, le=100_000)]


class OneEdit(TypedDict):
    """One replacement of several."""

    old_string: Annotated[str, "The exact text to replace."]
    new_string: Annotated[str, "What to put in its place."]
    replace_all: NotRequired[_All]
    occurrence: NotRequired[_Nth]


class EditFile(FileTool):
    """Replace exact text in a file of the workspace, once or in several places, all at once or not at all.

    old_string must be in the file exactly once, with every space and newline, unless replace_all or occurrence is
    given. Give either old_string and new_string, or edits for several replacements in one call: all of them are
    matched against the file as it is now, and none is made unless all fit. Nothing else in the file changes, neither
    its line endings nor its encoding nor its permissions. Returns a short diff; with dry_run=true nothing is written.
    """

    destructive = True

    def execute(  # noqa: PLR0913  (the names are those that models know)
        self,
        path: Annotated[str, "The file, relative to the workspace."],
        old_string: Annotated[str | None, "The exact text to replace."] = None,
        new_string: Annotated[str | None, "What to put in its place."] = None,
        replace_all: _All = False,
        occurrence: _Nth | None = None,
        edits: Annotated[
            list[OneEdit] | None, "Several replacements, in place of old_string.", Limits(min_length=1, max_length=200)
        ] = None,
        dry_run: Annotated[bool, "Only show what would change."] = False,
        version: Annotated[str | None, "Edit the file only if this is the version of what it contains now."] = None,
        *,
        context: Context,
    ) -> Result:
        wanted = _one_form(old_string, new_string, replace_all, occurrence, edits)
        with (
            self.access(context) as access,
            explained(access, path),
            Target(meant_place(access, path, write=True), make=False) as target,
        ):
            if not dry_run:
                target.lock(context)
            descriptor = open_in(target.folder, target.name)
            try:
                file = _checked(target, TextFile(descriptor, path), version)
                spans = resolve(file, wanted)
                lines = file.lines_of([span.start for span in spans[:_MOST_LINES]])
                shown = diff(file, spans, lines)  # before it is done: a failure now is the truth
                made = None if dry_run else _write(target, file, spans, version)
            finally:
                os.close(descriptor)
            facts: dict[str, Any] = {"path": path, "replacements": len(spans), "lines": lines, "dry_run": dry_run}
            if made is not None:
                state, facts["version"] = made
                _remember(ledger_of(access, context), file, Stamp.of(state), spans)
        return Result.ok(f"{_summary(facts)}\n{shown}", metadata=facts)


def _one_form(
    old: str | None, new: str | None, replace_all: bool, occurrence: int | None, edits: list[OneEdit] | None
) -> list[Edit]:
    """The edits, whichever way they were given."""
    if edits is not None:
        if old is not None or new is not None or replace_all or occurrence is not None:
            raise ToolError("give either edits or old_string and what belongs to it, not both", "validation_error")
        wanted = [
            Edit(edit["old_string"], edit["new_string"], edit.get("replace_all", False), edit.get("occurrence"),
                 f"edits[{number}]: ")
            for number, edit in enumerate(edits)
        ]  # fmt: skip
    elif old is None or new is None:
        raise ToolError("give old_string and new_string, or edits for several replacements", "validation_error")
    else:
        wanted = [Edit(old, new, replace_all, occurrence, "")]
    for edit in wanted:
        check_edit(edit)
    return wanted


def _checked(target: Target, file: TextFile, version: str | None) -> TextFile:
    """The same file, when it may be edited."""
    if file.size > _LARGEST:
        message = f"{file.path!r} has {file.size} bytes; the most that is edited are {_LARGEST}"
        raise ToolError(message, "limit_exceeded")
    if version is not None:
        check_version(target.folder, target.name, file.path, version)
    return file


def _write(
    target: Target, file: TextFile, spans: Sequence[Span], version: str | None
) -> tuple[os.stat_result, str | None]:
    """Put the new content in place, and tell its state and version."""
    if version is None and file.size <= _SMALL:
        version = version_of(file.descriptor)
    # What the version is of, and what was searched, must be one and the same.
    check_unchanged(target.folder, target.name, file.path, file.found)
    made: str | None = None

    def fill(new: int) -> int:
        nonlocal made
        size = splice(file.descriptor, file.size, spans, new)
        if size <= _SMALL:
            made = version_of(new)
        return size

    before = functools.partial(check_unchanged, target.folder, target.name, file.path, file.found, version)
    return put(target.folder, target.name, fill, file.found, before), made


def _remember(ledger: Ledger, file: TextFile, now: Stamp, spans: Sequence[Span]) -> None:
    """What the session knew of the file before it knows still, and it knows what it put in."""
    then = Stamp.of(file.found)
    ledger.record_all(now, moved(ledger.shown_of(then), file.size, spans))
    ledger.forget(then)


def _summary(facts: dict[str, Any]) -> str:
    count, lines = facts["replacements"], facts["lines"]
    places = "1 place" if count == 1 else f"{count} places"
    where = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}{' ...' if count > len(lines) else ''}"
    if facts["dry_run"]:
        return f"Would change {places} of {facts['path']!r} ({where}); nothing was written:"
    version = f"; its version is now {facts['version']}" if facts["version"] else ""
    return f"Changed {places} of {facts['path']!r} ({where}){version}:"
