"""Apply changes to a workspace and undo them: file by file, so that a kill at any point can be repaired.

An application first copies the old content of each path into the folder of its changeset, then writes the journal, and
only then touches the workspace. New files are written beside the old ones before the first of them is replaced. Each
step brings a path from one recorded content to another, and does nothing if it is there already. So an interrupted
application or undo is reverted by running its steps backwards, as often as necessary.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tools_workspace import _history as history
from tools_workspace._changes import Change
from tools_workspace._tree import State, WorkspaceError, copy_file, fingerprint, remove_tree, state_of

Fingerprint = Sequence[str | int] | None


class ConflictError(WorkspaceError):
    """Files of the workspace changed meanwhile; nothing was applied or undone. `paths` names them."""

    def __init__(self, message: str, paths: Iterable[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(f"{message}: {', '.join(self.paths)}")


def check_originals(
    workspace: str,
    copy_id: str,
    paths: Iterable[str],
    originals: Mapping[str, Sequence[int]],
    fingerprints: Mapping[str, Fingerprint],
) -> None:
    """Raise ConflictError if a path is neither as the copy found it nor as the latest changeset of the copy left it.

    The copy found the states `originals`, or for some files the `fingerprints`.
    """
    left = {path: ({"path": path, "old": content}, "old") for path, content in fingerprints.items()}
    for changeset in reversed(history.changesets(workspace)):
        if changeset.copy == copy_id:
            side = "old" if changeset.state == "undone" else "new"
            left |= {step["path"]: (step, side) for step in history.read_journal(changeset.id)["steps"]}
    conflicts = []
    for path in paths:
        now = state_of(os.path.join(workspace, path))
        then = State(*originals[path]) if path in originals else None
        if path in left:
            is_same = _is_at(workspace, *left[path])
        elif now and then:
            is_same = not now.has_changed(then)
        else:
            is_same = now is then
        if not is_same:
            conflicts.append(path)
    if conflicts:
        message = f"{workspace} changed since the copy was made, so nothing was applied and the copy remains"
        raise ConflictError(message, conflicts)


def apply(workspace: str, copy: str, changes: Sequence[Change], details: Mapping[str, str]) -> str:
    """Apply changes of the folder `copy`, and return the id of the changeset."""
    id = history.new_id()
    kept = os.path.join(history.folder_of(id), "old")
    paths = sorted({path for change in changes for path in (change.path, change.old_path)})
    try:
        os.makedirs(kept, mode=0o700)
        steps = []
        for number, path in enumerate(paths):
            old = _keep(os.path.join(workspace, path), os.path.join(kept, str(number)))
            steps.append({"path": path, "old": old, "new": fingerprint(os.path.join(copy, path))})
        journal = {"workspace": workspace, "time": time.time(), "state": "applying", "steps": steps, **details}
        history.write_journal(id, journal | {"changes": [str(change) for change in changes]})
    except BaseException as error:
        remove_tree(history.folder_of(id))
        raise _explained(error) from error
    try:
        skipped = _run_steps(id, "old", "new", [os.path.join(copy, path) for path in paths])
        if skipped:
            message = f"{workspace} changed at this moment, so nothing was applied and the copy remains"
            raise ConflictError(message, skipped)
    except (OSError, WorkspaceError) as error:
        revert(id)
        raise _explained(error) from error
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
    try:
        revert(id)
    except OSError as error:
        message = f"{error.strerror}: {error.filename}; some files have their new content: undo {id} again"
        raise WorkspaceError(message) from error


def revert(id: str) -> None:
    """Run the steps of a changeset backwards; paths with a content that is neither old nor new stay unchanged."""
    journal = history.read_journal(id)
    kept = os.path.join(history.folder_of(id), "old")
    skipped = _run_steps(id, "new", "old", [os.path.join(kept, str(number)) for number in range(len(journal["steps"]))])
    history.set_state(id, "undone", [f"skipped {path}: it was changed meanwhile" for path in skipped])
    remove_tree(kept)


def _explained(error: BaseException) -> BaseException:
    if isinstance(error, OSError):
        return WorkspaceError(f"nothing was applied: {error.strerror}: {error.filename}")
    return error


def _keep(path: str, target: str) -> Fingerprint:
    """Copy a file into the changeset; return the fingerprint of the path."""
    state = state_of(path)
    if state is None or state.kind != "file":
        return fingerprint(path)
    copy_file(path, target)
    return fingerprint(target, path)


def _matches(path: str, expected: Fingerprint) -> bool:
    """Return whether a path has the expected content; a folder may have another mode."""
    current = fingerprint(path)
    if current and expected and current[0] == expected[0] == "folder":
        return True
    return current == expected


def _is_at(workspace: str, step: Mapping[str, Any], side: str) -> bool:
    """Return whether the path of a step has the content of a side; a folder that had to stay, has it too."""
    place = os.path.join(workspace, step["path"])
    had_folder = bool(step["old"]) and step["old"][0] == "folder"
    return _matches(place, step[side]) or (had_folder and _matches(place, step["old"]))


class _Step(NamedTuple):
    """A path with its content before and after the step."""

    place: str
    temporary: str
    before: Fingerprint
    after: Fingerprint
    source: str  # a file with the content for `after`

    @classmethod
    def of(cls, place: str, id: str, before: Fingerprint, after: Fingerprint, source: str) -> _Step:
        """Return a step, without the temporary file of an interrupted application."""
        parent, name = os.path.split(place)
        temporary = os.path.join(parent, f".{name[:100]}.{id}.tmp")
        _unlink(temporary)
        return cls(place, temporary, before, after, source)

    @property
    def makes_folder(self) -> bool:
        return self.after is not None and self.after[0] == "folder"


def _run_steps(id: str, before: str, after: str, sources: Sequence[str]) -> list[str]:
    """Bring every path from its content on one side of the journal to its content on the other.

    Return the paths that have neither content: they stay unchanged.
    """
    workspace, records = (history.read_journal(id)[name] for name in ("workspace", "steps"))
    steps = [
        _Step.of(os.path.join(workspace, record["path"]), id, record[before], record[after], source)
        for record, source in zip(records, sources, strict=True)
    ]
    # Nothing may be there: a kill in the middle of a step, or a deleted file, which is restored.
    foreign = [
        step for step in steps if not any(_matches(step.place, content) for content in (step.before, step.after, None))
    ]
    steps = [step for step in steps if step not in foreign]
    files = [step for step in steps if step.after and not step.makes_folder and fingerprint(step.place) != step.after]
    try:
        _make_folders(steps)
        for step in files:
            if os.path.isdir(os.path.dirname(step.place)):
                _write_temporary(step)
        for step in sorted(steps, key=lambda step: step.place, reverse=True):
            _remove(step)
        _make_folders(steps)
        for step in files:
            if os.path.isdir(step.place) and not os.path.islink(step.place):  # it has files that are not recorded
                foreign.append(step)
                continue
            if not os.path.lexists(step.temporary):
                _write_temporary(step)
            os.replace(step.temporary, step.place)
    finally:
        for step in files:
            _unlink(step.temporary)
    for step in reversed(steps):
        if step.makes_folder and step.after is not None:
            os.chmod(step.place, int(step.after[1]))
    return [os.path.relpath(step.place, workspace) for step in foreign]


def _make_folders(steps: Iterable[_Step]) -> None:
    for step in steps:
        if step.makes_folder:
            with suppress(FileExistsError, NotADirectoryError):  # a file is removed later
                os.mkdir(step.place)


def _write_temporary(step: _Step) -> None:
    """Write the new file or link beside the old one."""
    kind, _, target = step.after or ("file", 0, "")
    if kind == "link":
        os.symlink(str(target), step.temporary)
    else:
        copy_file(step.source, step.temporary)
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
    if current is None or current == step.after:
        return
    if current[0] == "folder":
        with suppress(OSError):  # it is not empty
            os.rmdir(step.place)
    elif current == step.before:
        os.unlink(step.place)


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)
