"""The files that paths mean, by their real names, before anything is done to them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tools_core import ToolError
from tools_filesystem._paths._access import Access, Place
from tools_filesystem._paths._names import find
from tools_filesystem._paths._resolve import open_folder, pin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_filesystem._workspace import Workspace

_MOST_LINKS = 40


def real_paths(workspace: Workspace, paths: Sequence[Any]) -> list[str] | None:
    """Where paths lead, and the links that they go by; None if one cannot be told, or is outside the workspace.

    Of a path that does not exist: where it would be made, and the file whose name a tool would take for it.
    """
    found: list[str] = []
    try:
        with Access(workspace) as access:
            for path in paths:
                if not isinstance(path, str):
                    return None
                found += _meanings(access, path)
    except (OSError, ToolError, ValueError):  # the tool will come to the same end, and say why
        return None
    return list(dict.fromkeys(found))


def _meanings(access: Access, path: str) -> Iterator[str]:
    place = access.place(path)
    try:
        os.close(pin(place))
    except FileNotFoundError:
        other = find(access, path, repair=True)
        if other is not None:
            yield from _names(other.place)
    yield from _names(place)


def _names(place: Place) -> Iterator[str]:
    """The real path of a place, and before it those of the links that it is."""
    for _ in range(_MOST_LINKS):
        where, _, name = place.path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            yield _real(pin(place))
            return
        try:
            folder = open_folder(Place(place.root, where or "."))
        except FileNotFoundError:
            yield _missing(place)
            return
        try:
            yield os.path.join(_name_of(folder), name)
            link = os.readlink(name, dir_fd=folder)
        except OSError:  # no link, or nothing yet
            return
        finally:
            os.close(folder)
        below = place.root.relative(link) if link.startswith("/") else f"{where or '.'}/{link}"
        place = Place(place.root, below)
    raise ValueError("a link that leads to itself")


def _missing(place: Place) -> str:
    """Where a place would be, whose folders are still to be made."""
    parts = [part for part in place.path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError("what .. would lead to is not there yet")
    for end in range(len(parts) - 1, -1, -1):
        try:
            folder = pin(Place(place.root, "/".join(parts[:end]) or "."))
        except FileNotFoundError:
            continue
        return os.path.join(_real(folder), *parts[end:])
    raise FileNotFoundError(place.root.path)


def _real(descriptor: int) -> str:
    try:
        return _name_of(descriptor)
    finally:
        os.close(descriptor)


def _name_of(descriptor: int) -> str:
    """The path of what is open, as the system has it."""
    if hasattr(os, "O_PATH"):
        return os.readlink(f"/proc/self/fd/{descriptor}")
    import fcntl  # not on Windows

    return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))  # type: ignore[attr-defined]  # macOS
