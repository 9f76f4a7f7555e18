"""`Located`: the place that a path means, and what tools do there."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from tools_core import ToolError
from tools_core.files import real_path
from tools_filesystem._paths._explain import explanation
from tools_filesystem._paths._lock import hold, release
from tools_filesystem._paths._protected import check_repository, check_writable, names_below
from tools_filesystem._paths._resolve import check_regular, closing, open_file, open_folder, open_inner

if TYPE_CHECKING:
    from tools_core import Context
    from tools_filesystem._paths._access import PinnedRoot

MAX_NEW = 50  # folders that one call creates above a file


@dataclass(slots=True, eq=False)
class Located:
    """The place that a path means; used in a `with` block, which explains errors of the system by that path.

    `folder` is open, and `status` is the `stat` result of `name` in it. If it is None, `missing` are the names of the
    folders below `folder` that do not exist either. An empty `name` means the folder itself: the root, or what `..`
    leads to. `links` are the real paths of the links that were followed at the end.
    """

    root: PinnedRoot
    argument: str
    path: str = ""
    note: str = ""
    links: list[str] = field(default_factory=list[str])
    is_slashed: bool = False
    folder: int = -1
    missing: tuple[str, ...] = ()
    name: str = ""
    status: os.stat_result | None = None
    _created: list[list[str]] = field(default_factory=list[list[str]])

    @property
    def real(self) -> str:
        """The real path, which has no links."""
        return "/".join((real_path(self.folder).rstrip("/"), *self.tail)) or "/"

    @property
    def below(self) -> str:
        """The real path below the root; "." for the root."""
        return "/".join((*names_below(self.root, self.folder), *self.tail)) or "."

    @property
    def tail(self) -> tuple[str, ...]:
        """The names below the folder."""
        return (*self.missing, self.name) if self.name else self.missing

    @property
    def is_folder(self) -> bool:
        """Return whether this is a folder, not a link to one."""
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    @property
    def state(self) -> os.stat_result:
        """The `stat` result; FileNotFoundError if nothing exists."""
        if self.status is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name)
        return self.status

    @property
    def shown(self) -> str:
        """The path in results: relative to the first root, or absolute outside of it."""
        with suppress(OSError):
            return "/".join((*names_below(self.root.access.roots[0], self.folder), *self.tail))
        return "/".join((self.root.path.rstrip("/"), *names_below(self.root, self.folder), *self.tail))

    @property
    def prefix(self) -> str:
        """The prefix of the paths in this folder."""
        return f"{self.shown}/" if self.shown else ""

    def look(self) -> None:
        """Refresh `status`."""
        with suppress(FileNotFoundError):
            self.status = None
            self.status = os.stat(self.name or ".", dir_fd=self.folder, follow_symlinks=False)

    def open_file(self) -> int:
        """Open a regular file for reading; OSError for anything else, which is not opened."""
        if self.is_folder:  # which may have no name here
            check_regular(self.state, self.argument)
        return open_file(self.folder, self.name)

    def read(self, megabytes: int) -> tuple[bytes, os.stat_result]:
        """Return the content of a regular file and its state before reading; ToolError if it is too large."""
        with open(self.open_file(), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            data = b"" if status.st_size > megabytes << 20 else file.readall()
        if max(status.st_size, len(data)) > megabytes << 20:
            message = f"{self.argument!r} has {status.st_size} bytes; files up to {megabytes} MB are changed"
            raise ToolError(message, "limit_exceeded")
        return data, status

    def read_start(self, size: int) -> bytes:
        """Return the first bytes of a regular file; OSError for anything else, which is not opened."""
        with open(self.open_file(), "rb", buffering=0) as file:
            return file.read(size)

    def check_folder(self) -> None:
        """Raise `not_a_directory` for anything else than a folder."""
        if not self.is_folder:
            raise ToolError(f"{self.argument!r} is not a folder; read_file reads files", "not_a_directory")

    def open_folder(self) -> int:
        """Open a folder so that it can be listed."""
        return open_inner(self.folder, self.name or ".")

    def check_file_name(self) -> None:
        """Raise ToolError (`not_a_file`) if the path can only be a folder, such as `a/`."""
        if self.is_slashed and self.status is None:
            message = f"{self.argument!r} can only be a folder, because it ends with a slash"
            raise ToolError(f"{message}; end it with the name of the file", "not_a_file")

    def check_name(self) -> None:
        """Raise ToolError (`denied`) for a root or a path that ends with `..`."""
        if not self.tail:
            message = "the path must end with the name of an entry: not the root itself, and not '..'"
            raise ToolError(message, "denied")

    def check_repository(self) -> None:
        """Raise ToolError (`denied`) if another call has made this part of a git repository."""
        check_repository(self.root, self.folder, self.tail[0])

    def check_permitted(self, instead: str) -> None:
        """Raise ToolError (`denied`) for a file without write permission: its owner has protected it."""
        mode = stat.S_IMODE(self.state.st_mode)
        if stat.S_ISREG(self.state.st_mode) and not mode & 0o222:
            raise ToolError(f"{self.argument!r} is read-only (mode {mode:04o}); {instead}", "denied")

    def make_folders(self, context: Context) -> None:
        """Create the missing parent folders; they are removed if the `with` block raises."""
        if len(self.missing) > MAX_NEW:
            message = f"the path needs more than {MAX_NEW} new folders; create them step by step"
            raise ToolError(message, "limit_exceeded")
        while self.missing:
            name = self.missing[0]
            hold(self.folder, context)
            self.check_repository()
            names = [*names_below(self.root, self.folder), name]
            with suppress(FileExistsError):  # another call has created it; opening fails if it is something else
                os.mkdir(name, dir_fd=self.folder)
                self._created.append(names)
            with suppress(OSError):  # sync: a crash would lose the folder with the files in it
                os.fsync(self.folder)
            try:
                inner = open_inner(self.folder, name)
            except NotADirectoryError as error:  # a dangling link
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name) from error
            release(self.folder)
            os.close(self.folder)
            self.folder, self.missing = inner, self.missing[1:]

    def make_itself(self, context: Context) -> None:
        """Create this folder and its missing parents."""
        self.prepare()
        self.missing, self.name = self.tail, ""
        self.make_folders(context)

    def prepare(self) -> None:
        """Check that this may be written, and reopen its folder for locking and syncing."""
        self.check_name()
        check_writable(self.root, self.folder, "/".join(self.tail))
        folder = open_inner(self.folder)
        os.close(self.folder)
        self.folder = folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self.close(unmake=kind is not None)
        if isinstance(error, OSError):
            raise explanation(error, self.argument) from error

    def close(self, *, unmake: bool = False) -> None:
        """Close the folder; `unmake` deletes created folders that are empty."""
        if self.folder >= 0:
            release(self.folder)
            os.close(self.folder)
        for names in reversed(self._created if unmake else ()):
            # If that fails, another process already uses it.
            with suppress(OSError), closing(open_folder(self.root, names[:-1])) as folder:
                os.rmdir(names[-1], dir_fd=folder)


def lock(context: Context, *places: Located) -> None:
    """Lock the folders of places, in an order that all calls share, and refresh their states.

    ToolError (`denied`) if one of them has become a protected place in the meantime.
    """
    # One descriptor for each folder: locking a second one would deadlock.
    folders = {_identity(place.folder): place.folder for place in places}
    for _, folder in sorted(folders.items()):
        hold(folder, context)
    for place in places:
        place.look()
        place.check_repository()


def _identity(folder: int) -> tuple[int, int]:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino
