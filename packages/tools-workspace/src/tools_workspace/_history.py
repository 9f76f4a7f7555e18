"""Changesets: a record of each application with the old content, from which it is undone."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from tools_core.command import counted
from tools_core.files import replace, state_path
from tools_workspace._removal import remove_tree
from tools_workspace._tree import WorkspaceError

UNFINISHED = ("applying", "undoing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changeset:
    """Changes that were applied: `state` is `applying`, `applied`, `undoing`, `undone` or `abandoned`.

    `changes` has a line for each change, `title` is the command, `session` the agent's session, `copy` the id of the
    copy, and `time` is in seconds since 1970.
    """

    id: str
    workspace: str
    time: float
    title: str
    session: str
    copy: str
    state: str
    changes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the changeset as plain JSON."""
        return asdict(self) | {"changes": list(self.changes)}

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
    """Return an id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{os.urandom(2).hex()}"


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
    """Record the state of a changeset, and lines to add to its changes."""
    journal = read_journal(id)
    write_journal(id, journal | {"state": state, "changes": [*journal["changes"], *notes]})


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
            result.append(Changeset(id=id, changes=tuple(journal["changes"]), **fields))
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
        if changeset.id == id or (id is None and changeset.state not in ("undone", "abandoned")):
            return changeset
    if id is None:
        raise WorkspaceError(f"nothing to undo in {workspace}")
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
