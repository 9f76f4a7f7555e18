"""Apply changes to a workspace and undo them: file by file, so that a kill at any point can be continued.

An application first copies the old and the new content of each path into the folder of its changeset, then writes the
journal, and only then touches the workspace. Each step brings a path from one recorded content to another, and does
nothing if it is there already, so running the steps again finishes or reverts an interrupted application.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tools_workspace import _history as history
from tools_workspace._changes import Change
from tools_workspace._tree import State, WorkspaceError, copy_file, fingerprint, remove_tree, state_of

Fingerprint = list[str | int] | None


class ConflictError(WorkspaceError):
    """Files of the workspace changed meanwhile; nothing was applied or undone. `paths` names them."""

    def __init__(self, message: str, paths: Iterable[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(f"{message}: {', '.join(self.paths)}")


def check_originals(workspace: str, changes: Iterable[Change], originals: Mapping[str, Sequence[int]]) -> None:
    """Raise ConflictError if a path that is to be changed is not as it was when the copy was made."""
    conflicts = []
    for path in sorted({path for change in changes for path in (change.path, change.old_path)}):
        now = state_of(os.path.join(workspace, path))
        then = State(*originals[path]) if path in originals else None
        if (now is None) != (then is None) or (
            now and then and now._replace(ctime=0).has_changed(then._replace(ctime=0))
        ):
            conflicts.append(path)
    if conflicts:
        message = f"{workspace} changed since the copy was made, so nothing was applied and the copy remains"
        raise ConflictError(message, conflicts)


def apply(workspace: str, copy: str, changes: list[Change], title: str) -> str:
    """Apply changes of a copy, and return the id of the changeset."""
    id = history.new_id()
    folder = history.folder_of(id)
    try:
        for side in ("old", "new"):
            os.makedirs(os.path.join(folder, side), mode=0o700)
        steps = []
        paths = sorted({path for change in changes for path in (change.path, change.old_path)})
        for number, path in enumerate(paths):
            old = _store(os.path.join(workspace, path), os.path.join(folder, "old", str(number)))
            new = _store(os.path.join(copy, path), os.path.join(folder, "new", str(number)))
            steps.append({"path": path, "old": old, "new": new})
        journal = {"workspace": workspace, "time": time.time(), "title": title, "state": "applying"}
        history.write_journal(id, journal | {"changes": [str(change) for change in changes], "steps": steps})
    except BaseException:
        remove_tree(folder)
        raise
    try:
        skipped = finish(id)
    except OSError as error:
        undo(id)
        raise WorkspaceError(f"nothing was applied: {error.strerror}: {error.filename}") from error
    if skipped:
        undo(id)
        raise ConflictError(f"{workspace} changed at this moment, so nothing was applied and the copy remains", skipped)
    return id


def finish(id: str) -> list[str]:
    """Run the steps of a changeset that is not complete, forward or back; return paths with other content.

    These paths stay unchanged.
    """
    journal = history.read_journal(id)
    source, target, state = ("new", "old", "applied") if journal["state"] == "applying" else ("old", "new", "undone")
    skipped = _run_steps(id, journal, source, target)
    changes = [*journal["changes"], *(f"skipped {path}: it was changed meanwhile" for path in skipped)]
    history.write_journal(id, journal | {"state": state, "changes": changes})
    if state == "undone":
        for side in ("old", "new"):
            remove_tree(os.path.join(history.folder_of(id), side))
    return skipped


def undo(id: str) -> None:
    """Restore the old content of every path; nothing if one of them changed since, which is a ConflictError."""
    journal = history.read_journal(id)
    if journal["state"] == "undone":
        raise WorkspaceError(f"{id} is undone already")
    workspace = journal["workspace"]
    conflicts = []
    if journal["state"] == "applied":
        steps = journal["steps"]
        conflicts = [step["path"] for step in steps if not _matches(workspace, step["path"], step["new"])]
    if conflicts:
        raise ConflictError(f"{workspace} changed after {id} was applied, so nothing was undone", conflicts)
    history.write_journal(id, journal | {"state": "undoing"})
    finish(id)


def _store(path: str, target: str) -> Fingerprint:
    """Copy the content of a path into the changeset, and return its fingerprint."""
    state = state_of(path)
    if state is not None and state.kind == "file":
        copy_file(path, target)
        copied = fingerprint(target)
        if copied is not None:
            copied[1] = stat.S_IMODE(state.mode)
        return copied
    return fingerprint(path)


def _matches(workspace: str, path: str, expected: Fingerprint) -> bool:
    """Return whether a path has the expected content; a folder may have another mode."""
    current = fingerprint(os.path.join(workspace, path))
    if current and expected and current[0] == expected[0] == "folder":
        return True
    return current == expected


class _Step(NamedTuple):
    """A path with its content before and after the step."""

    content: str  # the file with the new content
    place: str
    temporary: str
    before: Fingerprint
    after: Fingerprint

    @property
    def makes_folder(self) -> bool:
        return self.after is not None and self.after[0] == "folder"


def _run_steps(id: str, journal: dict[str, Any], source: str, target: str) -> list[str]:  # noqa: C901  (four passes)
    """Bring every path from its content on the side `target` to its content on the side `source`.

    Return the paths that have neither content: they stay unchanged.
    """
    workspace, folder = journal["workspace"], os.path.join(history.folder_of(id), source)
    skipped: list[str] = []
    steps: list[_Step] = []
    for number, record in enumerate(journal["steps"]):
        path, before, after = record["path"], record[target], record[source]
        # Nothing may be there: a kill in the middle of a step, or a deleted file, which is restored.
        if not any(_matches(workspace, path, expected) for expected in (before, after, None)):
            skipped.append(path)
            continue
        parent, name = os.path.split(os.path.join(workspace, path))
        temporary = os.path.join(parent, f".{name[:100]}.{id}.tmp")
        steps.append(_Step(os.path.join(folder, str(number)), os.path.join(parent, name), temporary, before, after))
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(temporary)  # of an interrupted application
    for step in sorted(steps, key=lambda step: step.place, reverse=True):
        if step.before is not None and (step.after is None or step.after[0] != step.before[0]):
            _remove(step)
    for step in steps:
        if step.makes_folder:
            with suppress(FileExistsError):
                os.mkdir(step.place)
    for step in steps:
        if step.after is None or step.makes_folder or fingerprint(step.place) == step.after:
            continue
        if os.path.isdir(step.place) and not os.path.islink(step.place):  # with files that are not recorded
            skipped.append(os.path.relpath(step.place, workspace))
        else:
            _replace(step)
    for step in reversed(steps):
        if step.makes_folder and step.after is not None:
            os.chmod(step.place, int(step.after[1]))
    return skipped


def _replace(step: _Step) -> None:
    """Put the new file or link in the place of the old one."""
    kind, mode, target = step.after or ("file", 0o600, "")
    try:
        if kind == "link":
            os.symlink(str(target), step.temporary)
        else:
            copy_file(step.content, step.temporary)
            os.chmod(step.temporary, int(mode))
        if os.geteuid() == 0:  # the new file belongs to the owner of the old one, or of the folder
            owner = os.lstat(step.place if os.path.lexists(step.place) else os.path.dirname(step.place))
            os.lchown(step.temporary, owner.st_uid, owner.st_gid)
        os.replace(step.temporary, step.place)
    except BaseException:
        with suppress(OSError):
            os.unlink(step.temporary)
        raise


def _remove(step: _Step) -> None:
    """Remove a path with its recorded content; a folder with other files stays."""
    current = fingerprint(step.place)
    if current is None or current == step.after:
        return
    if current[0] == "folder":
        with suppress(OSError):  # it is not empty
            os.rmdir(step.place)
    elif current == step.before:
        os.unlink(step.place)
