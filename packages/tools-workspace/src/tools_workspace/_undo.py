"""Undo the latest changesets, and ask about files that changed since."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tools_core import Context
from tools_core.command import CommandError, counted, reserved_terminal, write, write_json
from tools_core.text import visible
from tools_workspace._apply import Conflicts
from tools_workspace._checkpoint import Checkpoint
from tools_workspace._history import Changeset, local_time
from tools_workspace._tree import WorkspaceError
from tools_workspace._workspace import Workspace

if TYPE_CHECKING:
    Ask = Callable[[str], str | None]  # shows a prompt, and returns the line that the person types

_COMMITS = re.compile(r"commit [0-9a-f]{7} |\d+ commits: ")
_MAX_NAMES = 20
_MENU = """\
k  keep {}, and undo the rest
o  overwrite {}; your version is saved, and can be brought back
n  undo nothing"""


def configure_undo(parser: ArgumentParser) -> None:
    """Add the arguments of `undo`."""
    parser.description = "Restore the files from before the last turn of an agent, or the last applied preview."
    parser.epilog = (
        "A turn is a prompt of ask-tools run or chat with all that its calls and commands changed, commits included.\n"
        "A file that changed since is not overwritten without a question; without a terminal nothing is undone then.\n"
        "Exit codes: 0 success, 1 a file changed since, or there is nothing to undo.\n\nexamples:\n"
        "  ask-tools undo\n  ask-tools undo 3          (the last three)\n  ask-tools undo --list"
    )
    parser.add_argument(
        "what", metavar="N|ID", nargs="?", default="1", help="how many, or which one; by default the last"
    )
    parser.add_argument("--list", action="store_true", help="list turns and applied previews of the workspace")
    text = "give up an application or undo that cannot finish: its files stay unchanged"
    parser.add_argument("--abandon", action="store_true", help=text)
    parser.add_argument("--workspace", metavar="DIR", help="the workspace; by default the current folder")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Undo, list or abandon changesets."""
    try:
        workspace = Workspace(options.workspace)
        completed = Checkpoint(workspace).complete()
        if options.list:
            _list(workspace, options)
        elif options.abandon:
            changeset = workspace.abandon(None if options.what == "1" else options.what)
            _print(changeset, [*changeset.notes, f"abandoned {changeset.id}"], options)
        else:
            with reserved_terminal(Context()) as ask:
                for changeset in undo_last(workspace, options.what, ask, completed=completed):
                    _print(changeset, undone_lines(changeset), options)
    except WorkspaceError as error:
        raise CommandError(str(error), status=1) from error
    return 0


def undo_last(
    workspace: Workspace, selection: str, ask: Ask | None, *, completed: Changeset | None = None
) -> Iterator[Changeset]:
    """Undo the last changesets, or the one with an id, and yield each; ask a person about files that changed since.

    The person also confirms the undo of a turn that was killed, which `Checkpoint.complete` has returned as
    `completed`: what was changed later is part of it. Raises WorkspaceError if nothing is undone, also if the person
    wants that.
    """
    is_number = selection.isdecimal() and len(selection) < 7
    ids: Sequence[str | None] = [None] * int(selection) if is_number else [selection]
    if not ids:
        raise WorkspaceError(f"undo {selection}: how many? At least 1")
    if completed is not None and selection != completed.id:
        _check_completed(completed, ask)
    for number, id in enumerate(ids):
        try:
            yield workspace.undo(id, conflicts=partial(ask_about_conflicts, ask=ask))
        except WorkspaceError as error:
            if not number:
                raise
            raise WorkspaceError(f"{counted(number, 'changeset')} of {len(ids)} undone; then: {error}") from error


def ask_about_conflicts(paths: Sequence[str], ask: Ask | None) -> Conflicts:
    """Ask a person what becomes of files that changed since; nobody, or no answer, undoes nothing."""
    if ask is None:
        return "refuse"
    names = [f"  {visible(path)}" for path in paths[:_MAX_NAMES]]
    more = [f"  and {len(paths) - _MAX_NAMES} more"] if len(paths) > _MAX_NAMES else []
    them = "it" if len(paths) == 1 else "them"
    title = f"{counted(len(paths), 'file')} changed after the agent's change:"
    prompt = "\n".join([title, *names, *more, _MENU.format(them, them), "answer: "])
    answers: dict[str, Conflicts] = {"k": "keep", "o": "overwrite", "n": "refuse"}
    while (line := ask(prompt)) is not None and line:
        if (answer := answers.get(line.strip().lower()[:1])) is not None:
            return answer
        prompt = "answer (k, o or n): "
    return "refuse"


def undone_lines(changeset: Changeset) -> list[str]:
    """Return what was undone, for a person."""
    source = f"the turn {visible(changeset.title)!r}" if not changeset.copy else "a preview"
    time = local_time(changeset.time)
    lines = [f"undone {counted(len(changeset.changes), 'change')} of {source}, {time}"]
    lines += [f"  {line}" for line in (*changeset.changes, *changeset.notes)]
    is_kept = any(".git: it was changed" in note for note in changeset.notes)
    if any(map(_COMMITS.match, changeset.changes)) and not is_kept:
        lines.append("  its commits are undone as well: the repository is where it was before")
    return lines


def _check_completed(changeset: Changeset, ask: Ask | None) -> None:
    """Let a person confirm the undo of a turn that was killed."""
    lines = [
        "the last turn was killed; these changes are since its begin, yours included:",
        *(f"  {line}" for line in changeset.changes),
    ]
    if ask is None:
        raise WorkspaceError("\n".join([*lines, f"to undo them: ask-tools undo {changeset.id}"]))
    if not (ask("\n".join([*lines, "undo them? (y/n) "])) or "").strip().lower().startswith("y"):
        raise WorkspaceError("nothing was undone")


def _list(workspace: Workspace, options: Namespace) -> None:
    changesets = workspace.changesets()
    if options.json:
        write_json([changeset.to_dict() for changeset in changesets])
    else:
        write("\n".join(map(str, changesets)) or f"nothing to undo in {workspace.path}")


def _print(changeset: Changeset, lines: Sequence[str], options: Namespace) -> None:
    if options.json:
        write_json(changeset.to_dict())
    else:
        write("\n".join(lines))
