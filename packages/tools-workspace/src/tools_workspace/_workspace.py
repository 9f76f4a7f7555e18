"""A workspace and its copies."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

from tools_core.files import cache_path, is_inside, replace, state_path, user_folders, workspace_path
from tools_workspace import _apply, _history
from tools_workspace._changes import Change, Changes, compare
from tools_workspace._history import Changeset, changesets, new_id
from tools_workspace._tree import WorkspaceError, copy_tree, fingerprint, locked, remove_tree, scan, state_of

States: TypeAlias = dict[str, Sequence[int]]  # the fields of State, by path
SIZE_LIMIT = 5_000_000_000  # bytes of a workspace that is copied without a question


class Workspace:
    """A folder that tools work in: `$ASK_TOOLS_WORKSPACE` or the current folder by default.

    Applied changes can be undone for `keep_days`, and as long as all of them take less than `keep_bytes`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        keep_days: float = _history.KEEP_DAYS,
        keep_bytes: int = _history.KEEP_BYTES,
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
            WorkspaceError: The workspace is larger than `limit`, or cannot be read.
        """
        shared = sorted({os.path.normpath(path) for path in ignore if os.path.isdir(os.path.join(self.path, path))})
        # If the workspace is the user's home: neither earlier copies, nor the files that decide what tools may do.
        private = [_copies_folder(), *user_folders()]
        skip = [*shared, *(os.path.relpath(path, self.path) for path in private if is_inside(path, [self.path]))]
        os.makedirs(_copies_folder(), mode=0o700, exist_ok=True)
        _history.remove_incomplete(_copies_folder(), "copy.json")
        tree_of_originals = scan(self.path, skip)
        size = sum(state.size for state in tree_of_originals.values() if state.kind == "file")
        if limit is not None and size > limit:
            raise WorkspaceError(
                f"{self.path} has {size:,} bytes in {len(tree_of_originals):,} files: "
                "pass limit=None to copy it anyway, or ignore= for folders to share"
            )
        id = new_id()
        folder = os.path.join(_copies_folder(), id)
        tree = os.path.join(folder, os.path.basename(self.path) or "workspace")
        os.makedirs(folder, mode=0o700)
        try:
            special = copy_tree(self.path, tree, tree_of_originals, skip, on_progress)
            for path in shared:
                os.symlink(os.path.join(self.path, path), os.path.join(tree, path))
            copies: States = dict(scan(tree, skip))
        except BaseException:
            remove_tree(folder)
            raise
        originals: States = {path: state for path, state in tree_of_originals.items() if path not in special}
        copy = WorkspaceCopy(self, id, tree)
        copy._write(originals, copies, skip, special, time.time())
        return copy

    def copies(self) -> list[WorkspaceCopy]:
        """Return the copies of this workspace that were not discarded, the latest first."""
        result = []
        for id in sorted(_names(_copies_folder()), reverse=True):
            try:
                with open(os.path.join(_copies_folder(), id, "copy.json"), encoding="utf-8") as file:
                    head = json.load(file)
            except (OSError, ValueError):
                continue  # still being made, or killed while it was
            if head["workspace"] == self.path:
                result.append(WorkspaceCopy(self, id, head["path"]))
        return result

    def changesets(self) -> list[Changeset]:
        """Return the applied changes, the latest first."""
        return changesets(self.path)

    def undo(self, id: str | None = None) -> Changeset:
        """Restore the content from before a changeset, by default the latest applied one, and return it.

        Raises:
            ConflictError: A file changed since; nothing was undone.
            WorkspaceError: There is nothing to undo.
        """
        with locked(self._lock_path):
            candidates = [
                changeset
                for changeset in self.changesets()
                if (changeset.state != "undone" if id is None else changeset.id == id)
            ]
            if not candidates:
                missing = f"there is no changeset {id} of {self.path}" if id else f"nothing to undo in {self.path}"
                raise WorkspaceError(missing)
            latest = candidates[0]
            if latest.state == "undoing":  # a killed process began it
                _apply.finish(latest.id)
            else:
                _apply.undo(latest.id)
        return next(changeset for changeset in self.changesets() if changeset.id == latest.id)

    def _finish_interrupted(self) -> None:
        """Finish what killed processes began."""
        for changeset in self.changesets():
            if changeset.state in ("applying", "undoing"):
                _apply.finish(changeset.id)

    @property
    def _lock_path(self) -> str:
        name = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        return state_path(os.path.join("locks", f"{name}.lock"))


class WorkspaceCopy:
    """A copy of a workspace, whose `path` is the workspace of tools and agents; `os.fspath(copy)` is the path.

    As a context manager it is discarded in the end, unless an exception leaves the block.
    """

    def __init__(self, workspace: Workspace, id: str, path: str) -> None:
        self.workspace = workspace
        self.id = id
        self.path = path

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

    @property
    def not_copied(self) -> list[str]:
        """Sockets, pipes and devices, which the copy lacks."""
        return list(self._read("copy.json")["special"])

    def changes(self) -> Changes:
        """Return what differs from the workspace, as it was when the copy was made."""
        originals, copies, skip = self._states()
        return compare(self.workspace.path, self.path, originals, copies, skip)

    def apply(self, paths: Iterable[str] | None = None, *, title: str = "") -> Changeset | None:
        """Apply all changes, or the changes of some files and folders, to the workspace.

        The workspace is changed file by file, and each file is either old or new at any time. After a kill, the next
        `apply` or `undo` finishes or reverts the rest. Returns None if there is nothing to apply.

        Raises:
            ConflictError: An original changed since the copy was made; nothing was applied.
            WorkspaceError: A path names no change, or a file could not be written; nothing was applied.
        """
        with locked(self.workspace._lock_path):
            self.workspace._finish_interrupted()
            originals, copies, skip = self._states()
            changes = list(compare(self.workspace.path, self.path, originals, copies, skip))
            selected = changes if paths is None else _select(changes, paths)
            pending = self._already_applied(selected, originals, copies)
            if not pending:
                return None
            _apply.check_originals(self.workspace.path, pending, originals)
            id = _apply.apply(self.workspace.path, self.path, pending, title)
            self._refresh(pending, originals, copies, skip)
            _history.prune(self.workspace.keep_days, self.workspace.keep_bytes, [id])
        return next(changeset for changeset in self.workspace.changesets() if changeset.id == id)

    def discard(self) -> None:
        """Remove the copy with all its changes."""
        remove_tree(os.path.dirname(self.path))

    def _already_applied(self, changes: list[Change], originals: States, copies: States) -> list[Change]:
        """Return the changes that the workspace does not have yet, such as after a kill before the record of states."""
        done: list[Change] = []
        pending: list[Change] = []
        for change in changes:
            is_done = all(
                fingerprint(os.path.join(self.workspace.path, path)) == fingerprint(os.path.join(self.path, path))
                for path in {change.path, change.old_path}
            )
            (done if is_done else pending).append(change)
        if done:
            self._refresh(done, originals, copies, self._read("copy.json")["skip"])
        return pending

    def _refresh(self, changes: list[Change], originals: States, copies: States, skip: list[str]) -> None:
        """Record the states of applied paths, so that they are no longer changes."""
        for path in {path for change in changes for path in (change.path, change.old_path)}:
            for states, root in ((originals, self.workspace.path), (copies, self.path)):
                state = state_of(os.path.join(root, path))
                if state is None:
                    states.pop(path, None)
                else:
                    states[path] = state
        head = self._read("copy.json")
        self._write(originals, copies, skip, head["special"], head["time"])

    def _states(self) -> tuple[States, States, list[str]]:
        states = self._read("states.json")
        return states["originals"], states["copies"], self._read("copy.json")["skip"]

    def _read(self, name: str) -> dict[str, Any]:
        try:
            with open(os.path.join(os.path.dirname(self.path), name), encoding="utf-8") as file:
                result: dict[str, Any] = json.load(file)
        except FileNotFoundError as error:
            raise WorkspaceError(f"the copy {self.id} was discarded") from error
        return result

    def _write(self, originals: States, copies: States, skip: list[str], special: list[str], created: float) -> None:
        folder = os.path.dirname(self.path)
        replace(os.path.join(folder, "states.json"), json.dumps({"originals": originals, "copies": copies}).encode())
        head = {"workspace": self.workspace.path, "path": self.path, "time": created, "skip": skip, "special": special}
        replace(os.path.join(folder, "copy.json"), json.dumps(head).encode())


def _select(changes: list[Change], paths: Iterable[str]) -> list[Change]:
    """Return the changes of paths and of everything below them, with the new folders that these need."""
    selected: list[Change] = []
    for path in map(os.path.normpath, paths):
        matches = [
            change
            for change in changes
            for name in {change.path, change.old_path}
            if path in (".", name) or name.startswith(f"{path}/")
        ]
        if not matches:
            raise WorkspaceError(
                f"{path} has no changes; changed: {', '.join(c.path for c in changes[:10]) or 'nothing'}"
            )
        selected += [change for change in matches if change not in selected]
    for change in changes:
        is_parent = any(other.path.startswith(f"{change.path}/") for other in selected)
        if change.type == "folder" and change.kind == "added" and is_parent and change not in selected:
            selected.append(change)
    return [change for change in changes if change in selected]


def _copies_folder() -> str:
    return os.path.realpath(cache_path("copies"))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
