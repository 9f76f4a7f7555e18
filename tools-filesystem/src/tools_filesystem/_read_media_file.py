"""The `read_media_file` tool."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from tools_core import Audio, Context, File, Image, Result, ToolError
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._names import opened
from tools_filesystem._read._encoding import SNIFF, detect
from tools_filesystem._read._media import PDF, media_type
from tools_filesystem._resolve import open_regular

if TYPE_CHECKING:
    from tools_filesystem._workspace import Workspace

_READ = 1 << 20


class ReadMediaFile(FileTool):
    """Show a picture, a sound or a PDF of the workspace.

    What it is, is judged by its content. Refuses text, which read_file shows, what is none of these, files that
    are too large, folders, pipes and devices, and every path that leads out of the workspace.
    """

    read_only = True

    def __init__(
        self, workspace: Workspace | str | os.PathLike[str] | None = None, *, max_bytes: int = 10 << 20
    ) -> None:
        """`max_bytes` is the size of the largest file that is shown."""
        super().__init__(workspace)
        self.max_bytes = max_bytes

    def execute(self, path: Annotated[str, "The file, relative to the workspace."], *, context: Context) -> Result:
        with self.access(context) as access, explained(access, path):
            file = opened(access, path, open_regular)
            try:
                block = self._block(file.descriptor, path)
            finally:
                os.close(file.descriptor)
        facts = {"media_type": block.mime_type, "size": len(block.data)}
        if file.note:
            return Result.ok([block, file.note], metadata=facts | {"repaired_path": file.path})
        return Result.ok(block, metadata=facts)

    def _block(self, descriptor: int, path: str) -> Image | Audio | File:
        start = os.pread(descriptor, SNIFF, 0)
        kind = media_type(start, path)
        # A name alone makes no picture: what is text is not called one, whatever its ending.
        family, _, _ = kind.partition("/")
        is_text = detect(start) is not None and media_type(start, "") != kind
        if is_text or not (family in ("image", "audio") or kind == PDF):
            what = "text, which read_file shows" if is_text else f"{kind}, which is neither picture nor sound nor PDF"
            raise ToolError(f"{path!r} is {what}", "validation_error")
        data = self._content(descriptor, path)
        name = os.path.basename(path)
        if family == "image":
            return Image(data, kind, name=name)
        return Audio(data, kind, name=name) if family == "audio" else File(data, kind, name=name)

    def _content(self, descriptor: int, path: str) -> bytes:
        """All of it, without trusting the size that the system tells: the file may be growing."""
        size = os.fstat(descriptor).st_size
        data = bytearray()
        while size <= self.max_bytes and (block := os.pread(descriptor, _READ, len(data))):
            data += block
            size = max(size, len(data))
        if size > self.max_bytes:
            message = f"{path!r} has {size} bytes; at most {self.max_bytes} are shown: a smaller version would work"
            raise ToolError(message, "limit_exceeded")
        return bytes(data)
