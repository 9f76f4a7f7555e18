"""The steps that bring the paths of a workspace from one recorded content to another."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tools_workspace._copy import FileCopier
from tools_workspace._tree import Fingerprint, Tree, WorkspaceError, content_hash, is_folder, open_file, same


class _Step(NamedTuple):
    """A path of the workspace with its content before and after the step."""

    path: str
    temporary: str  # the path of the new file or link, beside the old one
    before: Fingerprint
    after: Fingerprint


def is_at(workspace: Tree, step: Mapping[str, Any], side: str, paths: Collection[str]) -> bool:
    """Return whether the path of a step has the content of a side; a folder that had to stay, has it too."""
    current = workspace.fingerprint(step["path"], paths)
    return same(current, step[side]) or (is_folder(current) and is_folder(step["old"]))


class Steps:
    """The steps of a changeset in one direction: from the content `before` to the content `after`, of `source`."""

    def __init__(
        self,
        id: str,
        records: Sequence[Mapping[str, Any]],
        workspace: Tree,
        source: Tree,
        before: str,
        after: str,
        *,
        keep_owners: bool = False,
    ) -> None:
        """Take the owners of files from `source`, or with `keep_owners` from the old files and the folders."""
        self._workspace, self._source = workspace, source
        self._keep_owners = keep_owners and os.geteuid() == 0
        self._copier = FileCopier()
        self._first: dict[Sequence[object], str] = {}  # temporary files, by the inode of the old file and the content
        self._paths = {record["path"] for record in records}
        self._steps = [
            _Step(record["path"], _temporary(record["path"], id, number), record[before], record[after])
            for number, record in enumerate(records)
        ]

    def run(self) -> list[str]:
        """Run the steps; return the paths with neither content, which stay unchanged."""
        steps, foreign = [], []
        for step in self._steps:
            self._unlink(step.temporary)  # of an interrupted application
            current = self._workspace.fingerprint(step.path, self._paths)
            # Nothing may be there: a kill in the middle of a step, or a deleted file, which is restored.
            if current is None or same(current, step.before) or same(current, step.after):
                steps.append(step)
            else:
                foreign.append(step.path)
        return foreign + self._replace(steps)

    def _replace(self, steps: Sequence[_Step]) -> list[str]:
        """Run steps; return the paths of new files at which folders with other files stayed."""
        files = [step for step in steps if step.after and step.after[0] in ("file", "link")]
        files = [step for step in files if not same(self._workspace.fingerprint(step.path, self._paths), step.after)]
        folders = [step for step in steps if is_folder(step.after)]
        occupied = []
        try:
            self._make_folders(folders)
            for step in files:
                if self._is_reachable(step.path):
                    self._write_temporary(step)
            for step in sorted(steps, key=lambda step: step.path, reverse=True):
                self._remove(step)
            self._make_folders(folders)
            for step in files:
                if self._workspace.kind(step.path) == "folder":
                    occupied.append(step.path)
                    continue
                if not self._workspace.kind(step.temporary):
                    self._write_temporary(step)
                with self._workspace.place(step.path) as (folder, name):
                    temporary = step.temporary.rpartition("/")[2]
                    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            for step in files:
                self._unlink(step.temporary)
        for step in reversed(folders):
            if step.after is not None:
                with self._workspace.folder(step.path) as folder:
                    os.fchmod(folder, int(step.after[1]))
        return occupied

    def _is_reachable(self, path: str) -> bool:
        """Return whether the parent of a path is a folder now; a step may create it, or replace a link by it."""
        parent = path.rpartition("/")[0]
        return not parent or self._workspace.kind(parent) == "folder"

    def _make_folders(self, steps: Sequence[_Step]) -> None:
        for step in steps:
            if self._is_reachable(step.path):
                with suppress(FileExistsError), self._workspace.place(step.path) as (folder, name):
                    os.mkdir(name, dir_fd=folder)

    def _write_temporary(self, step: _Step) -> None:
        """Write the new file or link beside the old one; WorkspaceError if its source has another content."""
        kind, mode, content = step.after or ("", 0, "")
        with self._workspace.place(step.path) as (folder, old):
            name = step.temporary.rpartition("/")[2]
            if kind == "link":
                os.symlink(str(content), name, dir_fd=folder)
            elif self._source.kind(step.path) != kind or self._copy(step, folder, name) != (mode, content):
                raise WorkspaceError(f"{step.path} changed since it was shown, so nothing was applied")
            if self._keep_owners:
                _keep_owner(folder, old, name)

    def _copy(self, step: _Step, folder: int, name: str) -> tuple[int, str]:
        """Copy a file, or keep a hard link of the workspace; return the mode and the hash of the new file."""
        old, content = self._workspace.state(step.path), ""
        first = self._first.setdefault((old.inode if old else step.path, *(step.after or ())), step.temporary)
        with suppress(OSError), self._workspace.place(first) as (other, link):
            os.link(link, name, src_dir_fd=other, dst_dir_fd=folder, follow_symlinks=False)
        if not self._workspace.kind(step.temporary):
            with self._source.place(step.path) as source:
                content = self._copier.copy(step.path, source, (folder, name))
        state = self._workspace.state(step.temporary)
        with self._workspace.file(step.temporary) as file:
            return stat.S_IMODE(state.mode) if state else 0, content or content_hash(step.path, file)

    def _remove(self, step: _Step) -> None:
        """Remove a path that is deleted, or has another kind; a folder with other files stays."""
        if step.before is None or (step.after is not None and step.after[0] == step.before[0]):
            return
        current = self._workspace.fingerprint(step.path, self._paths)
        if current is None or not self._is_reachable(step.path):
            return
        with self._workspace.place(step.path) as (folder, name):
            if is_folder(current) and not is_folder(step.after):
                with suppress(OSError):  # it is not empty
                    os.rmdir(name, dir_fd=folder)
            elif same(current, step.before):
                os.unlink(name, dir_fd=folder)

    def _unlink(self, path: str) -> None:
        """Remove a temporary file, if it is there."""
        with suppress(OSError), self._workspace.place(path) as (folder, name):
            os.unlink(name, dir_fd=folder)


def _keep_owner(folder: int, old: str, new: str) -> None:
    """Let a new file belong to the owner of the old one, or of the folder."""
    try:
        owner = os.stat(old, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        owner = os.fstat(folder)
    mode = os.stat(new, dir_fd=folder, follow_symlinks=False).st_mode
    os.chown(new, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISREG(mode):
        descriptor = open_file(folder, new)
        os.fchmod(descriptor, stat.S_IMODE(mode))  # a new owner removes set-uid
        os.close(descriptor)


def _temporary(path: str, id: str, number: int) -> str:
    """Return the path of a temporary file beside a path; its name is short, whatever the name of the file."""
    parent, slash, _ = path.rpartition("/")
    return f"{parent}{slash}.{id}-{number}.tmp"
