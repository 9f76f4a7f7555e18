"""Changesets: a record of each application with the old content, from which it is finished or undone."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tools_core.files import replace, state_path
from tools_workspace._tree import WorkspaceError, remove_tree

KEEP_DAYS = 30
KEEP_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Changeset:
    """Changes that were applied: `state` is `applying`, `applied`, `undoing` or `undone`.

    `changes` has a line for each change, `title` names the command or the session, and `time` is in seconds since 1970.
    """

    id: str
    workspace: str
    time: float
    title: str
    state: str
    changes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the changeset as plain JSON."""
        return {name: getattr(self, name) for name in self.__slots__} | {"changes": list(self.changes)}

    def __str__(self) -> str:
        date = datetime.fromtimestamp(self.time, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
        return f"{self.id}  {date}  {self.state}  {len(self.changes)} changes  {self.title}".rstrip()


def history_folder() -> str:
    """Return the folder of all changesets."""
    return state_path("changes")


def folder_of(id: str) -> str:
    """Return the folder of a changeset."""
    return os.path.join(history_folder(), id)


def new_id() -> str:
    """Return an id that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{os.urandom(2).hex()}"


def write_journal(id: str, journal: dict[str, Any]) -> None:
    """Write the journal of a changeset atomically."""
    replace(os.path.join(folder_of(id), "journal.json"), json.dumps(journal).encode())


def read_journal(id: str) -> dict[str, Any]:
    """Return the journal of a changeset; a WorkspaceError if it does not exist."""
    try:
        with open(os.path.join(folder_of(id), "journal.json"), encoding="utf-8") as file:
            journal: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"there is no changeset {id}: ask-tools undo --list shows them") from error
    return journal


def changesets(workspace: str | None = None) -> list[Changeset]:
    """Return the changesets of a workspace, or of all, the latest first."""
    try:
        ids = sorted(os.listdir(history_folder()), reverse=True)
    except FileNotFoundError:
        return []
    result = []
    for id in ids:
        if not os.path.exists(os.path.join(folder_of(id), "journal.json")):
            continue  # killed before anything was applied
        journal = read_journal(id)
        if workspace is None or journal["workspace"] == workspace:
            fields = {key: journal[key] for key in ("workspace", "time", "title", "state")}
            result.append(Changeset(id=id, changes=tuple(journal["changes"]), **fields))
    return result


def prune(keep_days: float = KEEP_DAYS, keep_bytes: int = KEEP_BYTES, protect: Sequence[str] = ()) -> None:
    """Remove changesets that are old, and the oldest beyond the size; never an unfinished one."""
    remove_incomplete(history_folder(), "journal.json")
    total = 0
    for changeset in changesets():
        total += _size_of(folder_of(changeset.id))
        is_old = time.time() - changeset.time > keep_days * 86_400 or total > keep_bytes
        if is_old and changeset.state in ("applied", "undone") and changeset.id not in protect:
            remove_tree(folder_of(changeset.id))


def remove_incomplete(folder: str, record: str) -> None:
    """Remove what killed processes left: folders without their record that are a day old."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in list(entries):
            if not os.path.exists(os.path.join(entry.path, record)) and time.time() - entry.stat().st_mtime > 86_400:
                remove_tree(entry.path)


def _size_of(folder: str) -> int:
    return sum(os.lstat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(folder) for name in names)
