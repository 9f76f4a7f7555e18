"""Change several files at once: any error takes all changes back.

New contents are staged beside the files first, and old ones are kept there by a second link; then the files are only
renamed. What has to be taken back is remembered by the running call alone, never in the workspace. When the process is
killed in the middle, each file is the old or the new one, and staged files may remain.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self

from tools_core import ToolError
from tools_filesystem._ledger import Stamp
from tools_filesystem._paths._access import Place
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._protected import OWN, check_writable
from tools_filesystem._paths._resolve import open_folder
from tools_filesystem._paths._step import open_in
from tools_filesystem._writing._attributes import keep_attributes
from tools_filesystem._writing._lock import hold, release
from tools_filesystem._writing._rename import Identity, exchange, identity, rename_at_once, rename_new

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._paths._access import Access, PinnedRoot

# The file system has no hard links, or permits no more of this file, or not across this boundary.
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)


class Change(NamedTuple):
    """One name that gets other content; `folder` is its real path below the root, `path` what the caller calls it.

    `found` and `content` are what must be there now. The new content is `data`, or that of `origin` (a folder and a
    name) as it is; with neither the name goes. With both, only the attributes are those of `origin`.
    """

    path: str
    folder: str
    name: str
    found: os.stat_result | None
    content: bytes | None = None
    data: bytes | None = None
    origin: tuple[str, str] | None = None
    executable: bool | None = None


class _Step(NamedTuple):
    """A change and its staged files: the new content under the name `new`, the old one under `old`.

    An identity is None where there is no such content.
    """

    change: Change
    folder: int
    new: str
    old: str
    new_identity: Identity | None = None
    old_identity: Identity | None = None


def commit(
    access: Access, root: PinnedRoot, changes: list[Change], missing: list[str], context: Context
) -> list[os.stat_result | None]:
    """Make all changes, after the folders that are `missing`, and return the new states.

    Any error takes everything back before it is raised.
    """
    with _Transaction(access, root, context) as transaction:
        try:
            transaction.make_folders(missing)
            transaction.lock(changes)
            transaction.stage(changes)
            return transaction.apply()
        except BaseException as error:
            if problems := transaction.take_back():
                message = f"{error}. Some files could not be restored: {'; '.join(problems)}"
                raise ToolError(message, "execution_error") from error
            raise


class _Transaction:
    """One pass over the changes; the folders stay open and locked until the block is left."""

    def __init__(self, access: Access, root: PinnedRoot, context: Context) -> None:
        self._access = access
        self._root = root
        self._context = context
        self._folders: dict[str, int] = {}
        self._made: list[str] = []
        self._steps: list[_Step] = []
        self._applied = 0  # how many steps have begun to change their file

    def make_folders(self, missing: list[str]) -> None:
        for path in missing:
            where, _, name = path.rpartition("/")
            with explained(self._access, path):
                folder = self._open(where)
                check_writable(self._root, folder, name)
                with suppress(FileExistsError):  # another call has made it
                    os.mkdir(name, dir_fd=folder)
                    self._made.append(path)
                os.fsync(folder)

    def lock(self, changes: list[Change]) -> None:
        """Lock all folders, in one order for all calls, and check that no file has changed since it was read."""
        for change in changes:
            with explained(self._access, change.path):
                self._open(change.folder)
        for descriptor in sorted(self._folders.values(), key=_order):
            hold(descriptor, self._context)
        for change in changes:
            with explained(self._access, change.path):
                _check(self._open(change.folder), change)

    def stage(self, changes: list[Change]) -> None:
        """Write the new contents beside the files, and keep the old ones there."""
        token = secrets.token_hex(8)
        for number, change in enumerate(changes):
            aside = f"{OWN}{token}-{number}"
            step = _Step(change, self._open(change.folder), f"{aside}.new", f"{aside}.old")
            self._steps.append(step)
            with explained(self._access, change.path):
                new = old = None
                if change.data is not None or change.origin is not None:
                    new = self._stage_new(step)
                if change.found is not None:
                    _link_or_copy(step.folder, change.name, step.folder, step.old)
                    old = identity(change.found)
            self._steps[-1] = step._replace(new_identity=new, old_identity=old)

    def apply(self) -> list[os.stat_result | None]:
        """Rename the staged files; returns the new states."""
        states = []
        for step in self._steps:
            self._applied += 1
            with explained(self._access, step.change.path):
                states.append(self._apply(step))
        for folder in self._folders.values():
            with suppress(OSError):  # all files are changed, which an error would deny
                os.fsync(folder)
        return states

    def take_back(self) -> list[str]:
        """Restore everything; returns what could not be restored."""
        problems: list[str] = []
        for step in reversed(self._steps[: self._applied]):
            try:
                self._restore(step)
            except (OSError, ToolError) as error:
                problems.append(f"{step.change.path!r} ({error}; its old content is in {step.old!r})")
                self._steps.remove(step)  # so that its old content stays
        self._clear()
        for path in reversed(self._made):
            where, _, name = path.rpartition("/")
            with suppress(OSError):  # another program uses it already
                os.rmdir(name, dir_fd=self._open(where))
        return problems

    def _open(self, path: str) -> int:
        if path not in self._folders:
            self._folders[path] = open_folder(Place(self._root, path or "."))
        return self._folders[path]

    def _stage_new(self, step: _Step) -> Identity:
        change, origin = step.change, None
        if change.origin is not None:
            origin = self._open(change.origin[0]), change.origin[1]
        if change.data is None and origin is not None:
            _link_or_copy(*origin, step.folder, step.new)
        else:
            model = origin or ((step.folder, change.name) if change.found is not None else None)
            _write(step.folder, step.new, change.data or b"", model, change.executable)
        return identity(os.stat(step.new, dir_fd=step.folder, follow_symlinks=False))

    def _apply(self, step: _Step) -> os.stat_result | None:
        """Rename the new content to its place if the old one is still there."""
        folder, name = step.folder, step.change.name
        check_writable(self._root, folder, name)
        now = _look(folder, name)
        if (now and identity(now)) != step.old_identity:
            _raise_conflict(step.change)
        try:
            if step.new_identity is None:
                _delete(step)
            elif step.old_identity is None:
                rename_new(folder, step.new, folder, name)
            else:
                _replace(step)
        except (FileExistsError, FileNotFoundError):
            _raise_conflict(step.change)
        return _look(folder, name)

    def _restore(self, step: _Step) -> None:
        """Give a name its old content back, unless another program has written there since."""
        folder, name = step.folder, step.change.name
        now = _look(folder, name)
        there = now and identity(now)
        is_ours = there is not None and there == step.new_identity
        if step.old_identity is None:
            if is_ours:
                os.unlink(name, dir_fd=folder)
        elif is_ours:
            os.rename(step.old, name, src_dir_fd=folder, dst_dir_fd=folder)
        elif there is None and step.new_identity is None:
            rename_new(folder, step.old, folder, name)

    def _clear(self) -> None:
        """Remove the staged files."""
        for step in self._steps:
            for name in (step.new, step.old):
                for _ in range(2):  # a failure may pass
                    with suppress(OSError):
                        os.unlink(name, dir_fd=step.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()
        for descriptor in self._folders.values():
            release(descriptor)
            os.close(descriptor)


def _check(folder: int, change: Change) -> None:
    now = _look(folder, change.name)
    if (now and Stamp.of(now)) != (change.found and Stamp.of(change.found)):
        _raise_conflict(change)
    # Where the clock of the file system is coarse, a change just now does not show in the stamp.
    if change.content is not None and _content(folder, change.name) != change.content:
        _raise_conflict(change)


def _replace(step: _Step) -> None:
    """Where the system can exchange names, the replaced file is checked, and put back if it is another one."""
    folder, name = step.folder, step.change.name
    if not exchange(folder, step.new, name):
        os.rename(step.new, name, src_dir_fd=folder, dst_dir_fd=folder)
    elif not _is_old(step):
        exchange(folder, step.new, name)
        _raise_conflict(step.change)


def _delete(step: _Step) -> None:
    folder, name = step.folder, step.change.name
    if not rename_at_once(folder, name, step.new):
        os.unlink(name, dir_fd=folder)
    elif not _is_old(step):
        rename_new(folder, step.new, folder, name)
        _raise_conflict(step.change)


def _is_old(step: _Step) -> bool:
    found = _look(step.folder, step.new)
    return found is not None and identity(found) == step.old_identity


def _raise_conflict(change: Change) -> NoReturn:
    verb = "appeared" if change.found is None else "was changed or removed"
    message = f"{change.path!r} {verb} meanwhile; nothing was changed: read it again, then retry"
    raise ToolError(message, "conflict")


def _order(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def _link_or_copy(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Give a file a second name, or copy it where the file system has no hard links."""
    try:
        os.link(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        _write(to_folder, to_name, _content(folder, name), (folder, name))
        os.utime(to_name, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=to_folder, follow_symlinks=False)


def _content(folder: int, name: str) -> bytes:
    with open(open_in(folder, name), "rb") as file:
        return file.read()


def _write(folder: int, name: str, data: bytes, model: tuple[int, str] | None, executable: bool | None = None) -> None:
    """Write a new file to the disk, with the attributes of `model` if there is one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(name, flags, 0o666 if model is None else 0o600, dir_fd=folder)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        if model is not None:
            keep_attributes(*model, os.stat(model[1], dir_fd=model[0], follow_symlinks=False), descriptor)
        if executable is not None:
            mode = os.fstat(descriptor).st_mode & 0o777
            os.fchmod(descriptor, mode | (mode & 0o444) >> 2 if executable else mode & ~0o111)
        os.fsync(descriptor)
        if os.fstat(descriptor).st_size != len(data):
            raise OSError(errno.EIO, "not all of it was written; nothing was changed")
    finally:
        os.close(descriptor)


def _look(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
