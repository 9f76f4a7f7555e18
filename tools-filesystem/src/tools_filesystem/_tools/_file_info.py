"""The `file_info` tool."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Result, ToolError
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._names import sendable
from tools_filesystem._paths._resolve import SpecialFileError
from tools_filesystem._reading._encoding import SNIFF, detect
from tools_filesystem._reading._entries import type_of
from tools_filesystem._reading._media import UNKNOWN, media_type
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from typing import Any

    from tools_filesystem._paths._access import Access
    from tools_filesystem._paths._locate import Located


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
        with (
            self.access(context) as access,
            locate(access, path, follow=path.endswith(("/", "/.")), repair=True) as place,
        ):
            found = place.state
            facts: dict[str, Any] = {"path": place.path, **_of_stat(found)}
            if place.note:
                facts["note"] = place.note
            if stat.S_ISLNK(found.st_mode):
                target = os.readlink(place.name, dir_fd=place.folder)
                facts |= {"target": sendable(target), "leads_to": _leads_to(access, place.path)}
            elif stat.S_ISREG(found.st_mode):
                facts |= _of_content(place)
        return Result.ok(facts)


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


def _leads_to(access: Access, path: str) -> str:
    try:
        with locate(access, path) as place:
            return type_of(place.state.st_mode)
    except ToolError as error:
        return "nothing" if error.type == "not_found" else "outside the workspace, or nowhere"


def _of_content(place: Located) -> dict[str, Any]:
    try:
        descriptor = place.open_file()
    except SpecialFileError:  # the kernel's own
        return {}
    except PermissionError:
        return {"readable": False}
    try:
        return {"media_type": _kind(os.pread(descriptor, SNIFF, 0), place.path)}
    finally:
        os.close(descriptor)


def _kind(start: bytes, name: str) -> str:
    kind = media_type(start, name)
    return "text/plain" if kind == UNKNOWN and detect(start) is not None else kind
