"""Run an agent in a copy of the workspace, and let a person decide about its changes."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tools_agent import Session
from tools_cli._commands.modes import stays_inside
from tools_cli._terminal._prompt import TerminalDialog, terminal_dialog
from tools_core import Context
from tools_core.command import CommandError, counted, note
from tools_core.text import visible
from tools_runtime.approval import Line, block
from tools_workspace import Workspace, WorkspaceError, WorkspaceTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from tools_agent import Store
    from tools_cli._terminal._progress import Output
    from tools_cli._terminal._prompt import Dialog
    from tools_core import ApprovalRequest
    from tools_runtime import Policy
    from tools_runtime.approval import Style
    from tools_workspace import Change, Changes, WorkspaceCopy

    OpenDialog: TypeAlias = Callable[[Context], AbstractContextManager[Dialog | None]]

MAX_CHANGES = 50  # that are listed at first
MAX_LINES = 200  # of a diff that is shown at once
_REPORTED = 500  # copied files between two reports
_MAX_NAMES = 10  # of files that are not copied
_MAX_SESSIONS = 20  # that are searched for copies
_CHANGE_STYLES: Mapping[str, Style] = {"added": "added", "deleted": "removed"}
_DIFF_STYLES: Mapping[str, Style] = {"+": "added", "-": "removed", "@": "hunk"}
_MENU = """\
a  apply all changes
s  apply some: s FILE ..., or their numbers
d  show the diff
p  another prompt: the agent continues in the copy
k  keep the copy, and decide later
x  discard all changes"""


class Preview:
    """A copy of the workspace for one session, which continues in it until the copy is applied or discarded."""

    def __init__(
        self,
        workspace: str,
        session: Session,
        output: Output,
        dialog: OpenDialog = terminal_dialog,
        *,
        ignore: Sequence[str] = (),
    ) -> None:
        """Open the session's copy, or copy the workspace; ask in a dialog before a large one is copied.

        Folders to `ignore` are not copied: tools read the original ones.
        Raises CommandError if it cannot be copied.
        """

        def report(done: int, total: int) -> None:
            if done % _REPORTED == 0:
                output.report("copying the workspace", f"{done:,} of {total:,} files")

        try:
            place = Workspace(workspace)
            earlier = next((copy for copy in place.copies() if copy.id == _copy_id(session)), None)
            self.copy = earlier or _copy(place, report, dialog, ignore)
        except WorkspaceError as error:
            raise CommandError(str(error), status=1) from error
        finally:
            output.report("")
        self.path: str = self.copy.path
        self._session = session
        self._runs = {session.key}  # of the agent and its sub-agents, for jobs in the copy
        if earlier is None:
            session.log.write([("preview", {"copy": self.copy.id})])
            if names := self.copy.not_copied:
                more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
                note(f"not copied: {', '.join(map(visible, names[:_MAX_NAMES]))}{more}")
        else:
            note(f"the session continues in the copy {self.path}")

    @property
    def is_open(self) -> bool:
        """True until all changes are applied or discarded."""
        return Path(self.path).exists()

    def allows(self, request: ApprovalRequest, policy: Policy) -> bool:
        """Return whether a call runs without a question: it stays in the copy."""
        self._runs.add(request.context.run_id)
        return stays_inside(request, policy, self.path)

    def decide(self, dialog: Dialog) -> str | None:
        """End the jobs in the copy, show its changes, and apply or discard them as a person answers.

        Return another prompt for the agent. Without an answer the copy stays open. A copy without changes is discarded.
        """
        self._end_jobs()
        changes = self._show_changes(dialog)
        if not changes:
            return None
        dialog.show([Line("text", ""), *block(_MENU, "  ")])
        while (line := dialog.ask("what to do with the changes? ")) is not None:
            key, _, rest = line.strip().partition(" ")
            if key == "p":
                if prompt := rest.strip() or (dialog.ask("prompt: ") or "").strip():
                    return prompt
            elif key == "d":
                changes = self.copy.changes()
                dialog.show(_diff_lines(changes))
            elif key in ("a", "s"):
                words = None if key == "a" else _words(rest or dialog.ask("files, folders or numbers: ") or "")
                changes = self._apply(changes, words, dialog)
                if not changes:
                    return None
            elif key == "x":
                self.copy.discard()
                dialog.show([Line("note", "discarded the copy")])
                return None
            elif key == "k":
                break
            else:
                dialog.show(block(_MENU, "  "))
        return None

    def _end_jobs(self) -> None:
        """End what the agent and its sub-agents still run, so that the copy does not change while a person reads."""
        for name, module in sys.modules.copy().items():
            if "." not in name and "end_run" in getattr(module, "__dict__", {}).get("__all__", ()):
                for run in self._runs:
                    module.end_run(run)

    def _show_changes(self, dialog: Dialog) -> Changes:
        """Show the changes, with their diff unless it is long; discard a copy without changes."""
        changes: Changes = self.copy.changes()
        if changes:
            lines = _diff_lines(changes)
            dialog.show([*self._summary(changes), *(lines if len(lines) <= MAX_LINES else ())])
        else:
            self.copy.discard()
            dialog.show([Line("note", "no changes in the copy")])
        return changes

    def _apply(self, changes: Changes, words: Sequence[str] | None, dialog: Dialog) -> Changes:
        """Apply changes that were shown, by names and numbers, or all; show and return the changes that remain."""
        if words == []:
            return changes
        try:
            paths = None if words is None else _named(changes, words)
            selected = self._confirmed(list(changes) if paths is None else changes.select(paths), paths or (), dialog)
            changeset = self.copy.apply(selected, shown=changes, title="preview", session=self._session.id)
        except WorkspaceError as error:
            dialog.show(block(str(error), "  ", "error"))
            is_current = self.copy.changes().fingerprints == changes.fingerprints
            return changes if is_current else self._show_changes(dialog)
        undo = shlex.join(["ask-tools", "undo", *([changeset.id] if changeset else []), *self._place()])
        count = len(changeset.changes) if changeset else 0
        dialog.show([Line.of("note", f"applied {counted(count, 'change')}; to undo: {undo}")])
        rest: Changes = self.copy.changes()
        if rest:
            dialog.show(list(self._summary(rest)))
        else:
            self.copy.discard()
        return rest

    def _confirmed(self, selected: list[Change], named: Sequence[str | Change], dialog: Dialog) -> list[Change]:
        """Ask about changes of protected files that the person did not name; return the changes to apply."""
        protected = [change for change in selected if change.mark == "protected" and change.path not in named]
        if not protected:
            return selected
        dialog.show(block("\n".join(map(str, protected)), "  "))
        answer = dialog.ask(f"apply {counted(len(protected), 'protected change')}, too? (y/n) ")
        is_confirmed = (answer or "").strip().lower().startswith("y")
        return selected if is_confirmed else [change for change in selected if change not in protected]

    def _summary(self, changes: Changes) -> Iterator[Line]:
        entries = changes.entries()
        yield Line.of("title", f"{counted(len(entries), 'change')} in the copy:")
        marked = sum(entry.mark != "" for entry in entries)  # the first ones, which are always shown
        for number, entry in enumerate(entries[: max(MAX_CHANGES, marked)], 1):
            kind = "changed" if entry.is_repository else entry.changes[0].kind
            yield Line.of(_CHANGE_STYLES.get(kind, "hunk"), entry.text, f"  {number:>2}  ")
        if len(entries) > max(MAX_CHANGES, marked):
            yield Line("note", f"… and {len(entries) - max(MAX_CHANGES, marked)} more", "      ")

    def finish(self) -> str | None:
        """Let a person on the terminal decide; without a terminal print the changes, and keep the copy.

        Return another prompt if the agent should continue.
        """
        self._end_jobs()
        with terminal_dialog(Context()) as dialog:
            if dialog is not None and (prompt := self.decide(dialog)):
                return prompt
            if dialog is None:
                self._show_changes(TerminalDialog(lambda _: None))
        self.leave()
        return None

    def leave(self) -> None:
        """Discard a copy without changes; for another one print the commands that show, apply and discard it."""
        if self.is_open and not self.copy.changes():
            self.copy.discard()
        if self.is_open:
            option = shlex.join(["--copy", self.copy.id, *self._place()])
            note(
                f"the copy stays in {self.path}, until a week after its last use\n  apply: ask-tools apply {option}\n"
                f"  look: ask-tools changes {option}; discard: ask-tools changes --discard {option}"
            )

    def _place(self) -> list[str]:
        """Return the option that names the workspace; nothing in the workspace."""
        original = self.copy.workspace.path
        return [] if os.path.realpath(os.curdir) == original else ["--workspace", original]


def _copy(
    place: Workspace, report: Callable[[int, int], object], dialog: OpenDialog, ignore: Sequence[str]
) -> WorkspaceCopy:
    """Copy a workspace, and ask first if it is large."""
    try:
        return place.copy(ignore=ignore, on_progress=report)
    except WorkspaceTooLargeError as error:
        size = str(error).partition(":")[0]
        with dialog(Context()) as person:
            answer = person.ask(f"{size}: copy it? (y/n) ") if person else None
        if not answer or not answer.strip().lower().startswith("y"):
            fix = "--workspace DIR names a smaller folder; --ignore DIR shares large ones"
            raise CommandError(f"{size}: it was not copied", fix, status=1) from error
        return place.copy(ignore=ignore, limit=None, on_progress=report)


def has_copy(session: Session, workspace: str) -> bool:
    """Return whether a session has a copy that is neither applied nor discarded."""
    if (id := _copy_id(session)) is None:
        return False
    return any(copy.id == id for copy in Workspace(workspace).copies())


def unfinished(store: Store, workspace: str) -> list[str]:
    """Return the sessions of a workspace whose copies are neither applied nor discarded."""
    copies = {copy.id for copy in Workspace(workspace).copies()}
    sessions = store.sessions() if copies else []
    names = [session.id for session in sessions if session.metadata.get("workspace") == workspace]
    return [name for name in names[:_MAX_SESSIONS] if _copy_id(Session.open(store, name)) in copies]


def _copy_id(session: Session) -> str | None:
    """Return the id of the last copy that a session worked in; None if it never did."""
    return next((record.data["copy"] for record in reversed(session.history) if record.kind == "preview"), None)


def _diff_lines(changes: Changes) -> list[Line]:
    """Return the diff of all changes."""
    return [Line.of(_DIFF_STYLES.get(line[:1], "text"), line, "  │ ") for line in changes.diff().split("\n")]


def _named(changes: Changes, words: Sequence[str]) -> list[str | Change]:
    """Return the paths that a person names; the number of a commit stands for all files of its repository."""
    numbers = {str(number): entry for number, entry in enumerate(changes.entries(), 1)}
    names: list[str | Change] = []
    for word in words:
        entry = numbers.get(word)
        names += [word] if entry is None else entry.changes if entry.is_repository else [entry.changes[0].path]
    return names


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quote
        return line.split()
