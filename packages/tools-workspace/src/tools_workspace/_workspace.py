"""A workspace and its copies."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from types import TracebackType
from typing import Any, Self

from tools_core.files import cache_path, is_inside, replace, state_path, user_folders, workspace_path
from tools_workspace import _apply, _history
from tools_workspace._changes import Change, Changes, compare, stamps
from tools_workspace._history import Changeset, changesets, new_id
from tools_workspace._tree import State, WorkspaceError, copy_tree, fingerprint, is_git_index, locked, remove_tree, scan

SIZE_LIMIT = 5_000_000_000  # bytes of a workspace that is copied without a question


class WorkspaceTooLargeError(WorkspaceError):
    """A workspace has more bytes than the limit of its copies."""


class Workspace:
    """A folder that tools work in: `$ASK_TOOLS_WORKSPACE` or the current folder by default.

    Applied changes can be undone for `keep_days`, and as long as all of them take less than `keep_bytes`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        keep_days: float = 30,
        keep_bytes: int = 2_000_000_000,
    ) -> None:
        self.path = os.path.realpath(workspace_path(folder))
        if not os.path.isdir(self.path):
            raise WorkspaceError(f"{self.path} is not a folder")
        self.keep_days, self.keep_bytes = keep_days, keep_bytes

    def __repr__(self) -> str:
        return f"Workspace({self.path!r})"

    def copy(
        self,
        *,
        ignore: Iterable[str] = (),
        limit: int | None = SIZE_LIMIT,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> WorkspaceCopy:
        """Copy the workspace into the user's cache, with its modes, times and links.

        Args:
            ignore: Folders that are not copied, such as `node_modules`: the copy has a link to the original folder, and
                changes in it are changes of the original.
            limit: Bytes from which a workspace is refused; None for no limit.
            on_progress: Receives the number of copied entries and of all entries.

        Raises:
            WorkspaceTooLargeError: The workspace is larger than `limit`.
            WorkspaceError: The workspace cannot be read or copied.
        """
        shared = sorted({os.path.normpath(path) for path in ignore if os.path.isdir(os.path.join(self.path, path))})
        for path in shared:
            if os.path.isabs(path) or path.split(os.sep)[0] in ("..", "."):
                raise WorkspaceError(f"ignore={path!r} is not in the workspace: name folders relative to it")
        # If the workspace is the user's home: neither earlier copies, nor the files that decide what tools may do.
        private = [_copies_folder(), *user_folders()]
        skip = [*shared, *(os.path.relpath(path, self.path) for path in private if is_inside(path, [self.path]))]
        os.makedirs(_copies_folder(), mode=0o700, exist_ok=True)
        _history.remove_incomplete(_copies_folder(), "copy.json")
        originals = {path: State.of(info) for path, info in scan(self.path, skip)}
        size = sum(state.size for state in originals.values() if state.kind == "file")
        if limit is not None and size > limit:
            raise WorkspaceTooLargeError(
                f"{self.path} has {size:,} bytes in {len(originals):,} files: "
                "pass limit=None to copy it anyway, or ignore= for folders to share"
            )
        folder = os.path.join(_copies_folder(), new_id())
        tree = os.path.join(folder, os.path.basename(self.path) or "workspace")
        os.makedirs(folder, mode=0o700)
        try:
            special = copy_tree(self.path, tree, originals, skip, on_progress)
            for path in shared:
                os.symlink(os.path.join(self.path, path), os.path.join(tree, path))
            head = {"workspace": self.path, "path": tree, "time": time.time(), "skip": skip, "special": special}
            records = {
                path: fingerprint(os.path.join(tree, path)) if is_git_index(path) else state
                for path, state in originals.items()
                if state.kind != "special"
            }
            for name, content in (("originals", records), ("stamps", stamps(tree, skip)), ("copy", head)):
                replace(os.path.join(folder, f"{name}.json"), json.dumps(content).encode())
        except BaseException as error:
            remove_tree(folder)
            if isinstance(error, OSError):
                raise WorkspaceError(f"the workspace cannot be copied: {error}") from error
            raise
        return WorkspaceCopy(self, head)

    def copies(self) -> list[WorkspaceCopy]:
        """Return the copies of this workspace that were not discarded, the latest first."""
        result = []
        for id in _history.names_in(_copies_folder()):
            try:
                head = _read(os.path.join(_copies_folder(), id), "copy")
            except FileNotFoundError:
                continue  # being made or removed, or killed meanwhile
            if head["workspace"] == self.path:
                result.append(WorkspaceCopy(self, head))
        return result

    def changesets(self) -> list[Changeset]:
        """Return the applied changes, the latest first."""
        return changesets(self.path)

    def undo(self, id: str | None = None) -> Changeset:
        """Restore the content from before a changeset, by default the latest applied one, and return it.

        Raises:
            ConflictError: A file changed since; nothing was undone.
            WorkspaceError: There is nothing to undo, or a file cannot be written.
        """
        with self._locked():
            id = _history.open_changeset(self.path, id).id
            _apply.undo(id)
            return _history.open_changeset(self.path, id)

    def _locked(self) -> Any:
        name = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        return locked(state_path(os.path.join("locks", f"{name}.lock")))


class WorkspaceCopy:
    """A copy of a workspace, whose `path` is the workspace of tools and agents; `os.fspath(copy)` is the path.

    `not_copied` names the sockets, pipes and devices that the copy lacks; `time` is in seconds since 1970. As a context
    manager the copy is discarded in the end, unless an exception leaves the block.
    """

    def __init__(self, workspace: Workspace, head: Mapping[str, Any]) -> None:
        self.workspace = workspace
        self.path: str = head["path"]
        self.time: float = head["time"]
        self.not_copied: list[str] = head["special"]
        self._skip: list[str] = head["skip"]
        self._folder = os.path.dirname(self.path)
        self.id = os.path.basename(self._folder)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<copy {self.id} of {self.workspace.path} in {self.path}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.discard()

    def changes(self) -> Changes:
        """Return the differences that tools made in the copy and that the workspace does not have."""
        try:
            before = _read(self._folder, "stamps")
        except FileNotFoundError as error:
            raise WorkspaceError(f"the copy {self.id} was discarded") from error
        try:
            return compare(self.workspace.path, self.path, before, self._skip)
        except OSError as error:  # such as a folder that tools made unreadable
            raise WorkspaceError(f"the copy cannot be read: {error.strerror}: {error.filename}") from error

    def apply(self, paths: Iterable[str] | None = None, *, title: str = "", session: str = "") -> Changeset | None:
        """Apply all changes, or the changes of some files and folders, to the workspace.

        The workspace is changed file by file, and each file is either old or new at any time. After a kill, the next
        `apply` or `undo` reverts the interrupted one first. Returns None if there is nothing to apply. The changeset
        records `title`, such as the command, and `session`, the session of an agent.

        Raises:
            ConflictError: An original changed since the copy was made; nothing was applied.
            WorkspaceError: A path names no change, or a file could not be written; nothing was applied.
        """
        with self.workspace._locked():
            for changeset in self.workspace.changesets():
                if changeset.state in ("applying", "undoing"):  # a killed process began it
                    _apply.undo(changeset.id)
            changes = self.changes()
            selected = changes if paths is None else _select(changes, paths)
            if not selected:
                return None
            touched = sorted({path for change in selected for path in (change.path, change.old_path)})
            _apply.check_originals(self.workspace.path, self.id, touched, _read(self._folder, "originals"))
            details = {"title": title, "session": session, "copy": self.id}
            try:
                id = _apply.apply(self.workspace.path, self.path, selected, details)
            except OSError as error:
                raise WorkspaceError(f"nothing was applied: {error.strerror}: {error.filename}") from error
            _history.prune(self.workspace.keep_days, self.workspace.keep_bytes, id)
            return _history.open_changeset(self.workspace.path, id)

    def discard(self) -> None:
        """Remove the copy with all its changes."""
        remove_tree(self._folder)


def _select(changes: Changes, paths: Iterable[str]) -> list[Change]:
    """Return the changes of paths and of everything below them, with the new folders that these need."""
    selected: set[Change] = set()
    for path in map(os.path.normpath, paths):
        matches = {
            change
            for change in changes
            for name in (change.path, change.old_path)
            if path in (".", name) or name.startswith(f"{path}/")
        }
        if not matches:
            names = ", ".join(change.path for change in changes[:10]) or "nothing"
            raise WorkspaceError(f"{path} has no changes; changed: {names}")
        selected |= matches
    parents = {str(parent) for change in selected for parent in PurePath(change.path).parents}
    folders = {change.path for change in changes if change.kind == "added" and change.path in parents}
    # If such a folder replaces a file, the deletion of the file has the same path.
    return [change for change in changes if change in selected or change.path in folders]


def _copies_folder() -> str:
    return os.path.realpath(cache_path("copies"))


def _read(folder: str, name: str) -> Any:
    with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)
