"""`Guard`: protects the files with protected names in the workspace, and reports new ones."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tools_core.files import CONTROL_FILES, fold_name, is_inside, is_protected
from tools_shell._git._config import (
    format_settings,
    is_unsafe,
    read_config,
    read_settings,
    remove_hooks,
    replace_config,
)
from tools_shell._sandbox._repositories import PARTS_OF_GIT, walk
from tools_shell._supervisor._request import WatchedFolder
from tools_shell._supervisor._saved import MAX_FILES, MAX_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_shell._sandbox._visible import Visible

    State: TypeAlias = tuple[int, ...]

_MAX_MOUNTS = 200  # each needs a descriptor, of which one message carries 253
_MAX_WATCHED = 1000  # folders
_MAX_WARNINGS = 8
_MAX_FRESH = 10_000
_PIN = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW
_CONFIG = ("config", "config.worktree")
_REVIEW = "programs may run it; review it before you open the folder"

# Folders that contain a repository and that a command of this process created, by path: device and inode.
_fresh: dict[str, State] = {}


class Mount(NamedTuple):
    """A file or folder to mount on its own path, read-only unless `writable`."""

    path: str
    descriptor: int
    writable: bool


class Guard:
    """Opens the protected places that exist before a command, and compares them with the later ones.

    `mounts` make them read-only; their parent folders become writable mounts, because mounts cannot be moved. Only the
    places of the workspace itself are mounted. Commands may delete the folders below it, so a supervisor restores
    the places there. It also checks the configuration of repositories, which has to stay writable. A new folder that a
    command of this process created is not protected. `is_complete` is False if a place could not be guarded, such as
    a link.
    """

    def __init__(self, workspace: str, view: Visible, names: frozenset[str], git: str, *, mounts: bool) -> None:
        """`git` is the program that reads configuration; without it, none is checked.

        `mounts` is False if the level does not mount.
        """
        self.git = git
        self.mounts: list[Mount] = []
        self.watched: list[WatchedFolder] = []
        self.restored: list[str] = []  # sentences of the supervisor
        self.places: list[str] = []  # protected files and folders that exist, for levels that do not mount
        self.is_complete = True
        self._can_mount = mounts
        self._workspace, self._names, self._writable = workspace, names, view.writable
        self._read_only = tuple(filter(view.can_be_guarded, view.guarded))
        self._hidden = view.hidden
        self._folders: set[str] = set()  # that existed before the command
        self._repositories: dict[str, State] = {}
        self._states: dict[str, State] = {}  # of protected files, when they were last compared
        self._mounted: set[str] = set()
        self._saved: dict[str, State] = {}  # places that the supervisor restores, with the identity of their folder
        self._opened: dict[str, int] = {}
        self._held: set[int] = set()
        self._has_warned = False
        roots = [path for path in view.writable if os.path.isdir(path)]
        self._tops = list(dict.fromkeys((workspace, *roots)))
        try:
            for root in roots:
                self._opened[root] = self._hold(os.open(root, _PIN | os.O_DIRECTORY))
            for top in self._tops:
                for place, is_repository in self._places(top, self._folders):
                    self._add(place, is_repository=is_repository)
        except BaseException:
            self.close()
            raise

    @property
    def descriptors(self) -> list[int]:
        """Return one descriptor for each mount."""
        return [mount.descriptor for mount in self.mounts]

    @property
    def is_intact(self) -> bool:
        """Return whether all places were guarded, and no protected file has been created or changed."""
        return self.is_complete and not self._has_warned

    def close(self) -> None:
        """Close all descriptors."""
        for descriptor in self._held:
            os.close(descriptor)
        self._held = set()

    def warnings(self) -> list[str]:
        """Return a sentence for each protected file that was created or changed since the last call."""
        sentences: list[str] = []
        for top in self._tops:
            new: set[str] = set()
            for place, is_repository in self._places(top, new):
                try:
                    self._remember(place)
                    if is_repository:
                        sentences += self._neutralized(place)
                    sentences += self._changes(place, is_repository=is_repository)
                except OSError:  # removed in the meantime, or not permitted
                    continue
        self._has_warned |= bool(sentences)
        sentences[:0], self.restored[:] = self.restored, []
        if (rest := len(sentences) - _MAX_WARNINGS) > 0:
            sentences[_MAX_WARNINGS:] = [f"created or changed {rest} more protected files"]
        return sentences

    def _places(self, top: str, folders: set[str]) -> Iterator[tuple[str, bool]]:
        """Yield the protected places below a folder, and whether each is a git directory; add all folders to a set."""
        for path, listing in walk(top, self._names):
            if listing is None:
                self.is_complete = False
                return
            folders.add(path)
            if is_inside(path, self._hidden):
                continue
            for name in listing.protected:
                place = f"{path}/{name}"
                yield place, fold_name(name) == ".git" and _is_folder(place)
            if listing.is_git_directory and ".git" in self._names:
                yield path, True

    def _add(self, place: str, *, is_repository: bool) -> None:
        """Guard a place that exists before the command."""
        try:
            for path in _files(place, is_repository=is_repository):
                self._states[path] = _state(path)
            if is_inside(place, self._read_only):
                return
            if is_repository:
                self._add_repository(place)
                return
            name = fold_name(os.path.basename(place))
            if _is_folder(place) and name in CONTROL_FILES:
                for part in CONTROL_FILES[name]:
                    self._protect(f"{place}/{part}")
            elif name == ".git" and not os.path.islink(place):  # of a worktree or submodule
                self._watch_git(os.path.dirname(place), (".git",))
                if self._is_top(place):
                    self._protect(place)
                self._add_repository(_git_directory(place))
            else:
                self._protect(place)
        except OSError:  # changed in the meantime, not permitted, or too many files are open
            self.is_complete = False

    def _add_repository(self, folder: str) -> None:
        if folder in self._repositories or is_inside(folder, self._read_only):
            return
        if not is_inside(folder, self._writable):
            return  # commands cannot change it
        self._repositories[folder] = _identity(folder)
        self._watch_git(folder, (*_CONFIG, "commondir"))
        if not self.git:
            self._protect(f"{folder}/config")
        if os.path.lexists(f"{folder}/commondir"):
            self._add_repository(_git_directory(f"{folder}/commondir"))
        else:
            self._protect(f"{folder}/hooks")

    def _watch_git(self, folder: str, names: tuple[str, ...]) -> None:
        """Let the supervisor check the files of a repository that git reads."""
        if not self.git:
            return
        if self._is_top(f"{folder}/config") and self._mounts_in(folder):
            self._open(folder)
        self._watch(folder, names)

    def _watch(self, folder: str, names: tuple[str, ...]) -> None:
        if len(self.watched) < _MAX_WATCHED:
            self.watched.append(WatchedFolder(folder, self._shown(folder), names))
        else:
            self.is_complete = False

    def _protect(self, path: str) -> None:
        """Mount a place read-only or let the supervisor restore it.

        Nothing happens if the level does not mount, or if the place is in a new folder of a command.
        """
        self.places.append(path)
        if not self._mounts_in(path) or not os.path.lexists(path):
            return
        folder, _, name = path.rpartition("/")
        states = _states_below(path)
        if not self._is_top(path) and len(states) <= MAX_FILES and sum(state.st_size for state in states) <= MAX_SIZE:
            self._watch(folder, (name,))
            self._saved[path] = _identity(folder)
        else:
            descriptor = self._hold(os.open(name, _PIN, dir_fd=self._open(folder)))
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):  # it can be replaced
                self.is_complete = False
                return
            self._mount(path, descriptor)
            self._mounted.add(path)
        self.is_complete &= not any(map(_has_other_name, states))

    def _is_top(self, path: str) -> bool:
        """Return whether a place belongs to the workspace itself, not to a folder below it, which may be deleted."""
        top = max((top for top in self._tops if is_inside(path, [top])), key=len)
        parts = path[len(top) :].strip("/").split("/")
        is_of_top = len(parts) == 1 or any(is_protected("/".join(parts[:end]), self._names) for end in (1, 2))
        return is_of_top and not (parts[0] == ".git" and len(parts) > 1 and parts[1] in PARTS_OF_GIT)

    def _mounts_in(self, path: str) -> bool:
        if not self._can_mount:
            return False
        above = (folder for folder in _fresh if is_inside(path, [folder]))
        return not any(_identity(folder) == _fresh[folder] for folder in above if _is_folder(folder))

    def _open(self, path: str) -> int:
        """Open a folder without following links, as a writable mount that cannot be moved."""
        if path not in self._opened:
            parent, _, name = path.rpartition("/")
            if not is_inside(path, self._writable):
                raise OSError(errno.EXDEV, "not in a writable folder", path)
            descriptor = os.open(name, _PIN | os.O_DIRECTORY, dir_fd=self._open(parent))
            self._opened[path] = self._hold(descriptor)
            self._mount(path, descriptor, writable=True)
        return self._opened[path]

    def _mount(self, path: str, descriptor: int, *, writable: bool = False) -> None:
        if len(self.mounts) < _MAX_MOUNTS:
            self.mounts.append(Mount(path, descriptor, writable))
        else:
            self.is_complete = False

    def _hold(self, descriptor: int) -> int:
        self._held.add(descriptor)
        return descriptor

    def _changes(self, place: str, *, is_repository: bool) -> Iterator[str]:
        """Yield a sentence for each file of a place that is new or different."""
        for path in _files(place, is_repository=is_repository):
            state, before = _state(path), self._states.get(path)
            if state == before or is_inside(path, self._mounted) or self._is_saved(path):
                continue
            self._states[path] = state
            if path == place and fold_name(os.path.basename(path)) == ".git" and not os.path.islink(path):
                yield from self._neutralized_at(path)  # a worktree or submodule, which git creates, too
            else:
                yield f"{'created' if before is None else 'changed'} {self._shown(path)}: {_REVIEW}"

    def _is_saved(self, path: str) -> bool:
        """Return whether the supervisor restores a file."""
        places = (place for place in self._saved if is_inside(path, [place]))
        return any(_identity(os.path.dirname(place)) == self._saved[place] for place in places)

    def _neutralized_at(self, path: str) -> list[str]:
        """Like `_neutralized` for the repository that a file names, and also return sentences about its new hooks."""
        folder = _git_directory(path)
        sentences = self._neutralized(folder)
        return [*sentences, *self._changes(folder, is_repository=True)] if is_inside(folder, self._writable) else []

    def _neutralized(self, folder: str) -> list[str]:
        """Remove the settings from a new repository that make git run programs, and return sentences about them."""
        identity = _identity(folder)
        if not (self.git and is_inside(folder, self._writable)) or self._repositories.get(folder) == identity:
            return []
        sentences = []
        pinned = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if folder in self._repositories and remove_hooks(pinned):
                sentences.append(f"removed the hooks of {self._shown(folder)}: a command has replaced the repository")
            for name in _CONFIG:
                path = f"{folder}/{name}"
                if os.path.lexists(path) and self._states.get(path) != _state(path):
                    sentences += self._without_unsafe_settings(pinned, name, self._shown(path))
                    self._states[path] = _state(path)
        finally:
            os.close(pinned)
        if os.path.lexists(f"{folder}/commondir"):
            self._repositories[folder] = identity  # no second visit, also if the two name each other
            sentences += self._neutralized_at(f"{folder}/commondir")
        return sentences

    def _without_unsafe_settings(self, folder: int, name: str, label: str) -> list[str]:
        try:
            data, _ = read_config(folder, name) or (b"", 0)
        except ValueError:  # a link, for example
            settings = None
        else:
            settings = read_settings(data, self.git)
        unsafe = [setting for setting in settings or [] if self._is_unsafe(setting, folder)]
        if settings is not None and not unsafe:
            return []
        remaining = [setting for setting in settings or [] if setting not in unsafe]
        replace_config(folder, name, format_settings(remaining).encode("utf-8", "surrogateescape"))
        keys = ", ".join(dict.fromkeys(key if key.isprintable() else ascii(key) for key, _ in unsafe[:_MAX_WARNINGS]))
        return [f"removed {keys or 'all settings'} from {label}: git would run programs or read other files"]

    def _is_unsafe(self, setting: tuple[str, str | None], folder: int) -> bool:
        if setting[0] == "core.worktree":  # in the git directory of a submodule
            place = os.path.realpath(os.path.join(os.readlink(f"/proc/self/fd/{folder}"), setting[1] or ""))
            return not is_inside(place, self._writable)
        return is_unsafe(setting)

    def _remember(self, place: str) -> None:
        """Remember the outermost folder that the command created and that contains a place."""
        folder = os.path.dirname(place)
        if folder in self._folders:
            return
        while (parent := os.path.dirname(folder)) not in self._folders and parent != folder:
            folder = parent
        if len(_fresh) < _MAX_FRESH:
            _fresh[folder] = _identity(folder)

    def _shown(self, path: str) -> str:
        name = os.path.relpath(path, self._workspace) if is_inside(path, [self._workspace]) else path
        return name if name.isprintable() else ascii(name)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _identity(path: str) -> State:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def _state(path: str) -> State:
    status = os.lstat(path)
    return status.st_dev, status.st_ino, status.st_ctime_ns  # commands can set the modification time


def _files(place: str, *, is_repository: bool) -> list[str]:
    """Return the files of a protected place that programs run or trust: the place itself unless it has files."""
    name = fold_name(os.path.basename(place))
    if is_repository:
        hooks = f"{place}/hooks"
        names = sorted(os.listdir(hooks)) if _is_folder(hooks) else ()
        return [f"{hooks}/{name}" for name in names if not name.endswith(".sample")][:MAX_FILES]
    if not _is_folder(place):
        return [place]
    if name in CONTROL_FILES:
        return [path for part in CONTROL_FILES[name] if os.path.lexists(path := f"{place}/{part}")]
    files: list[str] = []
    for folder, _, names in os.walk(place):
        files += [f"{folder}/{name}" for name in sorted(names)]
        if len(files) > MAX_FILES:
            break
    return files[:MAX_FILES] or [place]


def _states_below(path: str) -> list[os.stat_result]:
    """Return the states of a file, or of what is in a folder, without samples of hooks; too many are left out."""
    if not _is_folder(path):
        return [os.lstat(path)]
    states: list[os.stat_result] = []
    for folder, folders, names in os.walk(path):
        states += [os.lstat(f"{folder}/{name}") for name in (*folders, *names) if not name.endswith(".sample")]
        if len(states) > MAX_FILES:
            break
    return states


def _has_other_name(status: os.stat_result) -> bool:
    """Return whether a file can be changed by another name: it has more links, or is one."""
    return stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink > 1)


def _git_directory(path: str) -> str:
    """Return the git directory that a file names: `.git` of a worktree or submodule, or `commondir`."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        target = file.read(4096).removeprefix(b"gitdir:").strip()
    return os.path.realpath(os.path.join(os.path.dirname(path), os.fsdecode(target)))
