"""The `read_file` tool."""

from __future__ import annotations

import os
from typing import Annotated

from tools_core import Context, Limits, Result, ToolError
from tools_filesystem._explain import explained
from tools_filesystem._file_tool import FileTool
from tools_filesystem._ledger import ledger_of
from tools_filesystem._names import opened
from tools_filesystem._read._reading import Wanted, read
from tools_filesystem._resolve import open_regular


class ReadFile(FileTool):
    """Read a text file of the workspace, or some of its lines.

    Returns the lines as text. A call shows at most 100 kB, and 2,000 bytes of each line; what is left out is
    said together with the arguments that read on, also inside a long line. A file that is empty, binary or a
    PDF, and an offset past the end, are told as facts. Refuses folders, pipes and devices, and every path that
    leads out of the workspace.
    """

    read_only = True

    def execute(
        self,
        path: Annotated[str, "The file, relative to the workspace."],
        offset: Annotated[int, "The first line to read; the file's first line is 1.", Limits(ge=1)] = 1,
        limit: Annotated[int, "The most lines to read.", Limits(ge=1)] = 2000,
        column: Annotated[int, "The byte of the first line to begin at, as a hint says it.", Limits(ge=1)] = 1,
        tail: Annotated[int | None, "Read this many lines at the end instead.", Limits(ge=1)] = None,
        line_numbers: Annotated[bool, "Put its number and a tab in front of each line."] = False,
        if_changed: Annotated[bool, "Say so, and no more, if all of it was shown already and is unchanged."] = False,
        *,
        context: Context,
    ) -> Result:
        if tail is not None and (offset > 1 or column > 1):
            raise ToolError("tail counts from the end: leave out offset and column", "validation_error")
        wanted = Wanted(offset, limit, column, tail, line_numbers, if_changed)
        with self.access(context) as access, explained(access, path):
            file = opened(access, path, open_regular)
            try:
                return read(file, wanted, context, ledger_of(access, context))
            finally:
                os.close(file.descriptor)
