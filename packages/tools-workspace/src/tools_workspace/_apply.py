"""Apply changes to a workspace and undo them: file by file, so that a kill at any point can be repaired.

An application first copies the old content of each path into the folder of its changeset, then writes the journal, and
only then touches the workspace. New files are written beside the old ones before the first of them is replaced. Each
step brings a path from one recorded content to another, and does nothing if it is there already. So an interrupted
application or undo is reverted by running its steps backwards, as often as necessary.

Files get new modification times, by which build tools notice them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from tools_workspace import _history as history
from tools_workspace._change import Change
from tools_workspace._copy import FileCopier
from tools_workspace._entries import entries
from tools_workspace._removal import remove_tree
from tools_workspace._repository import data_of, head_of_object, is_git_index, named
from tools_workspace._steps import Steps, is_at
from tools_workspace._tree import BEYOND, Fingerprint, State, Tree, WorkspaceError

# What `undo` does with files that changed since: nothing at all, leave them unchanged, or replace and save them.
Conflicts: TypeAlias = Literal["refuse", "keep", "overwrite"]
Choose: TypeAlias = Callable[[Sequence[str]], Conflicts]


class ConflictError(WorkspaceError):
    """Files of the workspace changed meanwhile; nothing was applied or undone. `paths` names them."""

    def __init__(self, message: str, paths: Iterable[str]) -> None:
        self.paths = tuple(paths)
        super().__init__(f"{message}: {', '.join(self.paths)}")


def check_originals(workspace: Tree, copy_id: str, paths: Sequence[str], originals: Mapping[str, Any]) -> None:
    """Raise ConflictError if a path is neither as the copy found it nor as the latest changeset of the copy left it.

    The copy found the states `originals`, each with a hash of the content if it is known.
    """
    left = _left_by(workspace, copy_id)
    paths_of_links = frozenset(paths)

    def has_changed(path: str) -> bool:
        if head_of_object(path):  # named by its content; an undo leaves it
            return False
        if path in left:
            return not is_at(workspace, *left[path], paths_of_links)
        if path not in originals:
            return workspace.fingerprint(path, paths_of_links) is not None
        *fields, content = originals[path]
        before, now = State(*fields), workspace.state(path)
        if now is None or now.mode != before.mode or now.kind == "folder":
            return now is None or now.mode != before.mode
        if now == before and not content and not is_git_index(path):
            return False
        current = workspace.fingerprint(path)  # neither times nor sizes tell about the content
        return not content or current is None or current[2] != content

    if conflicts := [path for path in paths if has_changed(path)]:
        message = f"{workspace.path} changed since the copy was made, so nothing was applied and the copy remains"
        raise ConflictError(message, conflicts)


def _left_by(workspace: Tree, copy_id: str) -> dict[str, tuple[Mapping[str, Any], str]]:
    """Return the step and the side of the content that the changesets of a copy left at each path."""
    left: dict[str, tuple[Mapping[str, Any], str]] = {}
    for changeset in reversed(history.changesets(workspace.path)):
        if changeset.copy == copy_id and changeset.state in ("applied", "undone"):
            for step in history.read_journal(changeset.id)["steps"]:
                if changeset.state == "applied":
                    left[step["path"]] = step, "new"
                else:  # later ones were undone before it
                    left.setdefault(step["path"], (step, "old"))
    return left


def apply(
    workspace: Tree, copy: Tree, changes: Sequence[Change], shown: Mapping[str, Fingerprint], details: Mapping[str, str]
) -> str:
    """Apply changes of a copy, whose paths have the fingerprints `shown`; return the id of the changeset."""
    id = history.new_id()
    paths = sorted({path for change in changes for path in (change.path, change.old_path)})
    lines = [entry.text for entry in entries(changes, copy)]
    steps = [{"path": path, "new": shown[path]} for path in paths]
    steps = save(id, "applying", workspace, steps, {**details, "workspace": workspace.path}, lines)
    try:
        if skipped := Steps(id, steps, workspace, copy, "old", "new", keep_owners=True).run():
            message = f"{workspace.path} changed at this moment, so nothing was applied and the copy remains"
            raise ConflictError(message, skipped)
    except (OSError, WorkspaceError):
        revert(workspace, id)
        raise
    history.set_state(id, "applied")
    return id


def save(
    id: str,
    state: str,
    workspace: Tree,
    contents: Sequence[Mapping[str, Any]],
    details: Mapping[str, str],
    lines: Sequence[str],
) -> list[dict[str, Any]]:
    """Copy the old content of all paths into a new changeset, write its journal, and return its steps.

    `contents` have the paths and their new content.
    """
    paths = frozenset(step["path"] for step in contents)
    try:
        remove_tree(history.folder_of(id))  # of a killed process
        os.makedirs(history.backup_of(id), mode=0o700)
        with Tree(history.backup_of(id)) as backup:
            steps = [{**step, "old": _back_up(workspace, backup, step["path"], paths)} for step in contents]
        journal = {"time": time.time(), "state": state, "steps": steps, "changes": lines, **details}
        history.write_journal(id, journal)
    except BaseException:
        remove_tree(history.folder_of(id))
        raise
    return steps


def undo(workspace: Tree, id: str, conflicts: Conflicts | Choose = "refuse") -> None:
    """Restore the old content of every path; `conflicts` says what becomes of paths that changed since."""
    journal = history.read_journal(id)
    if journal["state"] in ("undone", "abandoned"):
        raise WorkspaceError(f"{id} is {journal['state']} already")
    if journal["state"] not in history.UNFINISHED:
        changed = _changed_since(workspace, journal["steps"])
        names = named(step["path"] for step in changed)
        if changed and callable(conflicts):
            conflicts = conflicts(names)
        if changed and conflicts == "refuse":
            raise ConflictError(f"{workspace.path} changed after {id} was applied, so nothing was undone", names)
        if changed and conflicts == "overwrite":
            history.set_state(id, journal["state"], [_replace_changed(workspace, id, changed)])
        elif changed:
            history.set_kept(id, [step["path"] for step in changed])
        history.set_state(id, "undoing")
    revert(workspace, id)


def _changed_since(workspace: Tree, steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the steps whose paths changed since; a repository with one changed file is kept or replaced as a whole."""
    paths = {step["path"] for step in steps}
    changed = {
        step["path"] for step in steps if not any(is_at(workspace, step, side, paths) for side in ("new", "old"))
    }
    repositories = {data_of(path) for path in changed} - {""}
    return [step for step in steps if step["path"] in changed or data_of(step["path"]) in repositories]


