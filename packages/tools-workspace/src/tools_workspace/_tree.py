"""A folder, in which nothing is reached through a link: read states, content and entries.

Tools that run for a model can replace a folder by a link to a place outside at any moment. So each path below the
folder is opened without following links, and used by the descriptor of its parent.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self, TypeAlias

from tools_core.linux import RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, openat2
from tools_workspace._repository import is_git_index, staged

# The kind, the mode, and the content or the target of a path, to compare two places; None for nothing.
Fingerprint: TypeAlias = Sequence[str | int] | None

BEYOND: Fingerprint = ("beyond a link", 0, "")  # a folder on the way is a link
UNREADABLE: Fingerprint = ("unreadable", 0, "")

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_RESOLVE = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS
# The system has no such call, or a container forbids it; or the path is too long for one call.
_TO_WALK = (errno.ENOSYS, errno.EPERM, errno.ENAMETOOLONG)
_CHUNK = 1 << 20
_KIND = 0o170000  # the bits of a mode that say file, folder or link


class WorkspaceError(Exception):
    """An operation that is not possible; the message names a way out."""


class State(NamedTuple):
    """The state of a file, a folder or a link: while it stays equal, the file was not changed."""

    mode: int
    size: int
    mtime: int  # nanoseconds
    inode: int

    @classmethod
    def of(cls, info: os.stat_result) -> State:
        """Return the state from the result of `lstat`."""
        return cls(info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino)

    @property
    def kind(self) -> str:
        """`file`, `folder`, `link`, or `special` for sockets, pipes and devices."""
        if stat.S_ISREG(self.mode):
            return "file"
        return "folder" if stat.S_ISDIR(self.mode) else "link" if stat.S_ISLNK(self.mode) else "special"


class Tree:
    """An open folder; a context manager. `path` is absolute, and the paths of all methods are below it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._root = os.open(path, FOLDER)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._root)

    @contextmanager
    def folder(self, path: str = "") -> Generator[int]:
        """Open a folder; OSError with ELOOP or ENOTDIR for a link, also on the way."""
        descriptor = self._open_folder(path)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def place(self, path: str) -> Generator[tuple[int, str]]:
        """Open the parent of a path, and return it with the name in it; errors in the block name the path."""
        parent, _, name = path.rpartition("/")
        with self.folder(parent) as descriptor:
            try:
                yield descriptor, name
            except OSError as error:
                raise self._error(error, path) from error

    @contextmanager
    def file(self, path: str) -> Generator[BinaryIO]:
        """Open a regular file for reading; OSError for anything else."""
        with self.place(path) as (folder, name), os.fdopen(open_file(folder, name), "rb", buffering=0) as file:
            yield file

    def state(self, path: str) -> State | None:
        """Return the state of a path; None if there is nothing, or if a folder on the way is a link."""
        try:
            with self.place(path) as (folder, name):
                return State.of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            return None

    def kind(self, path: str) -> str:
        """Return `file`, `folder`, `link`, `special`, or nothing for a path that does not exist."""
        state = self.state(path)
        return state.kind if state else ""

    def link(self, path: str) -> str:
        """Return the target of a link."""
        with self.place(path) as (folder, name):
            return os.readlink(name, dir_fd=folder)

    def link_above(self, path: str) -> str | None:
        """Return the first folder on the way to a path that is a link, or None."""
        parents = [str(parent) for parent in PurePath(path).parents][-2::-1]
        return next((parent for parent in parents if self.kind(parent) == "link"), None)

    def scan(self, skip: Iterable[str] = (), unreadable: list[str] | None = None) -> Iterator[tuple[str, State, int]]:
        """Yield the path, the state and the stamp of everything; folders come before their content.

        Folders that cannot be read are added to `unreadable`, or raise PermissionError.
        """
        stamps: dict[str, int] = {}
        for path, state in self.scan_changed({}, stamps, skip, unreadable):
            yield path, state, stamps[path]

    def scan_changed(
        self,
        before: Mapping[str, int],
        after: dict[str, int],
        skip: Iterable[str] = (),
        unreadable: list[str] | None = None,
    ) -> Iterator[tuple[str, State]]:
        """Yield the path and the state of what has another stamp than `before`, and add all stamps to `after`."""
        skipped = frozenset(skip)
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                yield from self._scan_folder(folder, before, after, skipped, pending)
            except PermissionError:
                if unreadable is None:
                    raise
                unreadable.append(folder)
            except OSError as error:  # deleted meanwhile, or a link now
                if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                    raise

    def _scan_folder(
        self, folder: str, before: Mapping[str, int], after: dict[str, int], skipped: frozenset[str], pending: list[str]
    ) -> Iterator[tuple[str, State]]:
        """Scan one folder, and add its folders to `pending`; a checkpoint of many files takes the time of this loop."""
        prefix = f"{folder}/" if folder else ""
        with self.folder(folder) as descriptor, os.scandir(descriptor) as entries:
            for entry in entries:  # of a descriptor: its states are read faster
                path = prefix + entry.name
                if path in skipped:
                    continue
                try:
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                after[path] = now = stamp(info)
                if before.get(path) != now:
                    yield path, State.of(info)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)

    def fingerprint(self, path: str, replaced: Iterable[str] = ()) -> Fingerprint:
        """Return the fingerprint of a path: BEYOND behind a link, unless that link is among the `replaced` ones."""
        try:
            state = self.state(path)
            if state is None:
                above = self.link_above(path)
                return None if above is None or above in replaced else BEYOND
            mode = stat.S_IMODE(state.mode)
            if state.kind == "file":
                with self.file(path) as file:
                    return ("file", mode, content_hash(path, file))
            return ("link", 0, self.link(path)) if state.kind == "link" else (state.kind, mode, "")
        except PermissionError:
            return UNREADABLE
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
            return BEYOND if error.errno == errno.ELOOP else None  # replaced or deleted at this moment

    def _open_folder(self, path: str) -> int:
        if not path:
            return os.dup(self._root)
        try:
            return openat2(path, FOLDER, dir_fd=self._root, resolve=_RESOLVE)
        except OSError as error:
            if error.errno not in _TO_WALK:
                raise self._error(error, path) from None
        return self._walk(path)

    def _error(self, error: OSError, path: str) -> OSError:
        """Return an error with the whole path."""
        reason = "it is a link, or behind one" if error.errno == errno.ELOOP else error.strerror
        return OSError(error.errno, reason, os.path.join(self.path, path))

    def _walk(self, path: str) -> int:
        """Open one folder after the other."""
        folder = os.dup(self._root)
        for name in path.split("/"):
            try:
                inner = os.open(name, FOLDER, dir_fd=folder)
            except OSError as error:
                raise self._error(error, path) from None
            finally:
                os.close(folder)
            folder = inner
        return folder


