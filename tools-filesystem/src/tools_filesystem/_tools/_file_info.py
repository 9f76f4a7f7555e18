"""The `file_info` tool."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Result
from tools_filesystem._paths._locate import locate
from tools_filesystem._paths._names import escaped
from tools_filesystem._paths._resolve import SpecialFileError
from tools_filesystem._reading._encoding import SNIFF
from tools_filesystem._reading._kinds import media_type, type_of
from tools_filesystem._tools._file_tool import FileTool

if TYPE_CHECKING:
    from typing import Any


class FileInfo(FileTool):
    """Get the type, size, modification time, permissions, owner and MIME type of a path.

    Use it before you read a file of unknown size or type; for the entries of a folder, use list_directory. A link
    itself is described, with its target. Does not return the content.
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
            locate(access, path, follow=path.endswith(("/", "/.")), repair="case") as place,
        ):
            status = place.state
            when = datetime.fromtimestamp(status.st_mtime_ns // 1_000_000_000, UTC)
            facts: dict[str, Any] = {"path": place.path, "type": type_of(status.st_mode), "size": status.st_size}
            facts |= {"modified": when.isoformat(), "mode": f"{stat.S_IMODE(status.st_mode):04o}"}
            facts |= {"permissions": stat.filemode(status.st_mode), **_owner(status)}
            if place.note:
                facts["note"] = place.note
            if stat.S_ISLNK(status.st_mode):
                facts["target"] = escaped(os.readlink(place.name, dir_fd=place.folder))
            elif stat.S_ISREG(status.st_mode):
                with suppress(SpecialFileError, PermissionError):
                    facts["media_type"] = media_type(place.read_start(SNIFF), place.path)
        return Result.ok(facts)


def _owner(status: os.stat_result) -> dict[str, str]:
    import grp
    import pwd  # only POSIX has them

    owner, group = str(status.st_uid), str(status.st_gid)
    with suppress(KeyError):  # a number without a name
        owner = pwd.getpwuid(status.st_uid).pw_name
    with suppress(KeyError):
        group = grp.getgrgid(status.st_gid).gr_name
    return {"owner": owner, "group": group}
