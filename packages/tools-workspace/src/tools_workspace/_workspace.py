"""A workspace and its copies."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from tools_core.files import cache_path, is_inside, replace, state_path, user_folders, workspace_path
from tools_workspace import _apply, _history
from tools_workspace._change import Change
from tools_workspace._changes import Changes, compare, stamps
from tools_workspace._copy import TreeCopy
from tools_workspace._history import UNFINISHED, Changeset, changesets, locked, new_id
from tools_workspace._removal import remove_tree
from tools_workspace._tree import Tree, WorkspaceError

COPY_DAYS = 7  # after its last use a copy is removed, when another one is made
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

        It is removed a week after its last use, when another copy is made.

        Args:
            ignore: Folders that are not copied, such as `node_modules`: tools read the original, and cannot change it.
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
        _history.remove_unused(_copies_folder(), COPY_DAYS)
        folder = os.path.join(_copies_folder(), new_id())
        try:
            with Tree(self.path) as original:
                head = self._copy(original, folder, skip, shared, limit, on_progress)
        except BaseException as error:
            remove_tree(folder)
            if isinstance(error, OSError):
                raise WorkspaceError(f"the workspace cannot be copied: {error}") from error
            raise
        return WorkspaceCopy(self, head)

    def _copy(
        self,
        original: Tree,
        folder: str,
        skip: Sequence[str],
        shared: Sequence[str],
        limit: int | None,
        on_progress: Callable[[int, int], object] | None,
    ) -> dict[str, Any]:
        """Copy the workspace into a new folder with its records, and return the head of them."""
        unreadable: list[str] = []
        entries = {path: state for path, state, _ in original.scan(skip, unreadable)}
        size = sum(state.size for state in entries.values() if state.kind == "file")
        if limit is not None and size > limit:
            raise WorkspaceTooLargeError(
                f"{self.path} has {size:,} bytes in {len(entries):,} files: "
                "pass limit=None to copy it anyway, or ignore= for folders to share"
            )
        path = os.path.join(folder, os.path.basename(self.path) or "workspace")
        os.makedirs(path, mode=0o700)
        with Tree(path) as tree:
            copy = TreeCopy(original, tree, on_progress)
            copy.run(entries, unreadable)
            for name in shared:
                os.makedirs(os.path.join(path, name), exist_ok=True)
            records: dict[str, dict[str, Any]] = {
                "originals": {name: [*state, content] for name, (state, content) in copy.originals.items()},
                "stamps": stamps(tree, skip),
                "copy": {
                    "workspace": self.path,
                    "path": path,
                    "time": time.time(),
                    "skip": skip,
                    "shared": shared,
                    "special": copy.special,
                    "unreadable": copy.unreadable,
                },
            }
        for name, record in records.items():
            replace(os.path.join(folder, f"{name}.json"), json.dumps(record).encode())
        return records["copy"]

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

    def undo(self, id: str | None = None, *, conflicts: _apply.Conflicts | _apply.Choose = "refuse") -> Changeset:
        """Restore the content from before a changeset, by default the latest applied one, and return it.

        Args:
            id: The changeset.
            conflicts: What becomes of files that changed since: `"keep"` leaves them unchanged, `"overwrite"` restores
                them, too, and saves what they have now as a changeset that can be undone; a function of their paths
                chooses.

        Raises:
            ConflictError: A file changed since; nothing was undone.
            WorkspaceError: There is nothing to undo, or a file cannot be written.
        """
        with self._locked("nothing was undone") as workspace:
            id = _history.open_changeset(self.path, id).id
            _apply.undo(workspace, id, conflicts)
            return _history.open_changeset(self.path, id)

    def abandon(self, id: str | None = None) -> Changeset:
        """Give up an application or undo that cannot finish: its files stay unchanged. Return the changeset.

        Its `notes` say which content each file has. By default the latest unfinished changeset.

        Raises:
            WorkspaceError: There is no such changeset, or it is finished.
        """
        with self._locked("nothing was abandoned") as workspace:
            unfinished = (changeset.id for changeset in self.changesets() if changeset.state in UNFINISHED)
            if (id := id or next(unfinished, None)) is None:
                raise WorkspaceError(f"no unfinished changeset in {self.path}")
            _apply.abandon(workspace, _history.open_changeset(self.path, id).id)
            return _history.open_changeset(self.path, id)

    @contextmanager
    def _locked(self, failure: str) -> Generator[Tree]:
        """Open the workspace for changes by this process alone; an OSError becomes a WorkspaceError."""
        name = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        try:
            with locked(state_path(os.path.join("locks", f"{name}.lock"))), Tree(self.path) as workspace:
                yield workspace
        except OSError as error:
            raise WorkspaceError(f"{failure}: {error.strerror}: {error.filename}") from error


class WorkspaceCopy:
    """A copy of a workspace, whose `path` is the workspace of tools and agents; `os.fspath(copy)` is the path.

    `not_copied` names what the copy lacks: sockets, pipes, devices, and what the user may not read. `time` is in
    seconds since 1970. As a context manager the copy is discarded in the end, unless an exception leaves the block.
    """

    def __init__(self, workspace: Workspace, head: Mapping[str, Any]) -> None:
        self.workspace = workspace
        self.path: str = head["path"]
        self.time: float = head["time"]
        self.not_copied: list[str] = [*head["special"], *head["unreadable"]]
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
            os.utime(self._folder)  # it is in use
            with Tree(self.workspace.path) as original, Tree(self.path) as copy:
                return compare(original, copy, before, self._skip, copied=_read(self._folder, "originals"))
        except OSError as error:  # such as a folder that tools made unreadable
            raise WorkspaceError(f"the copy cannot be read: {error.strerror}: {error.filename}") from error

    def record_shown(self, changes: Changes) -> None:
        """Remember that a person has seen changes, for `check_shown` in any process."""
        replace(os.path.join(self._folder, "shown.json"), json.dumps(changes.fingerprints).encode())

    def check_shown(self, changes: Changes) -> None:
        """Raise WorkspaceError if changes differ from the last ones that a person has seen."""
        try:
            fingerprints = _read(self._folder, "shown")
        except FileNotFoundError:  # nothing was shown
            return
        now = json.loads(json.dumps(changes.fingerprints))
        if changed := [path for path in now if path not in fingerprints or fingerprints[path] != now[path]]:
            raise WorkspaceError(f"the copy changed since its changes were shown; look again: {', '.join(changed)}")

    def apply(
        self,
        paths: Iterable[str | Change] | None = None,
        *,
        shown: Changes | None = None,
        title: str = "",
        session: str = "",
    ) -> Changeset | None:
        """Apply all changes, or the changes of some files and folders, to the workspace.

        The workspace is changed file by file, and each file is either old or new at any time. After a kill, the next
        `apply` or `undo` reverts the interrupted one first. Returns None if there is nothing to apply.

        Args:
            paths: Changes, or files and folders whose changes are applied; by default all.
            shown: The changes that a person has seen: others are not applied. By default the present ones.
            title: A title for the changeset, such as the command.
            session: The session of an agent, for the changeset.

        Raises:
            ConflictError: An original changed since the copy was made; nothing was applied.
            WorkspaceError: A path names no change, a file of the copy changed after it was shown, or a file could not
                be written; nothing was applied.
        """
        with self.workspace._locked("nothing was applied") as workspace, Tree(self.path) as copy:
            for changeset in self.workspace.changesets():
                if changeset.state in UNFINISHED:  # a killed process began it
                    _apply.undo(workspace, changeset.id)
            changes = self.changes() if shown is None else shown
            selected = changes if paths is None else changes.select(paths)
            if not selected:
                return None
            touched = sorted({path for change in selected for path in (change.path, change.old_path)})
            _apply.check_originals(workspace, self.id, touched, _read(self._folder, "originals"))
            details = {"title": title, "session": session, "copy": self.id}
            id = _apply.apply(workspace, copy, selected, changes.fingerprints, details)
            _history.prune(self.workspace.keep_days, self.workspace.keep_bytes, id)
            return _history.open_changeset(self.workspace.path, id)

    def discard(self) -> None:
        """Remove the copy with all its changes."""
        remove_tree(self._folder)


def _copies_folder() -> str:
    return os.path.realpath(cache_path("copies"))


def _read(folder: str, name: str) -> Any:
    with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)
