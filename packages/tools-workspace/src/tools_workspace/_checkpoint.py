"""Checkpoints: the workspace before a turn of an agent, from which everything that the turn changed is undone.

A mirror of the workspace has its content at the last checkpoint. The first one copies the workspace, and each later
one what has changed since. The end of a turn compares the workspace with the mirror, and records the difference as a
changeset, as if it were applied: `Workspace.undo` reverts it. A kill at any point leaves either the old or the new
record, and the next turn completes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace as replace_fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools_core.files import cache_path, is_inside, replace, user_folders
from tools_workspace import _history as history
from tools_workspace._apply import save
from tools_workspace._change import Change
from tools_workspace._changes import compare, settled
from tools_workspace._copy import TreeCopy
from tools_workspace._entries import entries
from tools_workspace._history import Changeset
from tools_workspace._removal import remove_tree
from tools_workspace._repository import head_changes, outer_repository
from tools_workspace._steps import Steps
from tools_workspace._tree import Tree, WorkspaceError
from tools_workspace._workspace import COPY_DAYS, SIZE_LIMIT, Workspace, WorkspaceTooLargeError

# Folders that programs generate from other files; the ignore file of the workspace names more.
GENERATED = frozenset((
    *("node_modules", "bower_components", ".venv", "venv", ".tox", ".nox", "site-packages", "__pycache__"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", "target", "build", "dist", "out", "bin", "obj", ".gradle"),
    *(".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".cache", "coverage", ".terraform"),
    *("DerivedData", "Pods", ".dart_tool", "_build", ".stack-work", "dist-newstyle"),
))  # fmt: skip
MAX_ENTRIES, MAX_BYTES = 2000, 20_000_000  # of a generated folder that is part of a checkpoint
_TEMPORARY = re.compile(r"\.[0-9]{8}-[0-9]{6}-[0-9]{6}-[0-9a-f]{4}-[0-9]+\.tmp")
_BUSY = "another process is in a turn with a checkpoint of this workspace"
_ATTEMPTS = 3  # to record files that another program changes at the same moment


class Checkpoint:
    """The workspace before a turn of an agent.

    ```python
    checkpoint = Checkpoint(Workspace("."))
    checkpoint.begin("Tidy this folder")
    ...  # tools and commands change files
    changeset = checkpoint.end()
    Workspace(".").undo(changeset.id)
    ```

    `left_out` names large generated folders, such as `node_modules`, what the user may not read, and what the caller
    leaves out: changes in them cannot be undone. A workspace has one turn at a time.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        leave_out: Iterable[str] = (),
        limit: int | None = SIZE_LIMIT,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Leave out paths, such as a database that the caller writes during the turn.

        The first checkpoint takes `limit` and `on_progress`, as `Workspace.copy` does.
        """
        self.workspace = workspace
        self.left_out: list[str] = []
        self._own = [os.path.relpath(path, workspace.path) for path in leave_out if is_inside(path, [workspace.path])]
        self._limit, self._on_progress = limit, on_progress
        name = hashlib.sha256(os.fsencode(workspace.path)).hexdigest()[:16]
        self._folder = os.path.join(_checkpoints_folder(), name)
        self._mirror = os.path.join(self._folder, "mirror")
        self._turn = ExitStack()  # holds the lock of a turn
        self._repository: Path | None = None  # whose commits cannot be undone
        self._head = (0, 0)
        self._current: dict[str, str] | None = None
        self._stamps: Mapping[str, int] | None = None  # as stored; nobody else writes them during a turn

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._turn.close()

    def begin(self, title: str = "", *, session: str = "") -> Changeset | None:
        """Remember the present workspace; return the changeset of an earlier turn that was killed.

        Raises:
            WorkspaceTooLargeError: The workspace is larger than the limit.
            WorkspaceError: Another process is in a turn, or the workspace cannot be read.
        """
        history.remove_unused(_checkpoints_folder(), COPY_DAYS)
        with self._errors(), ExitStack() as stack:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._turn.close()
            stack.enter_context(history.locked(os.path.join(self._folder, "lock"), _BUSY))
            os.utime(self._folder)
            self._stamps = self._read("stamps")
            if self._stamps is None:
                try:
                    self._copy()
                except BaseException:  # such as a full disk, which must not stay full
                    remove_tree(self._mirror)
                    raise
            changeset = self._advance(self._read("turn"))
            turn = {"id": history.new_id(), "title": title, "session": session}
            self._write("turn", turn)
            self._turn, self._current = stack.pop_all(), turn
            self._repository = outer_repository(self.workspace.path)
            self._head = head_changes(self._repository)
            return changeset

    def complete(self) -> Changeset | None:
        """Return the changeset of a turn that was killed; None if there is no such turn.

        What changed after the kill is part of it. Raises WorkspaceError while another process is in a turn.
        """
        if not os.path.isdir(self._folder):
            return None
        with self._errors(), history.locked(os.path.join(self._folder, "lock"), _BUSY):
            turn = self._read("turn")
            self._stamps = self._read("stamps")
            if turn is None or self._stamps is None:
                return None
            changeset = self._advance(turn)
            self._write("turn", None)
            return changeset

    def end(self) -> Changeset | None:
        """Return what has changed since `begin` as a changeset that `Workspace.undo` reverts; None without changes."""
        if self._current is None:
            raise WorkspaceError("there is no turn: call begin() first")
        with self._errors(), self._turn:
            changeset = self._advance(self._current)
            self._write("turn", None)
            self._current = None
        if changeset is not None and head_changes(self._repository) != self._head:
            note = f"commits and branches stay: {self._repository} is outside of {self.workspace.path}"
            history.set_state(changeset.id, changeset.state, [note])
            changeset = replace_fields(changeset, notes=(note,))
        if changeset is not None:
            history.prune(self.workspace.keep_days, self.workspace.keep_bytes, changeset.id)
        return changeset

    def _copy(self) -> None:
        """Copy the workspace into a new mirror."""
        self._write("turn", None)
        remove_tree(self._mirror)
        os.mkdir(self._mirror, 0o700)
        with Tree(self.workspace.path) as workspace, Tree(self._mirror) as mirror:
            skip, unreadable = [*self._private(), *self._own], list[str]()
            scanned = {path: (state, stamp) for path, state, stamp in workspace.scan(skip, unreadable)}
            generated = _generated({path: state.size for path, (state, _) in scanned.items()}, _ignored(workspace))
            scanned = {path: value for path, value in scanned.items() if not is_inside(path, generated)}
            size = sum(state.size for state, _ in scanned.values() if state.kind == "file")
            if self._limit is not None and size > self._limit:
                message = (
                    f"{self.workspace.path} has {size:,} bytes in {len(scanned):,} files: too large for a checkpoint"
                )
                raise WorkspaceTooLargeError(message)
            copy = TreeCopy(workspace, mirror, self._on_progress, with_hashes=False)
            copy.run({path: state for path, (state, _) in scanned.items()}, unreadable)
        self._write("left_out", sorted({*generated, *copy.unreadable, *self._own}))
        self._remember_stamps({path: scanned[path][1] for path in copy.originals})

    def _advance(self, turn: Mapping[str, str] | None) -> Changeset | None:
        """Bring the mirror up to date, and record the difference as the changeset of a turn, if there is one."""
        for _ in range(_ATTEMPTS - 1):
            with suppress(WorkspaceError):  # a file changed at this moment
                return self._compare(turn)
        return self._compare(turn)

    def _compare(self, turn: Mapping[str, str] | None) -> Changeset | None:
        with Tree(self.workspace.path) as workspace, Tree(self._mirror) as mirror:
            known = [path for path in self._read("left_out") or () if os.path.lexists(f"{workspace.path}/{path}")]
            self.left_out = sorted({*known, *self._own})
            stamps, unreadable = dict[str, int](), list[str]()
            skip = [*self._private(), *self.left_out]
            changes = compare(mirror, workspace, self._stamps or {}, skip, stamps, unreadable)
            sizes = {change.path: change.size for change in changes if change.kind != "deleted"}
            generated = _generated(sizes, _ignored(workspace))
            skip = [*self.left_out, *unreadable]
            self.left_out = sorted({*skip, *generated})
            # Undo restores the old files of a folder that became large.
            included = [
                change
                for change in changes
                if not _is_left_out(change, self.left_out if change.kind == "added" else skip)
            ]
            id = turn["id"] if turn else history.new_id()
            paths = sorted({path for change in included for path in (change.path, change.old_path)})
            # After a kill at this point, the turn has a changeset: later changes belong to the user.
            is_recorded = os.path.exists(os.path.join(history.folder_of(id), "journal.json"))
            steps = [{"path": path, "new": changes.fingerprints[path]} for path in paths]
            if turn is not None and paths and not is_recorded:
                details = {"title": turn["title"], "session": turn["session"], "copy": ""}
                lines = [entry.text for entry in entries(included, workspace)]
                save(id, "applied", mirror, steps, details | {"workspace": workspace.path}, lines)
            try:
                current = [step for path, step in zip(paths, steps, strict=True) if not is_inside(path, generated)]
                self._update(id, current, mirror, workspace)
            except BaseException:
                if not is_recorded:
                    remove_tree(history.folder_of(id))
                raise
            for folder in generated:
                remove_tree(os.path.join(self._mirror, folder))
            self._write("left_out", self.left_out)
            if generated:
                stamps = {path: stamp for path, stamp in stamps.items() if not is_inside(path, generated)}
            self._remember_stamps(stamps)
        return history.open_changeset(self.workspace.path, id) if turn is not None and (paths or is_recorded) else None

    def _update(self, id: str, steps: Iterable[dict[str, Any]], mirror: Tree, workspace: Tree) -> None:
        """Bring the paths of the mirror to the content that they have in the workspace."""
        records = [step | {"old": mirror.fingerprint(step["path"], ())} for step in steps]
        if not records:
            return
        if self._read("updating"):  # a killed process left temporary files
            for path, _, _ in list(mirror.scan()):
                if _TEMPORARY.fullmatch(path.rpartition("/")[2]):
                    with mirror.place(path) as (folder, name):
                        os.unlink(name, dir_fd=folder)
        self._write("updating", True)
        Steps(id, records, mirror, workspace, "old", "new").run()
        self._write("updating", False)

    def _remember_stamps(self, stamps: Mapping[str, int]) -> None:
        """Store the stamps of the workspace, unless they are the stored ones."""
        if self._stamps != (now := settled(stamps)):
            self._write("stamps", now)
            self._stamps = now

    def _private(self) -> list[str]:
        """Return the user's own folders in the workspace, such as the folder of checkpoints."""
        path = self.workspace.path
        private = [os.path.realpath(cache_path("")), *user_folders()]
        return [os.path.relpath(folder, path) for folder in private if is_inside(folder, [path])]

    def _read(self, name: str) -> Any:
        try:
            with open(os.path.join(self._folder, f"{name}.json"), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def _write(self, name: str, content: object) -> None:
        if name == "stamps" or self._read(name) != content:
            replace(os.path.join(self._folder, f"{name}.json"), json.dumps(content).encode())

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise WorkspaceError(f"no checkpoint: {error.strerror}: {error.filename or self._folder}") from error


def _is_left_out(change: Change, folders: Sequence[str]) -> bool:
    """Return whether a change is in folders that are left out, or of a temporary file of an undo that was killed."""
    if _TEMPORARY.fullmatch(change.path.rpartition("/")[2]):
        return True
    return is_inside(change.path, folders) and is_inside(change.old_path, folders)


def _checkpoints_folder() -> str:
    return os.path.realpath(cache_path("checkpoints"))


def _ignored(workspace: Tree) -> frozenset[str]:
    """Return the plain names and paths of the ignore file of git at the top."""
    with suppress(OSError), workspace.file(".gitignore") as file:
        lines = (line.strip().strip("/") for line in file.read(100_000).decode(errors="replace").split("\n"))
        return frozenset(line for line in lines if line and not set(line) & set("*?[!#\\"))
    return frozenset()


def _generated(sizes: Mapping[str, int], ignored: frozenset[str]) -> list[str]:
    """Return the large folders with generated content: by their name, or by the ignore file."""
    counts: dict[str, list[int]] = {}
    for path, size in sizes.items():
        parts = path.split("/")[:-1]
        for end, part in enumerate(parts, 1):
            folder = "/".join(parts[:end])
            if part == ".git":
                break
            if part in GENERATED or part in ignored or folder in ignored:
                count = counts.setdefault(folder, [0, 0])
                count[0] += 1
                count[1] += size
                break
    return [folder for folder, (count, size) in counts.items() if count > MAX_ENTRIES or size > MAX_BYTES]
