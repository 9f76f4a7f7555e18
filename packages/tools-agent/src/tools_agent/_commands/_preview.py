"""Run an agent in a copy of the workspace, and let a person decide about its changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core import Context, Question
from tools_core.command import CommandError, answer_on_terminal, counted, note
from tools_core.files import is_inside

if TYPE_CHECKING:
    from tools_core import ApprovalRequest

SHOWN = 50  # changes that are printed one by one


class Preview:
    """A copy of the workspace for one run."""

    def __init__(self, workspace: str, ask: Any) -> None:
        try:
            from tools_workspace import Workspace, WorkspaceError
        except ImportError as error:
            raise CommandError("--preview needs tools-workspace", "pip install tools-workspace") from error
        self._ask = ask
        self._errors = WorkspaceError
        try:
            self._copy = Workspace(workspace).copy()
        except WorkspaceError as error:
            raise CommandError(str(error), status=1) from error
        self.path = self._copy.path

    def approve(self, request: ApprovalRequest) -> Any:
        """Approve a call that only touches the copy; ask about any other, such as a command."""
        effects = request.effects
        if effects.commands == () and effects.paths and all(is_inside(path, [self.path]) for path in effects.paths):
            return "once"
        return self._ask(request)

    def finish(self) -> None:
        """Print the changes, and apply, keep or discard them as the person answers; without a terminal keep them."""
        changes = self._copy.changes()
        if not changes:
            self._copy.discard()
            note("the preview has no changes")
            return
        note(f"{counted(len(changes), 'change')} in the copy {self.path}:")
        note("\n".join(f"  {change}" for change in changes[:SHOWN]))
        if len(changes) > SHOWN:
            note(f"  and {len(changes) - SHOWN} more: ask-tools changes --stat")
        question = Question(
            "what to do with the changes?",
            choices=("apply", "diff", "keep", "discard"),
            tool="preview",
            context=Context(),
        )
        while (answer := answer_on_terminal(question)) == "diff":
            note(changes.diff())
        if answer == "apply":
            self._apply()
        elif answer == "discard":
            self._copy.discard()
            note("discarded")
        else:
            note(f"kept; look: ask-tools changes --copy {self._copy.id}; apply: ask-tools apply --copy {self._copy.id}")

    def _apply(self) -> None:
        try:
            changeset = self._copy.apply(title="ask-tools run --preview")
        except self._errors as error:
            raise CommandError(str(error), f"the copy is in {self.path}", status=1) from error
        self._copy.discard()
        note(f"applied; to undo: ask-tools undo {changeset.id if changeset else ''}")
