"""Change files so that others see the old content or the new; of several files all are changed, or none.

New contents are staged beside the files first; then the files are only renamed. An error takes back all that was done,
which is remembered by the running call alone, never in the workspace. When the process is killed in the middle, each
file is the old or the new one, and staged files may remain.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn
from zlib import crc32

from tools_core import ToolError
from tools_filesystem._ledger import Stamp
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._locate import lock
from tools_filesystem._paths._protected import OWN
from tools_filesystem._paths._resolve import open_file
from tools_filesystem._writing._attributes import keep_attributes
from tools_filesystem._writing._rename import exchange, identity, rename_new

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_core import Context
    from tools_filesystem._paths._locate import Located

_NO_TMPFILE = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
# The file system has no hard links, or permits no more of this file.
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)


@dataclass(slots=True, kw_only=True)
class Change:
    """A file that gets other content, or goes if `data` is None.

    `found` and `content` are what must be there; with `is_forced`, whatever is there is replaced. A file that is
    replaced keeps its attributes, and a new one gets those of `model`.
    """

    place: Located
    data: bytes | None
    found: os.stat_result | None
    content: bytes | None = None
    is_forced: bool = False
    model: Located | None = None
    executable: bool | None = None

    def check(self) -> None:
        """Raise `conflict` if the file is no longer what it was."""
        self.place.look()
        now = self.place.found
        if not self.is_forced and (now and Stamp.of(now)) != (self.found and Stamp.of(self.found)):
            self.refuse()

    def refuse(self) -> NoReturn:
        """Raise `conflict`: another program was here."""
        self.place.look()
        path = self.place.given
        verb = "appeared" if self.found is None else "was deleted" if self.place.found is None else "was changed"
        message = f"{path!r} {verb} meanwhile by another program; nothing was changed: read it again, then retry"
        raise ToolError(message, "conflict")


@dataclass(slots=True)
class _Step:
    """A change with its staged file: the new content has the name `aside`, where the old one is afterwards."""

    change: Change
    aside: str
    new: os.stat_result | None = None
    old: str = ""  # the old content, where names cannot be exchanged


def commit(changes: Sequence[Change], context: Context) -> list[os.stat_result | None]:
    """Make all changes, with the folders that are missing, and return the new states; an error takes all of it back."""
    for change in changes:
        with explained(change.place.given):
            change.place.make_folders(context)
    lock(context, *(change.place for change in changes))
    token = secrets.token_hex(8) if len(changes) > 1 else ""
    steps: list[_Step] = []
    try:
        for number, change in enumerate(changes):
            with explained(change.place.given):
                _check(change)
                steps.append(_Step(change, f"{OWN}{token}-{number}.tmp" if token else _own_name(change.place.folder)))
                if change.data is not None:
                    steps[-1].new = _stage(change, steps[-1].aside)
        _apply_all(steps)
        for folder in {step.change.place.folder for step in steps}:
            with suppress(OSError):  # all files are changed, which an error would deny
                os.fsync(folder)
        return [_state(step) for step in steps]
    finally:
        for step in steps:
            _tidy(step)


def _check(change: Change) -> None:
    change.check()
    # Where the clock of the file system is coarse, a change just now does not show in the stamp.
    if change.content is not None:
        with open(open_file(change.place.folder, change.place.name), "rb") as file:
            if file.read() != change.content:
                change.refuse()


def _apply_all(steps: Sequence[_Step]) -> None:
    begun = 0
    try:
        for step in steps:
            begun += 1
            with explained(step.change.place.given):
                if begun > 1:  # a change before may have made the folder a git repository
                    step.change.place.check_repository()
                _apply(step)
    except BaseException as error:
        problems: list[str] = []
        for step in reversed(steps[:begun]):
            try:
                _take_back(step)
            except OSError as problem:
                kept = f"{step.aside[:-4]}.old"  # so that no later call removes it
                with suppress(OSError):
                    folder = step.change.place.folder
                    os.rename(step.old or step.aside, kept, src_dir_fd=folder, dst_dir_fd=folder)
                problems.append(f"{step.change.place.given!r} ({problem.strerror}; its old content is in {kept!r})")
        if problems:
            message = f"{error}. Some files could not be restored: {'; '.join(problems)}"
            raise ToolError(message, "execution_error") from error
        raise


def _apply(step: _Step) -> None:
    """Rename the new content to its place, and look at what was replaced: another program's file goes back there."""
    change, place = step.change, step.change.place
    folder, name = place.folder, place.name
    change.check()
    try:
        if step.new is None:
            os.rename(name, step.aside, src_dir_fd=folder, dst_dir_fd=folder)
            if not _is_old(step):
                rename_new(folder, step.aside, folder, name)
                change.refuse()
        elif change.found is None:
            rename_new(folder, step.aside, folder, name)
        elif change.is_forced:
            os.rename(step.aside, name, src_dir_fd=folder, dst_dir_fd=folder)
        elif not exchange(folder, step.aside, name):
            _keep_old(step)
            place.look()
            if place.found is None or identity(place.found) != identity(change.found):
                change.refuse()
            os.rename(step.aside, name, src_dir_fd=folder, dst_dir_fd=folder)
        elif not _is_old(step):
            exchange(folder, step.aside, name)
            change.refuse()
    except (FileNotFoundError, FileExistsError):
        change.refuse()


