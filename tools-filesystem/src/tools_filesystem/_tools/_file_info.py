"""The `file_info` tool."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, NamedTuple

from tools_core import Context, Result
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._names import find, sendable
from tools_filesystem._paths._resolve import open_folder, open_regular, pin
from tools_filesystem._paths._step import SpecialFileError
from tools_filesystem._reading._encoding import SNIFF, detect
from tools_filesystem._reading._entries import type_of
from tools_filesystem._reading._media import UNKNOWN, media_type
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from typing import Any

    from tools_filesystem._paths._access import Access, Place


class FileInfo(FileTool):
    """Get the type, size, modification time, permissions, owner and MIME type of a path.

    A link itself is described, with its target.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "Path, relative to the workspace."],
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access, explained(access, path):
            seen = _look(access, path)
            facts: dict[str, Any] = {"path": sendable(seen.path), **_of_stat(seen.found)}
            if seen.path != path and seen.is_repaired:
                facts["note"] = f"no {path!r}: this differs in spaces, quotes, accents or case"
            if stat.S_ISLNK(seen.found.st_mode):
                facts |= {"target": sendable(seen.target), "leads_to": _leads_to(seen.place)}
            elif stat.S_ISREG(seen.found.st_mode):
                facts |= _of_content(seen.place)
        return Result.ok(facts)


class _Seen(NamedTuple):
    place: Place
    path: str
    found: os.stat_result
    target: str = ""
    is_repaired: bool = False


def _look(access: Access, path: str) -> _Seen:
    try:
        place = access.place(path)
        return _Seen(place, path, *_stat(place))
    except FileNotFoundError:
        other = find(access, path, repair=True)
        if other is None:
            raise
    return _Seen(other.place, other.path, *_stat(other.place), other.is_repaired)


def _stat(place: Place) -> tuple[os.stat_result, str]:
    """What is at a place, a link itself, and where that points."""
    name = place.path.rpartition("/")[2]
    if name in ("", ".", ".."):  # these are no names in the folder above, and never links
        pinned = pin(place)
        try:
            return os.fstat(pinned), ""
        finally:
            os.close(pinned)
    folder = open_folder(place.parent())
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return found, os.readlink(name, dir_fd=folder) if stat.S_ISLNK(found.st_mode) else ""
    finally:
        os.close(folder)


def _of_stat(found: os.stat_result) -> dict[str, Any]:
    when = datetime.fromtimestamp(found.st_mtime_ns // 1_000_000_000, UTC)
    facts = {"type": type_of(found.st_mode), "size": found.st_size, "modified": when.isoformat()}
    facts |= {"mode": f"{stat.S_IMODE(found.st_mode):04o}", "permissions": stat.filemode(found.st_mode)}
    return facts | {"owner": _user(found.st_uid), "group": _group(found.st_gid), "hard_links": found.st_nlink}


def _user(number: int) -> str:
    import pwd  # only POSIX has it

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    import grp  # only POSIX has it

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _leads_to(place: Place) -> str:
    try:
        pinned = pin(place)
    except FileNotFoundError:
        return "nothing"
    except SpecialFileError:
        return "special"
    except OSError:
        return "outside the workspace, or nowhere"
    try:
        return type_of(os.fstat(pinned).st_mode)
    finally:
        os.close(pinned)


def _of_content(place: Place) -> dict[str, Any]:
    try:
        descriptor = open_regular(place)
    except SpecialFileError:  # the kernel's own, or exchanged just now
        return {}
    except PermissionError:
        return {"readable": False}
    try:
        start = os.pread(descriptor, SNIFF, 0)
        facts: dict[str, Any] = {"media_type": _kind(start, place.path)}
        return facts
    finally:
        os.close(descriptor)


def _kind(start: bytes, name: str) -> str:
    kind = media_type(start, name)
    return "text/plain" if kind == UNKNOWN and detect(start) is not None else kind