def _without_new_objects(steps: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Leave out the new objects of repositories that existed before: later commits, branches and stashes may need them.

    Git removes objects that nothing needs.
    """
    steps = list(steps)
    added = {step["path"] for step in steps if step["old"] is None}
    return [
        step
        for step in steps
        if step["path"] not in added or not (head := head_of_object(step["path"])) or head in added
    ]


def _replace_changed(workspace: Tree, id: str, changed: Sequence[Mapping[str, Any]]) -> str:
    """Restore the old content of paths that changed after a changeset; save what they have now as another changeset."""
    saved = history.new_id()
    changed = _without_new_objects(changed)
    names = named(step["path"] for step in changed)
    details = {"title": f"files that undo {id} replaced", "session": "", "copy": "", "workspace": workspace.path}
    steps = [{"path": step["path"], "new": step["old"]} for step in changed]
    steps = save(saved, "applying", workspace, steps, details, [f"changed {name}" for name in names])
    try:
        with Tree(history.backup_of(id)) as backup:
            Steps(saved, steps, workspace, backup, "old", "new").run()
    except (OSError, WorkspaceError):
        revert(workspace, saved)
        raise
    history.set_state(saved, "saved")
    return f"replaced {', '.join(names)}; to get your version back: ask-tools undo {saved}"


def revert(workspace: Tree, id: str) -> None:
    """Run the steps of a changeset backwards; paths with a content that is neither old nor new stay unchanged."""
    journal = history.read_journal(id)
    unchanged = journal.get("kept", [])
    with Tree(history.backup_of(id)) as backup:
        records = [step for step in _without_new_objects(journal["steps"]) if step["path"] not in unchanged]
        try:
            skipped = [*unchanged, *Steps(id, records, workspace, backup, "new", "old").run()]
        except (OSError, WorkspaceError) as error:
            reason = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else str(error)
            message = (
                f"{reason}; some files have their new content. Free the way and run `ask-tools undo {id}` again, or "
                f"keep them unchanged: `ask-tools undo --abandon {id}`. The old files are in {backup.path}"
            )
            raise WorkspaceError(message) from error
    is_lost = any(step["old"] for step in journal["steps"] if step["path"] in skipped)
    reason = "it was changed meanwhile" + is_lost * f"; the old files are in {history.backup_of(id)}"
    history.set_state(id, "undone", [f"skipped {path}: {reason}" for path in named(skipped)])
    if not is_lost:
        remove_tree(history.backup_of(id))


def abandon(workspace: Tree, id: str) -> None:
    """Keep the files of an unfinished changeset unchanged, and record the content of each: old, new or another."""
    journal = history.read_journal(id)
    if journal["state"] not in history.UNFINISHED:
        raise WorkspaceError(f"{id} is {journal['state']}: only an unfinished changeset can be abandoned")
    paths = {step["path"] for step in journal["steps"]}
    notes = []
    for step in journal["steps"]:
        content = next((side for side in ("new", "old") if is_at(workspace, step, side, paths)), "another")
        notes.append(f"{step['path']} has its {content} content" if content != "another" else f"{step['path']} changed")
    history.set_state(id, "abandoned", notes)


def _back_up(workspace: Tree, backup: Tree, path: str, paths: frozenset[str]) -> Fingerprint:
    """Copy a file into the changeset; return the fingerprint of the path."""
    if workspace.kind(path) != "file":
        content = workspace.fingerprint(path, paths)
        if content == BEYOND:
            raise ConflictError(f"a folder in {workspace.path} became a link, so nothing was applied", [path])
        return content
    target = os.path.join(backup.path, path)
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    with workspace.place(path) as source, backup.place(path) as place:
        FileCopier().copy(path, source, place)
    return backup.fingerprint(path)
