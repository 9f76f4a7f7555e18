"""Where a path leads, without anything being made or kept open: for plans that are carried out later."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_core.protected import is_protected
from tools_filesystem._paths._access import Place
from tools_filesystem._paths._protected import OWN, _below, check_writable
from tools_filesystem._paths._resolve import open_folder
from tools_filesystem._paths._step import open_in
from tools_filesystem._writing._target import MOST_NEW, no_file_name, too_many_folders

if TYPE_CHECKING:
    from tools_filesystem._paths._access import PinnedRoot

_MOST_LINKS = 40


class Spot(NamedTuple):
    """A folder by its real names below the root, of which the `missing` ones are to be made, and a name in it."""

    folder: tuple[str, ...]
    missing: tuple[str, ...]
    name: str
    found: os.stat_result | None

    @property
    def where(self) -> str:
        """The path of the folder, missing ones included; empty for the root."""
        return "/".join((*self.folder, *self.missing))

    @property
    def path(self) -> str:
        """The real path below the root."""
        return "/".join((*self.folder, *self.missing, self.name))

    def to_make(self) -> list[str]:
        """The paths of the missing folders, the outer ones first."""
        depth = len(self.folder)
        names = (*self.folder, *self.missing)
        return ["/".join(names[:end]) for end in range(depth + 1, len(names) + 1)]


def locate(place: Place, *, follow: bool) -> Spot:
    """The spot that a place means; a link at its end is followed if `follow`. ToolError for a protected one."""
    root, path = place
    for _ in range(_MOST_LINKS):
        where, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            raise no_file_name(path)
        folder, missing = _deepest(root, where or ".")
        try:
            spot = _spot(root, folder, missing, name)
            if spot.found is None or not follow or not stat.S_ISLNK(spot.found.st_mode):
                return spot
            link = os.readlink(name, dir_fd=folder)
        finally:
            os.close(folder)
        path = root.relative(link) if link.startswith("/") else f"{where or '.'}/{link}"
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def read_spot(root: PinnedRoot, spot: Spot, limit: int) -> tuple[bytes, os.stat_result]:
    """The content of the file at a spot, and its state before it was read; ToolError when it is larger than `limit`."""
    folder = open_folder(Place(root, spot.where or "."))
    try:
        descriptor = open_in(folder, spot.name)
    finally:
        os.close(folder)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        data = b"" if found.st_size > limit else file.read(limit + 1)
    if max(found.st_size, len(data)) > limit:
        raise ToolError(f"{spot.path!r} has {found.st_size} bytes; at most {limit} can be patched", "limit_exceeded")
    return data, found


def _spot(root: PinnedRoot, folder: int, missing: tuple[str, ...], name: str) -> Spot:
    if len(missing) > MOST_NEW:
        raise too_many_folders()
    first, *further = (*missing, name)
    check_writable(root, folder, first)
    for component in further:
        if component.casefold().startswith(OWN) or is_protected(component, root.protected):
            raise ToolError(f"{'/'.join((*missing, name))!r} is a protected place; write elsewhere", "denied")
    try:
        found = os.stat(first, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        found = None
    if found is not None and missing:  # a link to nowhere: no folder can be made of that name
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), first)
    return Spot(tuple(_below(root.descriptor, folder)), missing, name, found)


def _deepest(root: PinnedRoot, path: str) -> tuple[int, tuple[str, ...]]:
    """The folder, or the deepest one on the way to it, and the names that are missing from there on."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for end in range(len(parts), -1, -1):
        try:
            folder = open_folder(Place(root, "/".join(parts[:end]) or "."))
        except FileNotFoundError:
            if ".." in parts:  # what `..` follows would be made only to be left again
                raise
        else:
            return folder, tuple(parts[end:])
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
