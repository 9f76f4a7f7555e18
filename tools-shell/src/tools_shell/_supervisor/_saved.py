"""`SavedPlace`: the content of a protected file or folder, which is restored if a command changes it."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The mode and the content of a file, or the target of a link; or the entries of a folder.
Node: TypeAlias = "tuple[int, bytes] | dict[str, Node]"

MAX_FILES, MAX_SIZE = 200, 1 << 20  # of a place
_IGNORED = ".sample"  # hooks that git does not run


class SavedPlace:
    """A file or folder with a name in an open folder. Deleting that folder is allowed.

    `on_folder` receives the descriptor of each folder in it before that is read.
    """

    def __init__(self, folder: int, label: str, name: str, on_folder: Callable[[int], object]) -> None:
        """Read the place; OSError if it is too large or not readable, and so could not be restored."""
        self.folder, self.label, self.name = folder, label, name
        self._on_folder = on_folder
        self._before = _read(folder, name, on_folder)

    def restore(self, *, is_last: bool) -> list[str]:
        """Restore the place if a command has changed it; return the names of the changed files.

        During the command, a missing file may be part of a deletion.
        """
        try:
            after = _read(self.folder, self.name, self._on_folder)
        except OSError as error:  # changed in the meantime, too large, or without permissions
            after = 0, str(error).encode()
        changes = [*_changes(self.label, self._before, after)]
        if all(node is None for _, node in changes) and not is_last:
            return []
        if not changes or self._is_deleted():
            return []
        _replace(self.folder, self.name, self._before, after)
        return [label for label, _ in changes]

    def _is_deleted(self) -> bool:
        """Return whether the folder was deleted, or is empty because a program is deleting it."""
        path = f"/proc/self/fd/{self.folder}"
        return os.readlink(path).endswith(" (deleted)") or not os.listdir(path)


def _read(folder: int, name: str, on_folder: Callable[[int], object]) -> Node | None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            return mode, os.fsencode(os.readlink(name, dir_fd=folder))
        if stat.S_ISREG(mode):
            return mode, _content(folder, name)
        if not stat.S_ISDIR(mode):
            return mode, b""
        with _Folder(folder, name) as inner:
            on_folder(inner)  # first, so that no change is missed
            names = [entry for entry in os.listdir(inner) if not entry.endswith(_IGNORED)]
            if len(names) > MAX_FILES:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            nodes = {entry: _read(inner, entry, on_folder) for entry in names}
            return {entry: node for entry, node in nodes.items() if node is not None}
    except FileNotFoundError:
        return None


def _content(folder: int, name: str) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with open(descriptor, "rb") as file:
        content = file.read(MAX_SIZE + 1)
    if len(content) > MAX_SIZE:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content


class _Folder:
    """An open folder in another one; never the target of a link."""

    def __init__(self, folder: int, name: str) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(name, flags, dir_fd=folder)

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _changes(label: str, before: Node | None, after: Node | None) -> Iterator[tuple[str, Node | None]]:
    """Yield the name and the new state of each file that differs."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            yield from _changes(f"{label}/{name}", before.get(name), after.get(name))
    elif before != after:
        yield label, after


def _replace(folder: int, name: str, before: Node | None, after: Node | None) -> None:
    """Replace the state of an entry of an open folder; no link is followed, since a command may add one meanwhile."""
    if before == after:
        return
    if after is not None and not (isinstance(before, dict) and isinstance(after, dict)):
        _remove(folder, name)
        after = None
    if isinstance(before, dict):
        if after is None:
            os.mkdir(name, dir_fd=folder)
        entries = after if isinstance(after, dict) else {}
        with _Folder(folder, name) as inner:
            for entry in {*before, *entries}:
                _replace(inner, entry, before.get(entry), entries.get(entry))
    elif before is not None:
        mode, content = before
        if stat.S_ISLNK(mode):
            os.symlink(content, os.fsencode(name), dir_fd=folder)
        elif stat.S_ISREG(mode):
            _write(folder, name, mode, content)


def _remove(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in {errno.EISDIR, errno.EPERM}:
            raise
        import shutil  # rare: the server that starts commands imports this module

        shutil.rmtree(name, dir_fd=folder)


def _write(folder: int, name: str, mode: int, content: bytes) -> None:
    temporary = f"{name}.{os.urandom(4).hex()}.lock"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with open(descriptor, "wb") as file:
        file.write(content)
        os.fchmod(descriptor, stat.S_IMODE(mode))
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
