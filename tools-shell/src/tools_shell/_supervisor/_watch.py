"""`ProtectedWatch`: checks what a job writes to git configuration and protected files, and restores them."""

from __future__ import annotations

import errno
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core.linux import inotify_add_watch, inotify_init
from tools_shell._git._config import Setting, is_unsafe, read_config, read_settings, replace_config
from tools_shell._supervisor._request import DENIED, HOOKS
from tools_shell._supervisor._saved import SavedPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._supervisor._request import WatchedFolder

_INTERVAL = 100  # milliseconds between two checks if the kernel does not report changes
_SETTINGS = ("config", "config.worktree")
_POINTERS = (".git", "commondir")  # name a git directory; they may be removed, but not changed
_MAX_RESTORED = 20  # times before the job is ended
_MAX_NAMES = 8  # in a message
_EVENT = struct.Struct("iIII")  # of inotify(7); the name follows


class _File:
    """A watched file, with the content and the inode to restore. A program that writes a file may be in the middle."""

    def __init__(self, folder: int, label: str, name: str) -> None:
        self.folder, self.label, self.name = folder, f"{label}/{name}", name
        self.content: bytes | None = None
        self.inode = 0
        self.is_ignored = False
        try:
            self.content, self.inode = read_config(folder, name) or (None, 0)
        except ValueError:  # it was not a regular file before the command
            self.is_ignored = True


class ProtectedWatch:
    """Checks the files in watched folders; `descriptor` becomes readable when one may have changed."""

    def __init__(self, folders: Sequence[WatchedFolder], git: str) -> None:
        self._git = git
        self._files: list[_File] = []
        self._places: list[SavedPlace] = []
        self._names = {os.fsencode(name) for folder in folders for name in folder.names}
        self._watches: set[int] = set()  # of folders in which every name counts
        self._restored = 0  # times
        self._warnings: list[str] = []
        self.descriptor: int | None = None
        self.interval: int | None = None
        if folders:
            try:
                self.descriptor = inotify_init()
            except OSError:  # a user has a limited number of them
                self.interval = _INTERVAL
        for folder in folders:
            try:
                self._add(folder)
            except OSError as error:
                self._warnings.append(f"{folder.label} is not protected: {error.strerror}")

    def _add(self, folder: WatchedFolder) -> None:
        descriptor = os.open(folder.path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if os.readlink(f"/proc/self/fd/{descriptor}") != folder.path:  # another job has replaced it
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._watch(descriptor)
        for name in folder.names:
            if name in (*_SETTINGS, *_POINTERS):
                self._files.append(_File(descriptor, folder.label, name))
            else:
                label = os.path.normpath(f"{folder.label}/{name}")
                self._places.append(SavedPlace(descriptor, label, name, self._watch_all))

    def _watch(self, folder: int) -> int:
        if self.descriptor is not None:
            try:
                return inotify_add_watch(self.descriptor, f"/proc/self/fd/{folder}")
            except OSError:  # a user has a limited number of them
                self.interval = _INTERVAL
        return -1

    def _watch_all(self, folder: int) -> None:
        self._watches.add(self._watch(folder))

    def has_changed(self, descriptor: int) -> bool:
        """Read the kernel's reports from `descriptor`; return whether they name a watched file."""
        data, has_changed = os.read(descriptor, 1 << 16), False
        while data:
            watch, _, _, length = _EVENT.unpack_from(data)
            name = data[_EVENT.size : _EVENT.size + length].rstrip(b"\0")
            has_changed |= watch == -1 or watch in self._watches or name in self._names  # -1: reports were lost
            data = data[_EVENT.size + length :]
        return has_changed

    def check(self, *, is_last: bool = False) -> str | None:
        """Restore the files with a forbidden change; return a description of the last one, or None.

        The last check also restores the configuration that was removed from a repository.
        """
        problem = None
        for file in self._files:
            if not file.is_ignored:
                problem = self._check(file) or problem
                if is_last and file.name == "config" and file.content is not None:
                    self._restore_removed(file)
        for place in self._places:
            problem = self._check_place(place, is_last=is_last) or problem
        return problem

    def warnings(self) -> list[str]:
        """Return a sentence for each change since the last call that does not end the job."""
        warnings, self._warnings = self._warnings, []
        return warnings

    def _check_place(self, place: SavedPlace, *, is_last: bool) -> str | None:
        try:
            names = place.restore(is_last=is_last)
        except OSError as error:
            return f"{DENIED}{place.label} was changed, and could not be restored: {error.strerror}"
        if not names:
            return None
        shown = ", ".join(name if name.isprintable() else ascii(name) for name in names[:_MAX_NAMES])
        self._restored += 1
        if place.name == HOOKS:
            return f"{DENIED}{shown}: git runs hooks, which only the user can change; they were restored"
        if self._restored > _MAX_RESTORED:
            return f"{DENIED}{shown}: only the user can change this; it was restored"
        self._warnings.append(f"restored {shown}: programs may run it, and only the user can change it")
        return None

    def _check(self, file: _File) -> str | None:
        try:
            current = read_config(file.folder, file.name)
            if current is None or current[0] == file.content:
                return None
            problem = self._problem(file, *current)
        except ValueError as error:
            problem = str(error) if file.name != ".git" else ""  # a folder is a new repository
        if not problem:
            return None
        try:
            replace_config(file.folder, file.name, file.content)
        except OSError as error:
            return f"{DENIED}{problem} in {file.label}, which could not be restored: {error.strerror}"
        return f"{DENIED}{problem} in {file.label} makes git run programs or read other files; the file was restored"

    def _problem(self, file: _File, content: bytes, inode: int) -> str:
        if file.name in _POINTERS:
            return "another repository"
        keys = self._unsafe_keys(file.content, content)
        if keys is None:
            return "a line that git does not accept"
        if content and not keys and inode != file.inode:  # complete: git writes another file and renames it
            file.content, file.inode = content, inode
        return ", ".join(keys)

    def _restore_removed(self, file: _File) -> None:
        with suppress(OSError, ValueError):  # the repository was removed as well
            if read_config(file.folder, file.name) is None:
                replace_config(file.folder, file.name, file.content)

    def _unsafe_keys(self, before: bytes | None, after: bytes) -> list[str] | None:
        """Return the keys of new settings that are unsafe; None if git does not accept the file."""
        settings = read_settings(after, self._git)
        if settings is None:
            return None
        allowed: set[Setting] = {*(read_settings(before or b"", self._git) or ())}
        keys = [setting[0] for setting in settings if setting not in allowed and is_unsafe(setting)]
        return [key if key.isprintable() else ascii(key) for key in dict.fromkeys(keys)]
