"""Changesets: a record of each application with the old content, from which it is undone."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tools_core.command import counted
from tools_core.files import is_inside, replace, state_path
from tools_workspace._removal import remove_tree
from tools_workspace._tree import WorkspaceError

UNFINISHED = ("applying", "undoing")
_ID = "%Y%m%d-%H%M%S-%f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changeset:
    """Changes that were applied: `state` is `applying`, `applied`, `undoing`, `undone`, `abandoned` or `saved`.

    `saved` are files of the user that an undo has replaced: `undo` with the id brings them back.

    `changes` has a line for each change, `notes` say which files were skipped, replaced or left. `title` is the
    command, `session` the agent's session, `copy` the id of the copy, empty for a turn in the workspace itself, and
    `time` is in seconds since 1970.
    """

    id: str
    workspace: str
    time: float
    title: str
    session: str
    copy: str
    state: str
    changes: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def can_be_undone(self) -> bool:
        """True unless the changeset is undone, or is not one of an agent."""
        return self.state not in ("undone", "abandoned", "saved")

    def to_dict(self) -> dict[str, Any]:
        """Return the changeset as plain JSON."""
        return asdict(self) | {"changes": list(self.changes), "notes": list(self.notes)}

    def __str__(self) -> str:
        session = f"session {self.session}" if self.session else ""
        changes = counted(len(self.changes), "change")
        return "  ".join(filter(None, (self.id, local_time(self.time), self.state, changes, self.title, session)))


def local_time(seconds: float) -> str:
    """Return the time of day in the user's zone, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def folder_of(id: str) -> str:
    """Return the folder of a changeset."""
    return os.path.join(state_path("changes"), id)


def backup_of(id: str) -> str:
    """Return the folder with the old files of a changeset."""
    return os.path.join(folder_of(id), "old")


def new_id() -> str:
    """Return an id that sorts by time, and after all changesets, also if the clock was set back."""
    id = f"{datetime.now(UTC):{_ID}}"
    if (latest := next(iter(names_in(state_path("changes"))), "")[: len(id)]) >= id:
        with suppress(ValueError):
            id = f"{datetime.strptime(latest, _ID).replace(tzinfo=UTC) + timedelta(microseconds=1):{_ID}}"
    return f"{id}-{os.urandom(2).hex()}"


def names_in(folder: str) -> list[str]:
    """Return the names in a folder, the latest id first; none if it does not exist."""
    try:
        return sorted(os.listdir(folder), reverse=True)
    except FileNotFoundError:
        return []


def write_journal(id: str, journal: dict[str, Any]) -> None:
    """Write the journal of a changeset atomically."""
    replace(os.path.join(folder_of(id), "journal.json"), json.dumps(journal).encode())


def set_state(id: str, state: str, notes: Sequence[str] = ()) -> None:
    """Record the state of a changeset, and lines to add to its notes."""
    journal = read_journal(id)
    write_journal(id, journal | {"state": state, "notes": [*journal.get("notes", ()), *notes]})


def set_kept(id: str, paths: Sequence[str]) -> None:
    """Record the paths that an undo leaves unchanged."""
    write_journal(id, read_journal(id) | {"kept": list(paths)})


def read_journal(id: str) -> dict[str, Any]:
    """Return the journal of a changeset."""
    with open(os.path.join(folder_of(id), "journal.json"), encoding="utf-8") as file:
        journal: dict[str, Any] = json.load(file)
    return journal


def changesets(workspace: str | None = None) -> list[Changeset]:
    """Return the changesets of a workspace, or of all, the latest first."""
    result = []
    for id in names_in(state_path("changes")):
        try:
            journal = read_journal(id)
        except FileNotFoundError:
            continue  # killed before anything was applied, or removed meanwhile
        if workspace is None or journal["workspace"] == workspace:
            fields = {key: journal[key] for key in ("workspace", "time", "title", "session", "copy", "state")}
            notes = tuple(journal.get("notes", ()))
            result.append(Changeset(id=id, changes=tuple(journal["changes"]), notes=notes, **fields))
    return result


def prune(keep_days: float, keep_bytes: int, protect: str) -> None:
    """Remove changesets that are old, and the oldest beyond the size; never an unfinished one, nor `protect`."""
    remove_incomplete(state_path("changes"), "journal.json")
    total = 0
    for changeset in changesets():
        files = [os.path.join(parent, name) for parent, _, names in os.walk(folder_of(changeset.id)) for name in names]
        total += sum(os.lstat(path).st_size for path in files)
        is_old = time.time() - changeset.time > keep_days * 86_400 or total > keep_bytes
        if is_old and changeset.state not in UNFINISHED and changeset.id != protect:
            remove_tree(folder_of(changeset.id))


def remove_incomplete(folder: str, record: str) -> None:
    """Remove what killed processes left: folders without their record that are a day old."""
    for name in names_in(folder):
        path = os.path.join(folder, name)
        with suppress(FileNotFoundError):
            if not os.path.exists(os.path.join(path, record)) and time.time() - os.stat(path).st_mtime > 86_400:
                remove_tree(path)


def remove_unused(folder: str, days: float) -> None:
    """Remove the folders in a folder that were not used for some days."""
    for name in names_in(folder):
        with suppress(FileNotFoundError):
            if time.time() - os.stat(os.path.join(folder, name)).st_mtime > days * 86_400:
                remove_tree(os.path.join(folder, name))


def open_changeset(workspace: str, id: str | None) -> Changeset:
    """Return a changeset of a workspace by its id, or the latest one that can be undone."""
    candidates = changesets(workspace)
    for changeset in candidates:
        if changeset.id == id or (id is None and changeset.can_be_undone):
            return changeset
    if id is None:
        others = (each.workspace for each in changesets() if each.can_be_undone)
        near = next((other for other in others if is_inside(workspace, [other]) or is_inside(other, [workspace])), None)
        hint = f"; for {near}: ask-tools undo --workspace {shlex.quote(near)}" if near else ""
        raise WorkspaceError(f"nothing to undo in {workspace}{hint}")
    raise WorkspaceError(f"there is no changeset {id} of {workspace}; ask-tools undo --list shows them")


@contextmanager
def locked(path: str, busy: str = "another process applies or undoes changes of this workspace now") -> Generator[None]:
    """Hold a lock file; another process that holds it is a WorkspaceError."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkspaceError(f"{busy}: wait until it ends") from None
        yield
    finally:
        with suppress(OSError):
            os.close(descriptor)
