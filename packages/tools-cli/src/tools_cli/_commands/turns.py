"""The turns of a session, each with the workspace from before it, to undo what the agent and its commands changed."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from tools_cli._commands.modes import stays_inside
from tools_core import InvalidArguments
from tools_core.command import counted
from tools_core.files import protected_part
from tools_core.text import visible
from tools_runtime.approval import Line, block
from tools_runtime.hookspecs import hookimpl
from tools_workspace import Checkpoint, Workspace, WorkspaceError

if TYPE_CHECKING:
    from tools_agent import Store
    from tools_cli._terminal._progress import Output
    from tools_core import ApprovalRequest, Context, Effects, Tool, ToolCall
    from tools_runtime import Policy
    from tools_workspace import Changeset

_REPORTED = 500  # copied files between two reports
_MAX_NAMES = 10  # of folders that are left out


class Turns:
    """A plugin of an agent that makes a checkpoint right before the first call of a turn that may change something.

    So a turn that only reads costs nothing.

    Attributes:
        is_auto: Calls that stay in the workspace run without a question, if they can be undone.
        error: Why the present turn cannot be undone; empty if it can.
    """

    def __init__(self, workspace: str, store: Store, output: Output, *, is_auto: bool = False) -> None:
        self.error, self.is_auto = "", is_auto
        self._workspace = workspace
        self._output = output
        self._lock = Lock()  # of calls that begin at the same time
        self._store = [os.path.realpath(str(store)) + end for end in ("", "-wal", "-shm", "-journal")]
        self._checkpoint = Checkpoint(Workspace(workspace), leave_out=self._store, on_progress=self._report)
        self._turn: tuple[str, str] | None = None
        self._is_remembered = False
        self._left_out: list[str] = []

    def begin(self, title: str, session: str) -> None:
        """Begin a turn in the workspace."""
        self._turn, self._is_remembered, self.error = (title, session), False, ""

    @hookimpl
    def start_tool_call(self, call: ToolCall, tool: Tool, context: Context) -> None:
        """Remember the workspace before a call that may change something."""
        try:
            hints = tool.effects(tool.valid_arguments(call), context).annotations
        except InvalidArguments:
            return  # the call does not run, and its result says why
        if not hints.get("read_only") or hints.get("open_world"):
            self.remember()

    def remember(self) -> bool:
        """Make the checkpoint of the turn unless there is one; return whether the turn can be undone."""
        with self._lock:
            if self._turn is not None and not self._is_remembered and not self.error:
                self._remember(*self._turn)
            return self._is_remembered

    def allows(self, request: ApprovalRequest, policy: Policy) -> bool:
        """Return whether a call runs without a question: it stays in the workspace, and can be undone.

        A call that names a protected file, which programs outside run or trust, does not.
        """
        is_inside = self.is_auto and stays_inside(request, policy, self._workspace)
        return is_inside and not self._names_protected(request.effects) and self.remember()

    def end(self) -> Changeset | None:
        """End the turn; return its changes, or None without changes."""
        with self._lock:
            is_remembered, self._turn, self._is_remembered = self._is_remembered, None, False
            if not is_remembered:
                return None
            try:
                return self._checkpoint.end()
            except WorkspaceError as error:
                self._note(f"{error}; ask-tools undo completes the turn")
                return None

    def close(self) -> None:
        """Let other processes begin turns."""
        self._checkpoint.__exit__(None, None, None)

    def _names_protected(self, effects: Effects) -> bool:
        folder = os.path.realpath(self._workspace)
        words = [word for command in effects.commands or () for word in command if word]
        paths = [os.path.relpath(path, folder) for path in effects.paths or ()]
        return any(protected_part(os.path.normpath(path)) for path in (*paths, *words))

    def _remember(self, title: str, session: str) -> None:
        try:
            killed = self._checkpoint.begin(title, session=session)
        except WorkspaceError as error:
            self.error = str(error)
            changes = ", so each change needs approval" if self.is_auto else ""
            self._note(f"this turn cannot be undone{changes}: {error}")
            return
        finally:
            self._output.report("")
        self._is_remembered = True
        if killed is not None:
            count = counted(len(killed.changes), "change")
            self._note(f"an earlier turn was killed; it has {count}, to undo them: ask-tools undo {killed.id}")
        if names := [name for name in self._checkpoint.left_out if self._is_news(name)]:
            self._left_out += names
            more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            self._note(f"undo leaves out: {', '.join(map(visible, names[:_MAX_NAMES]))}{more}")

    def _is_news(self, name: str) -> bool:
        """Return whether a path that is left out was not named, and is not the store of sessions."""
        return name not in self._left_out and str(Path(self._workspace).resolve() / name) not in self._store

    def _report(self, done: int, total: int) -> None:
        if done and done % _REPORTED == 0:
            self._output.report("remembering the workspace", f"{done:,} of {total:,} files")

    def _note(self, text: str) -> None:
        self._output.show(block(text, "  ", "note"))


def undo_lines(changeset: Changeset, command: str) -> list[Line]:
    """Return the lines that say how a turn is undone, and what stays."""
    lines = [f"{counted(len(changeset.changes), 'change')} in this turn; to undo: {command}", *changeset.notes]
    return [Line.of("note", line) for line in lines]
