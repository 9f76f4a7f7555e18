"""Apply changes to a workspace and undo them: file by file, so that a kill at any point can be repaired.

An application first copies the old content of each path into the folder of its changeset, then writes the journal, and
only then touches the workspace. New files are written beside the old ones before the first of them is replaced. Each
step brings a path from one recorded content to another, and does nothing if it is there already. So an interrupted
application or undo is reverted by running its steps backwards, as often as necessary.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tools_workspace import _history as history
from tools_workspace._changes import Change
from tools_workspace._tree import State, WorkspaceError, fingerprint, is_git_index, remove_tree, state_of

Fingerprint = Sequence[str | int] | None


class ConflictError(WorkspaceError):
    """Files of the workspace changed meanwhile; nothing was applied or undone. `paths` names them."""

    def __init__(self, message: str, paths: Iterable[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(f"{message}: {', '.join(self.paths)}")


def check_originals(workspace: str, copy_id: str, paths: Iterable[str], originals: Mapping[str, Sequence[Any]]) -> None:
    """Raise ConflictError if a path is neither as the copy found it nor as the latest changeset of the copy left it.

    The copy found the states `originals`, and fingerprints for the indexes of git.
    """
    left: dict[str, tuple[Mapping[str, Any], str]] = {}
    for changeset in reversed(history.changesets(workspace)):
        if changeset.copy == copy_id:
            side = "old" if changeset.state == "undone" else "new"
            left |= {step["path"]: (step, side) for step in history.read_journal(changeset.id)["steps"]}

    def has_changed(path: str) -> bool:
        place = os.path.join(workspace, path)
        if path in left:
            return not _is_at(workspace, *left[path])
        if path not in originals or is_git_index(path):
            return fingerprint(place) != originals.get(path)
        state = state_of(place)
        return state is None or state.has_changed(State(*originals[path]))

    if conflicts := [path for path in paths if has_changed(path)]:
        message = f"{workspace} changed since the copy was made, so nothing was applied and the copy remains"
        raise ConflictError(message, conflicts)


def apply(workspace: str, copy: str, changes: Sequence[Change], details: Mapping[str, str]) -> str:
    """Apply changes of the folder `copy`, and return the id of the changeset."""
    id = history.new_id()
    backup = history.backup_of(id)
    try:
        os.makedirs(backup, mode=0o700)
        steps = []
        for path in sorted({path for change in changes for path in (change.path, change.old_path)}):
            old = _back_up(os.path.join(workspace, path), os.path.join(backup, path))
            steps.append({"path": path, "old": old, "new": fingerprint(os.path.join(copy, path))})
        journal = {"workspace": workspace, "time": time.time(), "state": "applying", "steps": steps, **details}
        history.write_journal(id, journal | {"changes": [str(change) for change in changes]})
    except BaseException:
        remove_tree(history.folder_of(id))
        raise
    try:
        skipped = _run_steps(id, "old", "new", copy)
        if skipped:
            message = f"{workspace} changed at this moment, so nothing was applied and the copy remains"
            raise ConflictError(message, skipped)
    except (OSError, WorkspaceError):
        revert(id)
        raise
    history.set_state(id, "applied")
    return id


def undo(id: str) -> None:
    """Restore the old content of every path; nothing if one of them changed since, which is a ConflictError."""
    journal = history.read_journal(id)
    if journal["state"] == "undone":
        raise WorkspaceError(f"{id} is undone already")
    if journal["state"] == "applied":
        workspace = journal["workspace"]
        paths = [step["path"] for step in journal["steps"] if not _is_at(workspace, step, "new")]
        if paths:
            raise ConflictError(f"{workspace} changed after {id} was applied, so nothing was undone", paths)
        history.set_state(id, "undoing")
    revert(id)


def revert(id: str) -> None:
    """Run the steps of a changeset backwards; paths with a content that is neither old nor new stay unchanged."""
    try:
        skipped = _run_steps(id, "new", "old", history.backup_of(id))
    except OSError as error:
        message = f"{error.strerror}: {error.filename}; some files have their new content: undo {id} again"
        raise WorkspaceError(message) from error
    history.set_state(id, "undone", [f"skipped {path}: it was changed meanwhile" for path in skipped])
    remove_tree(history.backup_of(id))


def _back_up(path: str, target: str) -> Fingerprint:
    """Copy a file into the changeset; return the fingerprint of the path."""
    state = state_of(path)
    if state is None or state.kind != "file":
        return fingerprint(path)
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    shutil.copy2(path, target)
    return fingerprint(target)


def _matches(current: Fingerprint, expected: Fingerprint) -> bool:
    """Return whether a path has the expected content; a folder may have another mode."""
    return current == expected or (_is_folder(current) and _is_folder(expected))


def _is_folder(content: Fingerprint) -> bool:
    return content is not None and content[0] == "folder"


def _is_at(workspace: str, step: Mapping[str, Any], side: str) -> bool:
    """Return whether the path of a step has the content of a side; a folder that had to stay, has it too."""
    current = fingerprint(os.path.join(workspace, step["path"]))
    return _matches(current, step[side]) or (_is_folder(current) and _is_folder(step["old"]))


class _Step(NamedTuple):
    """A path of the workspace with its content before and after the step."""

    place: str
    temporary: str  # the new file or link, beside the old one
    source: str  # a file with the content for `after`
    before: Fingerprint
    after: Fingerprint


def _run_steps(id: str, before: str, after: str, source: str) -> list[str]:
    """Bring every path from its content on one side of the journal to its content on the other, from `source`.

    Return the paths that have neither content: they stay unchanged.
    """
    journal = history.read_journal(id)
    steps: list[_Step] = []
    foreign: list[str] = []
    for record in journal["steps"]:
        parent, name = os.path.split(os.path.join(journal["workspace"], record["path"]))
        place, temporary = (os.path.join(parent, file) for file in (name, f".{name[:100]}.{id}.tmp"))
        _unlink(temporary)  # of an interrupted application
        current = fingerprint(place)
        # Nothing may be there: a kill in the middle of a step, or a deleted file, which is restored.
        if current is None or _matches(current, record[before]) or _matches(current, record[after]):
            source_file = os.path.join(source, record["path"])
            steps.append(_Step(place, temporary, source_file, record[before], record[after]))
        else:
            foreign.append(record["path"])
    foreign += [os.path.relpath(place, journal["workspace"]) for place in _replace(steps)]
    return foreign


def _replace(steps: Sequence[_Step]) -> list[str]:
    """Run steps; return the places of new files at which folders with other files stayed."""
    files = [step for step in steps if step.after and not _is_folder(step.after)]
    files = [step for step in files if fingerprint(step.place) != step.after]
    folders = [step for step in steps if _is_folder(step.after)]
    occupied = []
    try:
        _make_folders(folders)
        for step in files:
            if os.path.isdir(os.path.dirname(step.place)):
                _write_temporary(step)
        for step in sorted(steps, key=lambda step: step.place, reverse=True):
            _remove(step)
        _make_folders(folders)
        for step in files:
            if os.path.isdir(step.place) and not os.path.islink(step.place):
                occupied.append(step.place)
                continue
            if not os.path.lexists(step.temporary):
                _write_temporary(step)
            os.replace(step.temporary, step.place)
    finally:
        for step in files:
            _unlink(step.temporary)
    for step in reversed(folders):
        if step.after:
            os.chmod(step.place, int(step.after[1]))
    return occupied


def _make_folders(steps: Iterable[_Step]) -> None:
    for step in steps:
        with suppress(FileExistsError, NotADirectoryError):  # a file is removed later
            os.mkdir(step.place)


def _write_temporary(step: _Step) -> None:
    kind, _, target = step.after or ("file", 0, "")
    if kind == "link":
        os.symlink(str(target), step.temporary)
    else:
        shutil.copy2(step.source, step.temporary)
        if fingerprint(step.temporary, step.place) != step.after:
            raise WorkspaceError(f"{step.source} changed while it was applied, so nothing was applied")
    if os.geteuid() == 0:  # the new file belongs to the owner of the old one, or of the folder
        owner = os.lstat(step.place if os.path.lexists(step.place) else os.path.dirname(step.place))
        os.lchown(step.temporary, owner.st_uid, owner.st_gid)


def _remove(step: _Step) -> None:
    """Remove a path that is deleted, or has another kind; a folder with other files stays."""
    if step.before is None or (step.after is not None and step.after[0] == step.before[0]):
        return
    current = fingerprint(step.place)
    if _is_folder(current) and not _is_folder(step.after):
        with suppress(OSError):  # it is not empty
            os.rmdir(step.place)
    elif current is not None and current == step.before:
        os.unlink(step.place)


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)
