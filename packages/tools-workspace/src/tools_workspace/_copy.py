"""Copy files and folders: modes, owners, attributes, holes and hard links; blocks are shared if the file system can."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import BinaryIO

from tools_workspace._tree import State, Tree, content_hash, open_file

MAX_HASHED = 10_000_000  # bytes of a file whose content is remembered
_FICLONE = 0x40049409  # the request of ioctl(2) that lets a file share the blocks of another one
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20
_REPORTED = 100  # entries between two reports


class TreeCopy:
    """The copy of a tree into an empty folder.

    `originals` are the states of the copied entries, with a hash of the content, or the target of a link; the hash is
    empty if it is not known, or not asked for. `special` are sockets, pipes and devices, and `unreadable` what the user
    may not read.
    """

    def __init__(
        self,
        source: Tree,
        target: Tree,
        on_progress: Callable[[int, int], object] | None = None,
        *,
        with_hashes: bool = True,
    ) -> None:
        self.originals: dict[str, tuple[State, str]] = {}
        self.special: list[str] = []
        self.unreadable: list[str] = []
        self._source, self._target, self._on_progress = source, target, on_progress
        self._links: dict[tuple[int, int], str] = {}  # hard links, by device and inode
        self._copier = FileCopier(with_hashes=with_hashes)

    def run(self, tree: Mapping[str, State], unreadable: Iterable[str] = ()) -> None:
        """Copy scanned entries; deleted ones are left out."""
        self.unreadable += unreadable
        folders = [path for path, state in tree.items() if state.kind == "folder" and path not in self.unreadable]
        entries: dict[str, list[str]] = {"": [], **{path: [] for path in folders}}
        for path in tree:
            if path not in self.unreadable:
                entries.setdefault(path.rpartition("/")[0], []).append(path)
        for count, _ in enumerate(self._paths(entries), 1):
            if self._on_progress is not None and count % _REPORTED == 0:
                self._on_progress(min(count, len(tree)), len(tree))
        if self._on_progress is not None:
            self._on_progress(len(tree), len(tree))
        for path in ["", *folders][::-1]:  # the times of folders, after their content
            with _tolerant(), self._source.folder(path) as old, self._target.folder(path) as new:
                copy_attributes(old, new, times=True)

    def _paths(self, entries: Mapping[str, list[str]]) -> Iterator[str]:
        """Copy the entries of each folder, and yield their paths."""
        for parent, paths in entries.items():
            with _tolerant(), self._source.folder(parent) as old, self._target.folder(parent) as new:
                for path in paths:
                    try:
                        with _tolerant():
                            self._copy(path, path.rpartition("/")[2], old, new)
                    except PermissionError:
                        self.unreadable.append(path)
                    yield path

    def _copy(self, path: str, name: str, old: int, new: int) -> None:
        info = os.stat(name, dir_fd=old, follow_symlinks=False)
        state, content = State.of(info), ""
        if state.kind == "special":
            self.special.append(path)
            return
        if state.kind == "folder":
            os.mkdir(name, 0o700, dir_fd=new)
        elif state.kind == "link":
            content = os.readlink(name, dir_fd=old)
            os.symlink(content, name, dir_fd=new)
            os.utime(name, ns=(info.st_atime_ns, info.st_mtime_ns), dir_fd=new, follow_symlinks=False)
            if os.geteuid() == 0:
                os.chown(name, info.st_uid, info.st_gid, dir_fd=new, follow_symlinks=False)
        else:
            key = (info.st_dev, info.st_ino)
            if info.st_nlink > 1 and (first := self._links.get(key)) is not None:
                with self._target.place(first) as (folder, first_name):
                    os.link(first_name, name, src_dir_fd=folder, dst_dir_fd=new, follow_symlinks=False)
                self.originals[path] = (state, self.originals[first][1])
                return
            content = self._copier.copy(path, (old, name), (new, name), times=True)
            if info.st_nlink > 1:
                self._links[key] = path
        self.originals[path] = (state, content)


class FileCopier:
    """Copies single files; it remembers whether the file system shares blocks."""

    def __init__(self, *, with_hashes: bool = True) -> None:
        self._can_share, self._with_hashes = True, with_hashes

    def copy(self, path: str, source: tuple[int, str], target: tuple[int, str], *, times: bool = False) -> str:
        """Copy a regular file to a new name in another folder; return the hash of its content, empty for a large file.

        `path` is its name in the workspace.
        """
        with os.fdopen(open_file(*source), "rb", buffering=0) as old:
            with os.fdopen(os.open(target[1], _NEW, 0o600, dir_fd=target[0]), "wb", buffering=0) as new:
                content = self._copy_content(path, old, new)
                copy_attributes(old.fileno(), new.fileno(), times=times)
            return content

    def _copy_content(self, path: str, old: BinaryIO, new: BinaryIO) -> str:
        size = os.fstat(old.fileno()).st_size
        is_shared = size > 0 and self._can_share and self._share(old, new)
        if size > MAX_HASHED or (is_shared and not self._with_hashes):
            if not is_shared:
                _copy_extents(old.fileno(), new.fileno(), size)
            return ""
        if not self._with_hashes:
            while chunk := old.read(_CHUNK):
                _write(new.fileno(), chunk)
            return ""
        return content_hash(path, old, None if is_shared else partial(_write, new.fileno()))

    def _share(self, old: BinaryIO, new: BinaryIO) -> bool:
        from fcntl import ioctl  # not on Windows

        try:
            ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.ENOTTY, errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.EPERM):
                self._can_share = False
                return False
            raise
        return True


def _copy_extents(old: int, new: int, size: int) -> None:
    """Copy the content of a file; its holes stay holes."""
    end = 0
    while end < size:
        try:
            start = os.lseek(old, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole up to the end
                break
            raise
        end = os.lseek(old, start, os.SEEK_HOLE)
        os.lseek(old, start, os.SEEK_SET)
        os.lseek(new, start, os.SEEK_SET)
        while start < end and (chunk := os.read(old, min(_CHUNK, end - start))):
            start += len(chunk)
            _write(new, chunk)
        if start < end:  # truncated meanwhile
            break
    os.ftruncate(new, size)


def _write(descriptor: int, data: bytes) -> None:
    """Write all bytes."""
    while data:
        data = data[os.write(descriptor, data) :]


def copy_attributes(old: int, new: int, *, times: bool) -> None:
    """Copy the owner, the extended attributes and the mode of an open file or folder, and its times if asked."""
    info = os.fstat(old)
    if os.geteuid() == 0:
        os.fchown(new, info.st_uid, info.st_gid)
    if hasattr(os, "listxattr"):  # Linux
        with suppress(OSError):
            for name in os.listxattr(old):
                with suppress(OSError):  # of another file system, or reserved
                    os.setxattr(new, name, os.getxattr(old, name))
    os.fchmod(new, stat.S_IMODE(info.st_mode))
    if times:
        os.utime(new, ns=(info.st_atime_ns, info.st_mtime_ns))


@contextmanager
def _tolerant() -> Generator[None]:
    """Ignore entries that were deleted, or replaced by a link, since they were listed."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