def _is_old(step: _Step) -> bool:
    found = os.stat(step.aside, dir_fd=step.change.place.folder, follow_symlinks=False)
    return step.change.found is not None and identity(found) == identity(step.change.found)


def _keep_old(step: _Step) -> None:
    """Give the old content a second name, or copy it where the file system has no hard links."""
    change, folder = step.change, step.change.place.folder
    step.old = f"{step.aside[:-4]}.old"
    try:
        os.link(change.place.name, step.old, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if change.content is not None:
            _stage(change, step.old, change.content)


def _take_back(step: _Step) -> None:
    """Give a name its old content back, unless another program has written there since."""
    place = step.change.place
    folder, name = place.folder, place.name
    place.look()
    is_ours = place.found is not None and step.new is not None and identity(place.found) == identity(step.new)
    if step.new is None and place.found is None:
        with suppress(FileNotFoundError):  # another program has deleted it
            rename_new(folder, step.aside, folder, name)
    elif is_ours and step.change.found is None:
        os.unlink(name, dir_fd=folder)
    elif is_ours and step.old:
        os.rename(step.old, name, src_dir_fd=folder, dst_dir_fd=folder)
    elif is_ours:
        exchange(folder, step.aside, name)


def _state(step: _Step) -> os.stat_result | None:
    """Return the new state of a file, or where that cannot be told for sure, the state before it got its name."""
    place = step.change.place
    with suppress(OSError):  # the file is changed, which an error would deny
        place.look()
        if place.found is not None and step.new is not None and identity(place.found) == identity(step.new):
            return place.found
    return step.new


def _tidy(step: _Step) -> None:
    """Remove the staged file, old or new, but never one that another program has put there."""
    ours = [found for found in (step.new, step.change.found) if found is not None]
    for name in filter(None, (step.aside, step.old)):
        for _ in range(2):  # what cannot be done now is left to the next write
            with suppress(OSError):
                found = os.stat(name, dir_fd=step.change.place.folder, follow_symlinks=False)
                if step.old == name or any(os.path.samestat(found, known) for known in ours):
                    os.unlink(name, dir_fd=step.change.place.folder)


def _stage(change: Change, aside: str, data: bytes | None = None) -> os.stat_result:
    """Write content beside the file, on the disk and with its attributes, and return its state."""
    data = data if data is not None else change.data or b""
    model = change.place if change.found is not None else change.model
    descriptor, is_named = _open_aside(change.place.folder, aside, 0o666 if model is None else 0o600)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        if model is not None:
            keep_attributes(model.folder, model.name, model.state, descriptor)
        if change.executable is not None:
            mode = os.fstat(descriptor).st_mode & 0o777
            os.fchmod(descriptor, mode | (mode & 0o444) >> 2 if change.executable else mode & ~0o111)
        os.fsync(descriptor)
        state = os.fstat(descriptor)
        _check_size(state, len(data))
        if not is_named:  # it gets a name only now, so that there is next to no time to leave litter
            os.link(f"/proc/self/fd/{descriptor}", aside, dst_dir_fd=change.place.folder, follow_symlinks=True)
            is_named = True
    except BaseException:
        if is_named:
            with suppress(OSError):
                os.unlink(aside, dir_fd=change.place.folder)
        raise
    finally:
        os.close(descriptor)
    return state


def _check_size(state: os.stat_result, size: int) -> None:
    if state.st_size != size:
        raise OSError(errno.EIO, "not all of it was written; nothing was changed")


def _open_aside(folder: int, name: str, mode: int) -> tuple[int, bool]:
    """Open a new file in a folder, without a name where the system can, so that a crash leaves nothing."""
    if hasattr(os, "O_TMPFILE") and os.path.exists("/proc/self/fd"):  # the way by which it gets its name
        try:
            return os.open(".", os.O_RDWR | os.O_TMPFILE, mode, dir_fd=folder), False
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder), True


def _own_name(folder: int) -> str:
    """Return the name of a staged file in a locked folder, and remove what a crash has left there.

    It is the same for all writes of one user on one machine, so that a file of that name was left by a crash. If it
    cannot be removed, it is not ours, and another name is used.
    """
    name = f"{OWN}{crc32(f'{os.uname().nodename} {os.geteuid()}'.encode()):08x}.tmp"
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:
        return f"{OWN}{secrets.token_hex(8)}.tmp"
    return name
