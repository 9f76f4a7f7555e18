"""`ask-tools changes` and `apply`: show copies of the workspace, and apply their changes."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace

from tools_core import Context, Question
from tools_core.command import (
    CommandError,
    ProgressLine,
    answer_on_terminal,
    counted,
    is_terminal,
    write,
    write_json,
    write_table,
)
from tools_workspace._change import Change
from tools_workspace._history import local_time
from tools_workspace._tree import WorkspaceError
from tools_workspace._undo import configure_undo
from tools_workspace._workspace import Workspace, WorkspaceCopy, WorkspaceTooLargeError

__all__ = ["configure_apply", "configure_changes", "configure_undo"]


def configure_changes(parser: ArgumentParser) -> None:
    """Add the arguments of `changes`."""
    parser.description = "Show what tools changed in a copy of the workspace."
    parser.epilog = (
        "Exit codes: 0 success, 1 the copy cannot be made or read, 2 wrong usage.\n\nexamples:\n"
        "  ask-tools changes --new\n  ask-tools changes --stat\n  ask-tools changes --discard"
    )
    _add_copy(parser)
    parser.add_argument("--new", action="store_true", help="copy the workspace first, and print the path of the copy")
    text = "with --new: share this folder with the original instead of copying it, such as node_modules"
    parser.add_argument("--ignore", metavar="DIR", action="append", default=[], help=text)
    parser.add_argument("--list", action="store_true", help="list the copies of the workspace")
    parser.add_argument("--stat", action="store_true", help="a line for each change, without the diff")
    parser.add_argument("--discard", action="store_true", help="remove the copy with its changes")
    parser.set_defaults(run=_changes)


def configure_apply(parser: ArgumentParser) -> None:
    """Add the arguments of `apply`."""
    parser.description = "Apply the changes of a copy to the workspace."
    parser.epilog = (
        "Nothing is applied if an original changed meanwhile, or the copy since ask-tools changes showed it.\n"
        "Protected files, which programs run or trust, need a name, a yes or --protected. ask-tools undo restores the\n"
        "old content.\n"
        "Exit codes: 0 success, 1 a conflict or a file that cannot be written, 2 wrong usage.\n\nexamples:\n"
        "  ask-tools apply\n  ask-tools apply src README.md --keep"
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="apply the changes of these files and folders alone")
    _add_copy(parser)
    parser.add_argument("--keep", action="store_true", help="keep the copy although all changes are applied")
    parser.add_argument("--protected", action="store_true", help="apply changes of protected files without a question")
    parser.set_defaults(run=_apply, intermixed=True)


def _add_copy(parser: ArgumentParser) -> None:
    parser.add_argument("--copy", metavar="ID", help="the copy; by default the latest of the workspace")
    parser.add_argument("--workspace", metavar="DIR", help="the workspace; by default the current folder")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _copy_of(options: Namespace) -> WorkspaceCopy:
    workspace = Workspace(options.workspace)
    copies = workspace.copies()
    matches = [copy for copy in copies if options.copy in (None, copy.id)]
    if not matches:
        names = f"copies: {', '.join(copy.id for copy in copies)}" if copies else "make one: ask-tools changes --new"
        raise CommandError(f"{workspace.path} has no copy {options.copy or ''}".rstrip(), names)
    return matches[0]


def _changes(options: Namespace) -> int:
    if options.list:
        return _list_copies(options)
    try:
        copy = _new_copy(options) if options.new else _copy_of(options)
        if options.new and not options.json:
            write(copy.path)
            return 0
        if options.discard:
            copy.discard()
            write(f"discarded the copy {copy.id}")
            return 0
        changes = copy.changes()
        copy.record_shown(changes)
    except WorkspaceError as error:
        raise CommandError(str(error), status=1) from error
    if options.json:
        write_json({"copy": copy.id, "path": copy.path, "not_copied": copy.not_copied, "changes": changes.to_list()})
    else:
        write(changes.summary() if options.stat or not changes else changes.diff())
    return 0


def _new_copy(options: Namespace) -> WorkspaceCopy:
    """Copy the workspace, with progress on a terminal; ask there about a large one."""
    workspace = Workspace(options.workspace)

    def copy(**limit: None) -> WorkspaceCopy:
        if not is_terminal(sys.stderr):
            return workspace.copy(ignore=options.ignore, **limit)
        with ProgressLine() as line:
            report = lambda done, total: line(done, total, "files copied")  # noqa: E731
            return workspace.copy(ignore=options.ignore, on_progress=report, **limit)

    try:
        return copy()
    except WorkspaceTooLargeError as error:
        text = f"{str(error).partition(':')[0]}: copy it?"
        question = Question(text, choices=("yes", "no"), tool="changes", context=Context())
        if answer_on_terminal(question) != "yes":
            raise CommandError(text, "--ignore DIR shares large folders", status=1) from error
    return copy(limit=None)


def _list_copies(options: Namespace) -> int:
    copies = Workspace(options.workspace).copies()
    if options.json:
        write_json([{"copy": copy.id, "path": copy.path, "time": copy.time} for copy in copies])
    else:
        write_table([("COPY", "CREATED", "PATH"), *((copy.id, local_time(copy.time), copy.path) for copy in copies)])
    return 0


def _apply(options: Namespace) -> int:
    copy = _copy_of(options)
    try:
        changes = copy.changes()
        copy.check_shown(changes)
        paths = [_inside(copy, path) for path in options.paths]
        selected = changes.select(paths) if paths else list(changes)
        selected, left = (selected, []) if options.protected else _confirmed(selected, paths)
        changeset = copy.apply(selected, shown=changes, title="ask-tools apply")
        if not copy.changes() and not options.keep:
            copy.discard()
    except WorkspaceError as error:
        raise CommandError(str(error), f"the copy is in {copy.path}", status=1) from error
    if options.json:
        applied = changeset.to_dict() if changeset else None
        write_json({"copy": copy.id, "changeset": applied, "not_applied": [change.path for change in left]})
        return 0
    if changeset is not None:
        write("\n".join(changeset.changes))
        write(f"applied {counted(len(changeset.changes), 'change')}; to undo: ask-tools undo {changeset.id}")
    elif not left:
        write("no changes")
    if left:
        write("\n".join(["not applied, unless you name it or pass --protected:", *map(str, left)]))
    return 0


def _inside(copy: WorkspaceCopy, path: str) -> str:
    """Return a path as changes name it: relative to the workspace."""
    return os.path.normpath(os.path.relpath(path, copy.workspace.path) if os.path.isabs(path) else path)


def _confirmed(selected: list[Change], named: list[str]) -> tuple[list[Change], list[Change]]:
    """Ask on the terminal about protected changes that are not named; return the changes to apply, and the others."""
    protected = [change for change in selected if change.mark == "protected" and change.path not in named]
    if not protected:
        return selected, []
    lines = "\n".join(["programs run or trust these files:", *map(str, protected), "apply them, too?"])
    question = Question(lines, choices=("yes", "no"), tool="apply", context=Context())
    if answer_on_terminal(question) == "yes":
        return selected, []
    return [change for change in selected if change not in protected], protected
