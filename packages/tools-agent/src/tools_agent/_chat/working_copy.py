"""`WorkingCopy`: turns work in the workspace, or during a preview in a copy of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tools_core import ApprovalRequest
from tools_core.command import CommandError, counted
from tools_core.files import is_inside


class WorkingCopy:
    """The workspace of the chat, and its copy, which lasts until its changes are applied or discarded."""

    def __init__(self, workspace: str, *, is_preview: bool) -> None:
        self.workspace = workspace
        self.is_preview = is_preview
        self.changes = 0  # at the end of the last turn
        self._copy: Any = None

    @property
    def folder(self) -> str:
        """The folder of the next turn, if it exists already."""
        return self._copy.path if self.is_preview and self._copy else self.workspace

    @property
    def status(self) -> str:
        """The state of the preview, for the status line."""
        changes = f", {counted(self.changes, 'change')}" if self.changes else ""
        return f"preview on{changes}" if self.is_preview else f"preview off{changes}"

    def covers(self, request: ApprovalRequest) -> bool:
        """Return whether a call of a preview touches files of the copy alone."""
        effects = request.effects
        is_inner = bool(effects.paths) and all(is_inside(path, [self.folder]) for path in effects.paths or ())
        return self.is_preview and self._copy is not None and effects.commands == () and is_inner

    def toggle(self) -> None:
        """Let the next turns work in the copy, or in the workspace. Raises CommandError without tools-workspace."""
        _module()
        self.is_preview = not self.is_preview

    async def prepare(self, report: Callable[[int, int], object]) -> str:
        """Return the folder of a turn; during a preview the copy, which is new if there was none."""
        if self.is_preview and self._copy is None:
            original = _module().Workspace(self.workspace)
            self._copy = await _in_thread(original.copy, on_progress=report)
        return self.folder

    async def compare(self) -> Any:
        """Return the changes in the copy; an empty list without one."""
        changes: Any = await _in_thread(self._copy.changes) if self._copy else []
        self.changes = len(changes)
        return changes

    async def apply(self, paths: Sequence[str] | None, title: str) -> Any:
        """Apply all changes, or the changes of some paths, and return the changeset; an empty copy is removed."""
        changeset = await _in_thread(self._copy.apply, paths, title=title)
        if not await self.compare():
            await self.discard()
        return changeset

    async def discard(self) -> None:
        """Remove the copy with its changes."""
        copy, self._copy, self.changes = self._copy, None, 0
        if copy is not None:
            await _in_thread(copy.discard)

    async def undo(self) -> Any:
        """Restore what the latest application changed, and return its changeset."""
        return await _in_thread(_module().Workspace(self.workspace).undo)

    async def close(self) -> str:
        """Discard a copy without changes; return the command that applies the changes of another one."""
        if not await self.compare():
            await self.discard()
            return ""
        return f"ask-tools apply --copy {self._copy.id}"


async def _in_thread(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    try:
        return await asyncio.to_thread(function, *arguments, **options)
    except _module().WorkspaceError as error:
        raise CommandError(str(error)) from error


def _module() -> Any:
    try:
        import tools_workspace  # the extra `preview`
    except ImportError as error:
        raise CommandError("previews and /undo need tools-workspace", "pip install tools-workspace") from error
    return tools_workspace
