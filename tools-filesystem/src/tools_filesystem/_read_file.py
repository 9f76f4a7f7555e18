"""The `read_file` tool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._lines import LINE, SCAN, ScanLimitError, Window, read_window
from tools_filesystem._resolve import open_regular

if TYPE_CHECKING:
    from typing import Any

_SNIFFED = 8192


class ReadFile(FileTool):
    """Read a text file of the workspace, or some of its lines.

    Returns the lines as they are in the file; when there is more, the last line says which offset reads on.
    A file that is empty, binary, or shorter than offset is told as a fact. Refuses folders, pipes and
    devices, and every path that leads out of the workspace.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "The file, relative to the workspace."],
        offset: Annotated[int, "The first line to read; the file's first line is 1.", Limits(ge=1)] = 1,
        limit: Annotated[int, "The most lines to read.", Limits(ge=1)] = 2000,
        *,
        context: Context,
    ) -> Result:
        with self.access(context) as access, explained(access, path):
            descriptor = open_regular(access.place(path))
            try:
                return _read(descriptor, path, offset, limit)
            except ScanLimitError:
                message = f"{path!r}: these lines lie beyond {SCAN} bytes, the most that one call reads"
                raise ToolError(message, "limit_exceeded") from None
            finally:
                os.close(descriptor)


def _read(descriptor: int, path: str, offset: int, limit: int) -> Result:
    size = os.fstat(descriptor).st_size
    start = os.pread(descriptor, _SNIFFED, 0)
    if not start:
        return Result.ok(f"{path!r} is empty (0 bytes).", metadata={"total_lines": 0, "size": size})
    if b"\0" in start:
        kind = _media_type(path)
        return Result.ok(f"{path!r} is a binary file ({kind}, {size} bytes); its content is not shown.",
                         metadata={"binary": True, "media_type": kind, "size": size})  # fmt: skip
    window = read_window(descriptor, offset, limit)
    if not window.lines:
        return Result.ok(f"{path!r} has {window.total} lines; offset {offset} is past its end.",
                         metadata={"total_lines": window.total, "size": size})  # fmt: skip
    return _shown(window, path, offset, limit, size)


def _shown(window: Window, path: str, offset: int, limit: int, size: int) -> Result:
    facts: dict[str, Any] = {"start_line": offset, "end_line": offset + window.lines - 1, "size": size}
    notes: list[str] = []
    try:
        text = window.data.decode()
    except UnicodeDecodeError:
        text = window.data.decode(errors="replace")
        facts["not_utf8"] = True
        notes.append("bytes that are not UTF-8 are shown as \ufffd")
    if window.cut:
        facts["cut_lines"] = window.cut
        notes.append(f"{window.cut} of these lines are longer than {LINE} bytes and are shown in part")
    if window.total is not None:
        facts["total_lines"] = window.total
    facts["truncated"] = window.has_more
    if window.has_more:
        following = offset + window.lines
        facts["next"] = {"path": path, "offset": following, "limit": limit}
        notes.append(f"lines {offset} to {following - 1}; there is more: read on with offset={following}")
    if notes:
        text += ("" if text.endswith("\n") else "\n") + f"[{'; '.join(notes)}]"
    return Result.ok(text, metadata=facts)


def _media_type(path: str) -> str:
    import mimetypes  # only for what is not shown

    return mimetypes.guess_type(path)[0] or "application/octet-stream"