def open_file(folder: int, name: str) -> int:
    """Open a regular file of an open folder for reading; OSError for anything else."""
    descriptor = os.open(name, _FILE, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise FileNotFoundError(errno.ENOENT, "is not a regular file", name)


def stamp(info: os.stat_result) -> int:
    """Return a number that changes with a file: the time of any change, which programs cannot set; a folder's mode."""
    mode = info.st_mode
    return mode if mode & _KIND == stat.S_IFDIR else info.st_ctime_ns


def same(first: Fingerprint, second: Fingerprint) -> bool:
    """Return whether two places hold the same; a folder may have another mode, and a pipe counts as nothing."""
    pair = [None if content is None or content[0] == "special" else list(content) for content in (first, second)]
    return pair[0] == pair[1] or (is_folder(first) and is_folder(second))


def is_folder(content: Fingerprint) -> bool:
    """Return whether a fingerprint is that of a folder."""
    return content is not None and content[0] == "folder"


def content_hash(path: str, file: BinaryIO, each: Callable[[bytes], object] | None = None) -> str:
    """Return the hash of the content of an open file, and pass its bytes to `each` in chunks.

    The index of git is hashed without the times of files, which `git status` updates.
    """
    is_index = is_git_index(path)
    digest, index = hashlib.sha256(), bytearray()
    while chunk := file.read(_CHUNK):
        index += chunk if is_index else b""
        digest.update(b"" if is_index else chunk)
        if each is not None:
            each(chunk)
    digest.update(staged(bytes(index)))
    return digest.hexdigest()
