"""Trees of files: read their state, copy them, and compare single files by content."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath
from typing import NamedTuple

COPY = ["cp", "-av", "--reflink=auto"] if sys.platform == "linux" else ["cp", "-Rpvc"]
BATCH = 500  # paths for one process of cp


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

    def has_changed(self, other: State) -> bool:
        """Return whether the content or the mode may differ; a folder changes with its mode alone."""
        return self.mode != other.mode if self.kind == "folder" else self != other


def state_of(path: str) -> State | None:
    """Return the state of a path, without following links; None if it does not exist."""
    try:
        return State.of(os.lstat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def scan(folder: str, skip: Iterable[str] = ()) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the relative path of everything below a folder with its state; folders come before their content."""
    skipped = frozenset(skip)
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            descriptor = os.open(os.path.join(folder, prefix), os.O_RDONLY | os.O_DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):  # deleted meanwhile
            continue
        try:
            with os.scandir(descriptor) as entries:  # of a descriptor: its states are read faster
                for entry in entries:
                    path = prefix + entry.name
                    if path in skipped:
                        continue
                    try:
                        info = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    yield path, info
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(f"{path}/")
        finally:
            os.close(descriptor)


def stamp(info: os.stat_result) -> int:
    """Return a number that changes with a file: the time of any change, which programs cannot set; a folder's mode."""
    return info.st_mode if stat.S_ISDIR(info.st_mode) else info.st_ctime_ns


def copy_tree(
    source: str,
    target: str,
    tree: dict[str, State],
    skip: Iterable[str] = (),
    on_progress: Callable[[int, int], object] | None = None,
) -> list[str]:
    """Copy a scanned tree with modes, times, links and holes; return the special files, which are not copied.

    A file system that can share blocks between files copies without reading them.
    """
    special = [path for path, state in tree.items() if state.kind == "special"]
    # `cp` copies whole folders, except folders with something to skip: their entries are copied one by one.
    partial = {parent for path in (*special, *skip) for parent in map(str, PurePath(path).parents) if parent in tree}
    excluded = frozenset((*special, *skip))
    os.makedirs(target)
    folders = sorted(partial)
    for path in folders:
        os.mkdir(os.path.join(target, path))
    done = 0
    for parent in ["", *folders]:
        prefix = f"{parent}/" if parent else ""
        with os.scandir(os.path.join(source, parent)) as entries:
            names = [e.name for e in entries if prefix + e.name not in excluded and prefix + e.name not in partial]
        for start in range(0, len(names), BATCH):
            paths = [os.path.join(source, parent, name) for name in names[start : start + BATCH]]
            for _ in _run_copy([*paths, os.path.join(target, parent) + "/"]):
                done += 1
                if on_progress is not None and done % 100 == 0:
                    on_progress(min(done, len(tree)), len(tree))
    if on_progress is not None:
        on_progress(len(tree), len(tree))
    for path in ["", *folders][::-1]:
        shutil.copystat(os.path.join(source, path), os.path.join(target, path))
    return special


def _run_copy(words: list[str]) -> Iterator[str]:
    """Run `cp`, and yield a line for each copied entry."""
    with (
        tempfile.TemporaryFile("w+", errors="replace") as problems,
        subprocess.Popen(
            [*COPY, "--", *words],
            stdout=subprocess.PIPE,
            stderr=problems,
            text=True,
            errors="replace",
            env=os.environ | {"LC_ALL": "C"},
        ) as process,
    ):
        yield from process.stdout or ()
        if process.wait():
            problems.seek(0)
            # A file that was deleted since the scan, such as by a build, is not a problem.
            lines = [line for line in problems if not line.endswith(": No such file or directory\n")]
            if lines or process.returncode < 0:
                raise WorkspaceError(f"the workspace cannot be copied: {''.join(lines).strip()[-500:]}")


def remove_tree(folder: str) -> None:
    """Remove a folder with everything in it, also below folders that are not writable."""
    if os.path.lexists(folder):
        for parent, folders, _ in os.walk(folder):
            for name in folders:
                path = os.path.join(parent, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)  # before `walk` enters it
        shutil.rmtree(folder)


def same_content(first: str, second: str, first_state: State, second_state: State) -> bool:
    """Return whether two paths of the same kind have the same bytes or the same target; folders always do."""
    if first_state.kind == "folder":
        return True
    if first_state.size != second_state.size and not is_git_index(first):
        return False
    old, new = fingerprint(first), fingerprint(second)
    return old is not None and new is not None and old[2] == new[2]


def fingerprint(path: str, name: str = "") -> list[str | int] | None:
    """Return what decides whether two places hold the same: kind, mode, and the content; None for nothing.

    `name` is the path in the workspace of a file that is stored elsewhere.
    """
    state = state_of(path)
    if state is None:
        return None
    mode = stat.S_IMODE(state.mode)
    if state.kind == "file":
        with open(path, "rb") as file:
            if is_git_index(name or path):
                return ["file", mode, hashlib.sha256(_staged(file.read())).hexdigest()]
            return ["file", mode, hashlib.file_digest(file, "sha256").hexdigest()]
    return ["link", 0, os.readlink(path)] if state.kind == "link" else [state.kind, mode, ""]


def is_git_index(path: str) -> bool:
    """Return whether a file lists what is staged in a repository: `git status` rewrites it with the times of files."""
    return path.endswith("/index") and "/.git/" in f"/{path}"


def _staged(index: bytes) -> bytes:
    """Return the entries of an index without the times, sizes and numbers of files; other formats unchanged."""
    if not index.startswith(b"DIRC\0\0\0\2"):
        return index
    result = []
    start = 12
    for _ in range(int.from_bytes(index[8:12], "big")):
        end = index.find(b"\0", start + 62)  # of the path
        if end < 0:
            return index
        result.append(index[start + 24 : start + 28] + index[start + 40 : end + 1])
        start += (end - start + 8) // 8 * 8
    return b"".join(result)


@contextmanager
def locked(path: str) -> Generator[None]:
    """Hold a lock file; another process that holds it is a WorkspaceError."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another process applies or undoes changes of this workspace now: wait until it ends"
            raise WorkspaceError(message) from None
        yield
    finally:
        with suppress(OSError):
            os.close(descriptor)
