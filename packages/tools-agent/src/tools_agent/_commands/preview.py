"""Run an agent in a copy of the workspace, and let a person decide about its changes."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from tools_agent._terminal._prompt import TerminalDialog, show
from tools_agent._terminal._style import Line
from tools_core import Context
from tools_core.command import CommandError, counted, load_tools, note, reserved_terminal
from tools_core.files import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools_agent import Session
    from tools_agent._terminal._prompt import Dialog
    from tools_core import ApprovalRequest, Effects, Tool
    from tools_runtime import Policy
    from tools_workspace import Changes

MAX_CHANGES = 50  # that are listed at first
MAX_LINES = 200  # of a diff that is shown at once
_CONFINED = ("required", "bubblewrap", "landlock")  # levels that refuse to run a command without a sandbox
_VARIABLE = "ASK_TOOLS_ISOLATION"
_STYLES = {"added": "added", "deleted": "removed"}
_MENU = """\
  a  apply all changes
  s  apply some: s FILE ...
  d  show the diff
  p  another prompt: the agent continues in the copy
  k  keep the copy, and decide later
  x  discard all changes"""


class Preview:
    """A copy of the workspace for one session, which continues in it until the copy is applied or discarded."""

    def __init__(self, workspace: str, session: Session) -> None:
        try:
            from tools_workspace import Workspace, WorkspaceError
        except ImportError as error:
            raise CommandError("--preview needs tools-workspace", "pip install 'tools-agent[preview]'") from error
        self._error = WorkspaceError
        try:
            place = Workspace(workspace)
            earlier = next((copy for copy in place.copies() if copy.id == copy_id(session)), None)
            self.copy = earlier or place.copy()
        except WorkspaceError as error:
            raise CommandError(str(error), status=1) from error
        self.path = self.copy.path
        if earlier is None:
            session.log.write([("preview", {"copy": self.copy.id})])
        else:
            note(f"the session continues in the copy {self.path}")

    def load_tools(self, patterns: Sequence[str] | None) -> Mapping[str, Tool]:
        """Load tools whose commands run in a sandbox, if this machine has one."""
        if os.environ.get(_VARIABLE):
            return load_tools(patterns)
        os.environ[_VARIABLE] = "required"
        tools = load_tools(patterns)
        if "bash" in tools and not tools["bash"].call({"command": "true"}, Context(workspace=self.path)).ok:
            del os.environ[_VARIABLE]
            note("no sandbox on this machine: commands need approval")
            return load_tools(patterns)
        return tools

    def allows(self, request: ApprovalRequest, policy: Policy) -> bool:
        """Return whether a call touches nothing but the copy, and no rule of the user decides about it."""
        evaluation = policy.evaluate(request.call, request.tool, request.context)
        if evaluation.rule is not None or len(evaluation.reasons) > 1:
            return False
        effects = request.effects
        is_local = effects.commands == () and effects.paths and all(is_inside(p, [self.path]) for p in effects.paths)
        return bool(is_local or _is_confined(effects))

    def summary(self, changes: Changes) -> Iterator[Line]:
        """Yield a line for each change."""
        yield Line.of("title", f"{counted(len(changes), 'change')} in the copy {self.path}:")
        for change in changes[:MAX_CHANGES]:
            yield Line.of(_STYLES.get(change.kind, "hunk"), str(change), "  ")  # type: ignore[arg-type]
        if len(changes) > MAX_CHANGES:
            yield Line("note", f"… and {len(changes) - MAX_CHANGES} more", "  ")

    def finish(self) -> str | None:
        """Show the changes, and apply, keep or discard them as the person answers; without a terminal keep them.

        Return another prompt if the agent should continue.
        """
        changes = self.copy.changes()
        if not changes:
            self.copy.discard()
            note("the preview has no changes")
            return None
        lines = diff_lines(changes)
        show([*self.summary(changes), *(lines if len(lines) <= MAX_LINES else ())])
        with reserved_terminal(Context()) as ask:
            if ask is not None:
                return self._decide(TerminalDialog(ask))
        self.keep()
        return None

    def _decide(self, dialog: Dialog) -> str | None:
        note(_MENU)
        while (line := dialog.ask("what to do with the changes? ")) is not None:
            key, _, rest = line.strip().partition(" ")
            if key == "p":
                if prompt := rest.strip() or (dialog.ask("prompt: ") or "").strip():
                    return prompt
            elif key == "d":
                dialog.show(diff_lines(self.copy.changes()))
            elif key in ("a", "s"):
                if self._apply(None if key == "a" else _words(rest or dialog.ask("files and folders: ") or "")):
                    return None
            elif key == "x":
                self.copy.discard()
                note("discarded the copy")
                return None
            elif key == "k":
                break
            else:
                note(_MENU)
        self.keep()
        return None

    def _apply(self, paths: Sequence[str] | None) -> bool:
        """Apply changes, and return True if no other change remains."""
        if paths == []:
            return False
        try:
            changeset = self.copy.apply(paths, title="ask-tools run --preview")
        except self._error as error:
            note(f"error: {error}")
            return False
        place = shlex.join(["--workspace", self.copy.workspace.path])
        option = "" if os.path.realpath(os.curdir) == self.copy.workspace.path else f" {place}"
        count = len(changeset.changes) if changeset else 0
        note(f"applied {counted(count, 'change')}; to undo: ask-tools undo {changeset.id if changeset else ''}{option}")
        rest = self.copy.changes()
        if rest:
            show(list(self.summary(rest)))
            return False
        self.copy.discard()
        return True

    def keep(self) -> None:
        """Print how to look at the copy later, and how to apply or discard it."""
        words = ["--copy", self.copy.id]
        if os.path.realpath(os.curdir) != self.copy.workspace.path:
            words += ["--workspace", self.copy.workspace.path]
        option = shlex.join(words)
        note(
            f"the copy stays; apply: ask-tools apply {option}\n"
            f"  look: ask-tools changes {option}; discard: ask-tools changes --discard {option}"
        )


def copy_id(session: Session) -> str | None:
    """Return the id of the last copy that a session worked in; None if it never did."""
    return next((record.data["copy"] for record in reversed(session.history) if record.kind == "preview"), None)


def has_copy(session: Session, workspace: str) -> bool:
    """Return whether a session has a copy that is neither applied nor discarded."""
    if (id := copy_id(session)) is None:
        return False
    from tools_workspace import Workspace  # it was installed

    return any(copy.id == id for copy in Workspace(workspace).copies())


def diff_lines(changes: Changes) -> list[Line]:
    """Return the diff of all changes."""
    styles: dict[str, Any] = {"+": "added", "-": "removed", "@": "hunk"}
    return [Line.of(styles.get(line[:1], "text"), line, "  │ ") for line in changes.diff().split("\n")]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quote
        return line.split()


def _is_confined(effects: Effects) -> bool:
    """Return whether commands run in a sandbox that has nothing but the workspace to change, and no network."""
    sandbox = effects.settings.get("sandbox")
    if not isinstance(sandbox, dict) or effects.settings.get("root") is not None:
        return False
    return sandbox.get("level") in _CONFINED and not sandbox.get("network") and not sandbox.get("writable")
