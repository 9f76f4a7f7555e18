"""Several files changed at once: all of them or none, whatever happens in between."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tools_core import ToolError
from tools_filesystem._attributes import keep_attributes
from tools_filesystem._explain import explained
from tools_filesystem._journal import Journal, Plan, Step, identity
from tools_filesystem._ledger import Stamp
from tools_filesystem._protected import JOURNAL, OWN, check_writable
from tools_filesystem._rename import exchange, rename_at_once, rename_new
from tools_filesystem._step import open_in

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._access import Access, PinnedRoot

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


def commit(
    access: Access, root: PinnedRoot, changes: list[Change], missing: list[str], context: Context
) -> list[os.stat_result | None]:
    """Make all changes, after the folders that are `missing`, and return what is there then.

    Any error takes everything back before it is raised; a crash leaves that to `recover`.
    """
    with explained(access, JOURNAL):
        journal = Journal(root, context)
    with journal:
        try:
            return _Commit(access, journal, changes, context).run(missing)
        except BaseException as error:
            if _is_settled(journal, error):
                message = f"all files were changed, and then: {error}"
                raise ToolError(message, "execution_error") from error
            raise


def _is_settled(journal: Journal, error: BaseException) -> bool:
    """Take everything back; True if the changes stand, because it was too late for that."""
    try:
        return journal.settle() and isinstance(error, Exception)
    except (OSError, ToolError) as second:
        message = f"{error}. Taking back what was changed failed, too ({second}); the next change tries it again"
        raise ToolError(message, "execution_error") from error


class _Commit:
    """One pass over the changes: what is new and what was old is laid aside first, and then only renamed."""

    def __init__(self, access: Access, journal: Journal, changes: list[Change], context: Context) -> None:
        self.access = access
        self.journal = journal
        self.folders = journal.folders
        self.changes = changes
        self.context = context

    def run(self, missing: list[str]) -> list[os.stat_result | None]:
        token = secrets.token_hex(8)
        aside = [f"{OWN}{token}-{number}" for number in range(len(self.changes))]
        steps = [
            Step(change.folder, change.name, f"{name}.new", f"{name}.old")
            for change, name in zip(self.changes, aside, strict=True)
        ]
        with explained(self.access, JOURNAL):
            self.journal.write(Plan("staging", missing, steps))
            for path in missing:
                self._make(path)
        self._lock()
        steps = [self._stage(change, step) for change, step in zip(self.changes, steps, strict=True)]
        with explained(self.access, JOURNAL):
            self.folders.sync()
            self.journal.write(Plan("applying", missing, steps))
        states = [self._apply(change, step) for change, step in zip(self.changes, steps, strict=True)]
        with explained(self.access, JOURNAL):
            self.folders.sync()
            self.journal.write(Plan("done", missing, steps))
        with suppress(OSError, ToolError):  # the patch stands; what is left over is cleared away at the next change
            self.journal.settle()
        return states

    def _make(self, path: str) -> None:
        where, _, name = path.rpartition("/")
        folder = self.folders.open(where)
        check_writable(self.journal.root, folder, name)
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
        os.fsync(folder)

    def _lock(self) -> None:
        for change in self.changes:
            with explained(self.access, change.path):
                self.folders.open(change.folder)
        self.folders.lock(self.context)
        for change in self.changes:
            with explained(self.access, change.path):
                self._check(self.folders.open(change.folder), change)

    def _check(self, folder: int, change: Change) -> None:
        now = _look(folder, change.name)
        if (now and Stamp.of(now)) != (change.found and Stamp.of(change.found)):
            _changed_meanwhile(change)
        # Where the clock of the file system is coarse, a change just now does not show in the stamp.
        if change.content is not None and _content(folder, change.name) != change.content:
            _changed_meanwhile(change)

    def _stage(self, change: Change, step: Step) -> Step:
        """Lay the new content aside, and keep the old."""
        folder = self.folders.open(change.folder)
        with explained(self.access, change.path):
            new = old = None
            if change.data is not None or change.origin is not None:
                new = self._lay_aside(folder, step.new, change)
            if change.found is not None:
                _keep(folder, change.name, folder, step.old)
                old = identity(change.found)
        return step._replace(new_identity=new, old_identity=old)

    def _lay_aside(self, folder: int, aside: str, change: Change) -> tuple[int, int, int]:
        origin = None if change.origin is None else (self.folders.open(change.origin[0]), change.origin[1])
        if change.data is None and origin is not None:
            _keep(*origin, folder, aside)
        else:
            model = origin or ((folder, change.name) if change.found is not None else None)
            _write(folder, aside, change.data or b"", model, change.executable)
        return identity(os.stat(aside, dir_fd=folder, follow_symlinks=False))

    def _apply(self, change: Change, step: Step) -> os.stat_result | None:
        """Put the new content in its place; under the lock, and still looking once more."""
        folder = self.folders.open(change.folder)
        check_writable(self.journal.root, folder, change.name)
        now = _look(folder, change.name)
        if (now and identity(now)) != step.old_identity:
            _changed_meanwhile(change)
        with explained(self.access, change.path):
            try:
                self._put(folder, change, step)
            except (FileExistsError, FileNotFoundError):
                _changed_meanwhile(change)
            return _look(folder, change.name)

    def _put(self, folder: int, change: Change, step: Step) -> None:
        if step.new_identity is None:
            self._delete(folder, change, step)
        elif step.old_identity is None:
            rename_new(folder, step.new, folder, change.name)
        else:
            self._replace(folder, change, step)

    def _replace(self, folder: int, change: Change, step: Step) -> None:
        """Where the system can exchange names, what was replaced is looked at, and comes back if it is not ours."""
        if not exchange(folder, step.new, change.name):
            os.rename(step.new, change.name, src_dir_fd=folder, dst_dir_fd=folder)
        elif not _is_old(folder, step.new, step):
            exchange(folder, step.new, change.name)
            _changed_meanwhile(change)

    def _delete(self, folder: int, change: Change, step: Step) -> None:
        if not rename_at_once(folder, change.name, step.new):
            os.unlink(change.name, dir_fd=folder)
        elif not _is_old(folder, step.new, step):
            rename_new(folder, step.new, folder, change.name)
            _changed_meanwhile(change)


def _is_old(folder: int, name: str, step: Step) -> bool:
    found = _look(folder, name)
    return found is not None and identity(found) == step.old_identity


def _changed_meanwhile(change: Change) -> NoReturn:
    verb = "appeared" if change.found is None else "was changed or removed"
    message = f"{change.path!r} {verb} meanwhile; nothing was changed: read it again, then retry"
    raise ToolError(message, "conflict")


def _keep(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """The same file under a second name, or a copy of it where the file system has no hard links."""
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
    """A new file on the disk, with the attributes of `model` if there is one."""
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
