"""`Guard`: finds the protected places in writable folders, and makes mounts and placeholders that protect them."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from tools_core.files import CONTROL_FILES, PROTECTED_FOLDERS, fold_name, is_inside, is_protected
from tools_shell._sandbox._repositories import walk
from tools_shell._supervisor._placeholders import Placeholder, is_placeholder, occupy, remove_placeholders

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_shell._sandbox._visible import Visible

_MOST_MOUNTS = 150  # each needs a descriptor, of which one message carries 253
_PIN = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW
# The content of placeholders in repositories; None for a folder. This `commondir` refers to the git directory itself.
_EMPTY = {"hooks": None, "config": b"", "config.worktree": b"", "commondir": b".\n", "hgrc": b""}


class Mount(NamedTuple):
    """A file or folder to mount on its own path, read-only unless `writable`."""

    path: str
    descriptor: int
    writable: bool


class Guard:
    """Opens the protected places, and creates placeholders for those that do not exist.

    The parent folders of a protected place become writable mounts, because mounts cannot be moved. Placeholders are
    folders at the top of the workspace; `has_new_places` finds other places that a command creates. `is_complete` is
    False if a place could not be guarded, such as a link.
    """

    def __init__(self, workspace: str, seen: Visible, names: frozenset[str]) -> None:
        self.mounts: list[Mount] = []
        self.placeholders: list[Placeholder] = []
        self.is_complete = True
        self.is_taken = False  # a supervisor removes the placeholders
        self._writable = seen.writable
        self._read_only = tuple(filter(seen.can_be_guarded, seen.guarded))
        self._names = names
        self._folders: dict[str, int] = {}
        self._held: set[int] = set()
        self._done: set[str] = set()
        self._controlled: set[str] = set()
        self._known: set[str] = set()
        roots = [path for path in seen.writable if os.path.isdir(path)]
        self._tops = list(dict.fromkeys((workspace, *roots)))
        try:
            for root in roots:
                self._folders[root] = self._hold(os.open(root, _PIN | os.O_DIRECTORY))
            for top in self._tops:
                self._add(top)
        except BaseException:
            self.close()
            raise

    @property
    def ignore(self) -> str:
        """Return the placeholders in working trees as a git ignore file."""
        return "".join(f"/{each.name}/\n" for each in self.placeholders if each.name.startswith("."))

    @property
    def descriptors(self) -> list[int]:
        """Return one descriptor for each mount, and two for each placeholder, which the supervisor removes."""
        placed = [number for each in self.placeholders for number in (each.folder, each.descriptor)]
        return [*(mount.descriptor for mount in self.mounts), *placed]

    def close(self) -> None:
        """Close all descriptors, and remove the placeholders unless a supervisor has them."""
        if self.is_taken:
            self._held.update(placeholder.descriptor for placeholder in self.placeholders)
        else:
            remove_placeholders(self.placeholders)
        for descriptor in self._held:
            os.close(descriptor)

    def has_new_places(self) -> bool:
        """Return whether there are protected places that did not exist before."""
        found = (place for top in self._tops for place in self._places(top))
        return any(place not in self._known and not _is_placeholder(place) for place in found) or not self.is_complete

    def _places(self, top: str) -> Iterator[str]:
        """Yield the protected names and the git directories below a folder."""
        for path, listing in walk(top, self._names):
            if listing is None:
                self.is_complete = False
                return
            yield from (f"{path}/{name}" for name in listing.protected)
            if listing.is_git_directory and ".git" in self._names:
                yield path

    def _add(self, top: str) -> None:
        for name in sorted((self._names & PROTECTED_FOLDERS) - {".git"}):  # `git init` has to work
            self._protect(f"{top}/{name}")
        for place in self._places(top):
            self._known.add(place)
            if is_protected(os.path.basename(place), self._names):
                self._protect(place)
                continue
            try:
                self._add_control(place, CONTROL_FILES[".git"])
            except OSError:  # as in `_protect`
                self.is_complete = False

    def _protect(self, path: str, content: bytes | None = None) -> None:
        """Protect a place, and the git directory that it refers to, from being changed or created.

        Its placeholder is a folder if `content` is None.
        """
        if path in self._done or is_inside(path, self._read_only):
            return
        self._done.add(path)
        folder, _, name = path.rpartition("/")
        try:
            parent = self._open(folder)
            found = os.stat(name, dir_fd=parent, follow_symlinks=False) if os.path.lexists(path) else None
            if found is None or is_placeholder(found):
                self.placeholders.append(occupy(parent, name, content))
                self._mount(path, self.placeholders[-1].descriptor)
            elif stat.S_ISLNK(found.st_mode):
                self.is_complete = False  # a link can be replaced
            elif stat.S_ISDIR(found.st_mode) and fold_name(name) in CONTROL_FILES:
                self._add_control(path, CONTROL_FILES[fold_name(name)])
            else:
                self._mount(path, self._hold(os.open(name, _PIN, dir_fd=parent)))
                self.is_complete &= not _has_other_names(path, found)
                if fold_name(name) == ".git" and stat.S_ISREG(found.st_mode):
                    self._protect_git_directory(path, b"gitdir:")
        except OSError:  # changed in the meantime, not permitted, or the file system is full
            self.is_complete = False

    def _protect_git_directory(self, path: str, prefix: bytes) -> None:
        """Guard the git directory that a file refers to: `.git` of a worktree or submodule, or `commondir`."""
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            named = file.read(4096).removeprefix(prefix).strip()
        target = os.path.realpath(os.path.join(os.path.dirname(path), os.fsdecode(named)))
        if is_inside(target, self._writable):
            self._add_control(target, CONTROL_FILES[".git"])

    def _add_control(self, folder: str, names: Sequence[str]) -> None:
        """Guard the hooks and configuration of a repository."""
        if folder in self._controlled or is_inside(folder, self._read_only):
            return
        self._controlled.add(folder)
        self._open(folder)
        common = f"{folder}/commondir"
        is_linked = os.path.lexists(common) and not is_placeholder(os.lstat(common))
        for name in ("commondir", "config.worktree") if is_linked else names:
            self._protect(f"{folder}/{name}", _EMPTY[name])
        if is_linked:
            self._protect_git_directory(common, b"")

    def _open(self, path: str) -> int:
        """Open a folder without following links, as a writable mount that cannot be moved."""
        if path not in self._folders:
            parent, _, name = path.rpartition("/")
            if not is_inside(path, self._writable):
                raise OSError(errno.EXDEV, "not in a writable folder", path)
            self._folders[path] = self._hold(os.open(name, _PIN | os.O_DIRECTORY, dir_fd=self._open(parent)))
            self._mount(path, self._folders[path], writable=True)
        return self._folders[path]

    def _hold(self, descriptor: int) -> int:
        self._held.add(descriptor)
        return descriptor

    def _mount(self, path: str, descriptor: int, *, writable: bool = False) -> None:
        if len(self.mounts) < _MOST_MOUNTS:
            self.mounts.append(Mount(path, descriptor, writable))
        else:
            self.is_complete = False


def _has_other_names(path: str, found: os.stat_result) -> bool:
    """Return whether a file, or one in a folder, can be changed by another name: it has more links, or is one."""
    if not stat.S_ISDIR(found.st_mode):
        return found.st_nlink > 1
    with os.scandir(path) as entries:
        return any(
            entry.is_symlink() or (entry.is_file() and entry.stat(follow_symlinks=False).st_nlink > 1)
            for entry in entries
        )


def _is_placeholder(path: str) -> bool:
    """Return whether a path is an empty placeholder of another command, or has been removed in the meantime."""
    try:
        return is_placeholder(os.lstat(path)) and not os.listdir(path)
    except NotADirectoryError:
        return False
    except FileNotFoundError:
        return True
