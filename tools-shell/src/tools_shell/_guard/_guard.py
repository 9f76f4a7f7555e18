"""`Guard`: keeps git's hooks and configuration from a command, and tells what it wrote that programs run later."""

from __future__ import annotations

import os
import stat
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tools_core.files import fold_name, is_inside
from tools_shell._git._config import replace_config
from tools_shell._guard._files import files_of, has_other_name, now, pointer_of, state_of
from tools_shell._guard._repository import CONFIG, POINTERS, Checker, Repository, layout_of, neutralize, target_of
from tools_shell._guard._survey import survey_of

if TYPE_CHECKING:
    from tools_shell._guard._files import State
    from tools_shell._guard._survey import Place

_MAX_MOUNTS = 200  # each needs a descriptor, of which one message carries 253
_MAX_REPOSITORIES = 200  # that are saved before each command
_PIN = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW
_REASON = "git would run programs or read other files"
_REVIEW = "programs may run it; review it before you open the folder"


class Mount(NamedTuple):
    """A file or folder to mount on its own path, read-only unless `writable`."""

    path: str
    descriptor: int
    writable: bool


class Guard:
    """Opens what a command must not change, and compares the rest with its state before.

    `mounts` make the hooks and the configuration of the workspace's repository read-only; the folders above them
    become writable mounts, because mounts cannot be moved. Other repositories are restored when the command has ended,
    since commands may delete them; for a lasting command they are mounted as well. Files with protected names are
    compared. `is_complete` is False if something could not be mounted or was not looked at.
    """

    def __init__(
        self,
        workspace: str,
        writable: tuple[str, ...],
        names: frozenset[str],
        git: str,
        *,
        covered: tuple[str, ...] = (),
        mounts: bool,
        is_lasting: bool = False,
        configures: bool = False,
    ) -> None:
        """`git` is the program that reads configuration; without it, none is checked.

        Commands can write to `writable` folders, except for `covered` folders in them. `mounts` is False if the
        level does not mount, and `configures` is True if the command may write the configuration of the workspace's
        repository.
        """
        self.mounts: list[Mount] = []
        self.is_complete = True
        self._workspace, self._writable, self._covered = workspace, writable, covered
        self._opened: dict[str, int] = {}
        self._held: set[int] = set()
        self._lock = threading.Lock()
        self._sentences: list[str] = []  # not returned yet
        self._has_warned = False
        roots = [path for path in writable if os.path.isdir(path)]
        self._surveys = [survey_of(top, names) for top in dict.fromkeys((workspace, *roots))]
        self._checker = Checker(git, writable, self._shown)
        self._configures = configures
        self._mounted: set[str] = set()  # git directories
        self._repositories: dict[str, Repository | None] = {}  # None if it cannot be restored
        self._known: dict[tuple[int, int], Repository] = {}  # by identity, to find moved ones
        self._pointers: dict[str, bytes] = {}  # the files `.git`
        self._states: dict[str, State] = {}  # of protected files
        self._since = now()
        self._places: set[str] = set()
        try:
            for root in roots if mounts else ():
                self._opened[root] = self._hold(os.open(root, _PIN | os.O_DIRECTORY))
            self._add_layout(configures=configures, has_mounts=mounts, is_wanted=".git" in names)
            for survey in self._surveys:
                survey.search()
                for place in survey.places():
                    self._add(place, mounts=mounts and is_lasting)
            # Otherwise what is found later may be older than the command.
            self._has_seen_all = all(survey.is_complete for survey in self._surveys)
            self.is_complete &= self._has_seen_all
        except BaseException:
            self.close()
            raise

    @property
    def descriptors(self) -> list[int]:
        """Return one descriptor for each mount."""
        return [mount.descriptor for mount in self.mounts]

    @property
    def is_intact(self) -> bool:
        """Return whether everything was guarded, and no protected file has been created or changed."""
        return self.is_complete and not self._has_warned

    def close(self) -> None:
        """Close all descriptors."""
        for descriptor in self._held:
            os.close(descriptor)
        self._held = set()

    def warnings(self) -> list[str]:
        """Restore what git runs, and return a sentence for each change since the last call."""
        with self._lock:
            self._check()
            sentences, self._sentences = self._sentences, []
        return sentences

    def settle(self) -> None:
        """Restore what git runs; `warnings` tells about it later."""
        with self._lock:
            self._check()

    def _check(self) -> None:
        for path, before in [*self._repositories.items()]:
            with suppress(OSError, ValueError):  # removed, or replaced by a file
                if before is not None:
                    self._neutralize(path)
        for survey in self._surveys:
            survey.look()
            self.is_complete &= survey.is_complete
            for place in survey.places():
                if not is_inside(place.path, self._covered):
                    with suppress(OSError, ValueError):  # removed in the meantime, or not permitted
                        self._compare(place)
        self._has_warned |= bool(self._sentences)

    def _add_layout(self, *, configures: bool, has_mounts: bool, is_wanted: bool) -> None:
        """Guard the repository of the workspace."""
        if not is_wanted:
            return
        layout = layout_of(self._workspace, os.path.realpath(os.path.expanduser("~")))
        paths = [path for path in layout.directories if is_inside(path, self._writable)]
        try:
            for path in paths:
                self._save(path)
                if has_mounts:
                    self._mount_repository(path, configures=configures)
            if layout.pointer and is_inside(layout.pointer, self._writable):
                self._pointers[layout.pointer] = pointer_of(layout.pointer)
                if has_mounts:
                    self._mount_read_only(layout.pointer)
        except OSError:  # changed in the meantime, not permitted, or too many files are open
            self.is_complete = False

    def _add(self, place: Place, *, mounts: bool) -> None:
        """Remember the state of a place before the command."""
        if is_inside(place.path, self._covered):
            return
        self._places.add(place.path)
        try:
            if place.is_repository:
                self._save(place.path)
                if mounts and place.path in self._repositories and place.path not in self._mounted:
                    self._mount_repository(place.path)
            elif fold_name(os.path.basename(place.path)) == ".git":
                self._pointers[place.path] = pointer_of(place.path)
                self._save(target_of(place.path))
            else:
                self._states |= {path: state_of(path) for path in files_of(place.path)}
        except (OSError, ValueError):
            self.is_complete = False

    def _save(self, folder: str) -> None:
        if self._repositories.get(folder) is not None or not is_inside(folder, self._writable):
            return
        if len(self._repositories) >= _MAX_REPOSITORIES:
            self.is_complete = False
            return
        self._repositories[folder] = None
        with suppress(ValueError):
            self._repositories[folder] = read = Repository.read(folder)
            self._known.setdefault(read.identity, read)
        self.is_complete &= self._repositories[folder] is not None

    def _mount_repository(self, folder: str, *, configures: bool = False) -> None:
        self._open(folder)
        self._mounted.add(folder)
        if not os.path.lexists(f"{folder}/commondir"):
            with suppress(FileExistsError):
                os.mkdir("hooks", dir_fd=self._opened[folder])
            self._mount_read_only(f"{folder}/hooks")
            with os.scandir(f"{folder}/hooks") as hooks:
                self.is_complete &= not any(has_other_name(hook) for hook in hooks)
        for name in POINTERS if configures else (*POINTERS, *CONFIG):
            if os.path.lexists(f"{folder}/{name}"):
                self._mount_read_only(f"{folder}/{name}")

    def _mount_read_only(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        descriptor = self._hold(os.open(name, _PIN, dir_fd=self._open(folder)))
        status = os.fstat(descriptor)
        if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink > 1):
            self.is_complete = False  # it can be replaced, or changed by another name
        if not stat.S_ISLNK(status.st_mode):
            self._mount(path, descriptor)

    def _open(self, path: str) -> int:
        """Open a folder without following links, as a writable mount that cannot be moved."""
        if path not in self._opened:
            parent, _, name = path.rpartition("/")
            if not is_inside(path, self._writable):
                raise OSError(0, "not in a writable folder", path)
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

    def _compare(self, place: Place) -> None:
        """Add sentences about a place that is new or different."""
        was_known = place.path in self._places or place.is_new
        self._places.add(place.path)
        if place.is_repository:
            if place.path not in self._repositories:
                self._neutralize(place.path) if was_known else self._save(place.path)
        elif fold_name(os.path.basename(place.path)) == ".git":
            self._compare_pointer(place.path, was_known=was_known)
        else:
            for path in files_of(place.path):
                state, before = state_of(path), self._states.get(path)
                self._states[path] = state
                is_recent = before is not None or self._has_seen_all or state[-1] >= self._since
                if state != before and was_known and is_recent:
                    verb = "created" if before is None else "changed"
                    self._sentences.append(f"{verb} {self._shown(path)}: {_REVIEW}")

    def _compare_pointer(self, path: str, *, was_known: bool) -> None:
        """Restore a file `.git` that names another repository than before, and clean the one that a new file names."""
        before = self._pointers.get(path)
        if before is not None and pointer_of(path) != before:
            folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                replace_config(folder, os.path.basename(path), before)
            finally:
                os.close(folder)
            self._sentences.append(f"restored {self._shown(path)}: {_REASON}")
        elif before is None:
            self._pointers[path] = pointer_of(path)
            self._neutralize(target_of(path)) if was_known else self._save(target_of(path))

    def _neutralize(self, folder: str) -> None:
        """Clean a git directory, and remember it."""
        if not is_inside(folder, self._writable):
            return
        try:
            current: Repository | None = Repository.read(folder)
        except (OSError, ValueError):
            current = None
        before = self._repositories.get(folder)
        if current is not None and (before is None or before.identity != current.identity):  # a new or a moved one
            before = self._known.get(current.identity)
        if current is None or before is None or current != before:
            is_mounted = folder in self._mounted
            is_old = before is None and not self._has_seen_all
            config = not is_old and (not is_mounted or self._configures)
            since = self._since if is_old else 0
            done = neutralize(folder, before, self._checker, hooks=not is_mounted, config=config, since=since)
            self._sentences += [f"{action}: {_REASON}" for action in done]
            self._repositories[folder] = None
            self._save(folder)
            if before is None and os.path.lexists(f"{folder}/commondir"):
                common = target_of(f"{folder}/commondir")
                if common not in self._repositories:
                    self._neutralize(common)

    def _shown(self, path: str) -> str:
        name = os.path.relpath(path, self._workspace) if is_inside(path, [self._workspace]) else path
        return name if name.isprintable() else ascii(name)
