"""The journal of a patch: what to take back, or to clear away, when its process dies in the middle.

It lies in a folder of the root for as long as the patch runs, and is locked as long. A journal that nobody locks was
left by a crash: whoever writes next in that root settles it first. Until the patch is marked as done it is taken back
whole; afterwards only what was kept for that is removed.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from tools_core import ToolError
from tools_filesystem._access import Place
from tools_filesystem._lock import hold, release
from tools_filesystem._protected import JOURNAL, OWN, check_writable
from tools_filesystem._rename import rename_new
from tools_filesystem._resolve import open_folder

if TYPE_CHECKING:
    from typing import Any, Literal

    from tools_core import Context
    from tools_filesystem._access import PinnedRoot

_PLAN, _NEXT_PLAN = "plan.json", "plan.tmp"
_ASIDE = re.compile(re.escape(OWN) + r"[0-9a-f]{16}-\d{1,6}\.(new|old)")

# Inode, size and time of change: enough to know our own file again, also after the system was started anew.
Identity = tuple[int, int, int]


def identity(found: os.stat_result) -> Identity:
    """What the journal knows a file by."""
    return found.st_ino, found.st_size, found.st_mtime_ns


class Step(NamedTuple):
    """One name that a patch changes: its new and its old content lie beside it, under the names `new` and `old`.

    The identities are None where there is no such content, and before it was written.
    """

    folder: str
    name: str
    new: str
    old: str
    new_identity: Identity | None = None
    old_identity: Identity | None = None


class Plan(NamedTuple):
    """All steps, and the folders that are made for them, the outer ones first."""

    state: Literal["staging", "applying", "done"]
    folders: list[str]
    steps: list[Step]


class Folders:
    """The folders of a patch, held open and locked in one order for all, so that no two patches wait for each other."""

    def __init__(self, root: PinnedRoot) -> None:
        self._root = root
        self._open: dict[str, int] = {}

    def open(self, path: str) -> int:
        """The folder of this path below the root, which stays open."""
        if path not in self._open:
            self._open[path] = open_folder(Place(self._root, path or "."))
        return self._open[path]

    def lock(self, context: Context | None = None) -> None:
        """Keep other writers out of all that are open."""
        for descriptor in sorted(self._open.values(), key=_order):
            hold(descriptor, context)

    def sync(self) -> None:
        for descriptor in self._open.values():
            os.fsync(descriptor)

    def close(self) -> None:
        for descriptor in self._open.values():
            release(descriptor)
            os.close(descriptor)
        self._open.clear()


class Journal:
    """The journal of a root, locked within the block; what a crash has left is settled on entering."""

    def __init__(self, root: PinnedRoot, context: Context | None = None) -> None:
        self.root = root
        self.folders = Folders(root)
        self.descriptor = _open_locked(root, context)
        try:
            self.settle()
        except BaseException:
            self.close()
            raise

    def write(self, plan: Plan) -> None:
        """Make `plan` the one that holds from now on; on the disk when this returns."""
        data = json.dumps(plan).encode()
        descriptor = os.open(_NEXT_PLAN, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=self.descriptor)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(_NEXT_PLAN, _PLAN, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        os.fsync(self.descriptor)

    def settle(self) -> bool:
        """Take back what is not done, clear away what is; whether a patch was done."""
        plan = self._read()
        if plan is not None:
            if plan.state != "staging":
                for path in self._existing(plan):
                    self.folders.open(path)
                self.folders.lock()
            if plan.state == "applying":
                self._take_back(plan)
            self._clear(plan)
            with suppress(FileNotFoundError):
                os.unlink(_PLAN, dir_fd=self.descriptor)
        with suppress(FileNotFoundError):
            os.unlink(_NEXT_PLAN, dir_fd=self.descriptor)
        return plan is not None and plan.state == "done"

    def close(self) -> None:
        self.folders.close()
        with suppress(OSError):  # not empty: it could not be settled, and somebody else will have to
            os.rmdir(JOURNAL, dir_fd=self.root.descriptor)
        release(self.descriptor)
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> Plan | None:
        try:
            descriptor = os.open(_PLAN, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self.descriptor)
        except FileNotFoundError:
            return None
        with open(descriptor, "rb") as file:
            try:
                return _checked(json.loads(file.read(64 << 20)))
            except (ValueError, TypeError) as error:
                message = f"{JOURNAL}/{_PLAN} in {self.root.path!r} is damaged: its patch cannot be taken back"
                raise ToolError(f"{message}; only the user can remove it", "unavailable") from error

    def _existing(self, plan: Plan) -> list[str]:
        return [path for path in dict.fromkeys(step.folder for step in plan.steps) if self._exists(path)]

    def _exists(self, path: str) -> bool:
        try:
            os.close(open_folder(Place(self.root, path or ".")))
        except (FileNotFoundError, NotADirectoryError):
            return False  # it was removed since, and with it all that the patch has left there
        return True

    def _take_back(self, plan: Plan) -> None:
        existing = set(self._existing(plan))
        for step in reversed(plan.steps):
            if step.folder in existing:
                _restore(self.root, self.folders.open(step.folder), step)
        self.folders.sync()

    def _clear(self, plan: Plan) -> None:
        """Remove what lies beside the files, and the folders that were made unless the patch is done."""
        for path in self._existing(plan):
            folder = open_folder(Place(self.root, path or "."))
            try:
                for step in plan.steps:
                    for name in (step.new, step.old) if step.folder == path else ():
                        with suppress(FileNotFoundError):
                            os.unlink(name, dir_fd=folder)
            finally:
                os.close(folder)
        for path in reversed(plan.folders if plan.state != "done" else []):
            where, _, name = path.rpartition("/")
            with suppress(OSError):  # somebody uses it already, which is a reason to leave it
                folder = open_folder(Place(self.root, where or "."))
                try:
                    os.rmdir(name, dir_fd=folder)
                finally:
                    os.close(folder)


def recover(root: PinnedRoot) -> None:
    """Settle what a crash has left in a root; one look where there is nothing, which is nearly always."""
    try:
        os.stat(JOURNAL, dir_fd=root.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not _is_busy(root):
        Journal(root).close()


def _is_busy(root: PinnedRoot) -> bool:
    """Whether a patch is being applied just now, or there is no journal any more."""
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock  # POSIX alone

    try:
        descriptor = os.open(JOURNAL, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root.descriptor)
    except OSError:
        return True
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        flock(descriptor, LOCK_UN)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _open_locked(root: PinnedRoot, context: Context | None) -> int:
    while True:
        with suppress(FileExistsError):
            os.mkdir(JOURNAL, 0o700, dir_fd=root.descriptor)
        try:
            descriptor = os.open(JOURNAL, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root.descriptor)
        except FileNotFoundError:  # the one before us has just removed it
            continue
        try:
            hold(descriptor, context)
            if _is_there(root, descriptor):
                os.fsync(root.descriptor)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # it was removed while we waited for the lock


def _is_there(root: PinnedRoot, descriptor: int) -> bool:
    try:
        found = os.stat(JOURNAL, dir_fd=root.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))


def _order(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def _restore(root: PinnedRoot, folder: int, step: Step) -> None:
    """Give a name its old content back; what somebody else has written since then is left alone."""
    try:
        there = identity(os.stat(step.name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        there = None
    is_ours = there is not None and there == step.new_identity
    if step.old_identity is None:
        if is_ours:
            os.unlink(step.name, dir_fd=folder)
    elif is_ours or (there is None and step.new_identity is None):  # else somebody has deleted it: no patch does
        check_writable(root, folder, step.name)  # a journal may be forged
        with suppress(FileNotFoundError):  # it was done before, or the patch had not come so far
            if is_ours:
                os.rename(step.old, step.name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                rename_new(folder, step.old, folder, step.name)


def _checked(found: Any) -> Plan:
    """The plan that was written; ValueError for anything that this module does not write."""
    state, folders, steps = found
    plan = Plan(state, [str(path) for path in folders], [_checked_step(*step) for step in steps])
    if state not in ("staging", "applying", "done"):
        raise ValueError(state)
    return plan


def _checked_step(folder: str, name: str, new: str, old: str, *identities: list[int] | None) -> Step:
    if "/" in name or name in ("", ".", "..") or not (_ASIDE.fullmatch(new) and _ASIDE.fullmatch(old)):
        raise ValueError(name)
    found = [None if known is None else (known[0], known[1], known[2]) for known in identities]
    return Step(folder, name, new, old, *found)
