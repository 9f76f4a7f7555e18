"""The files that a command is going to write."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from tools_scaffold._errors import ScaffoldError, show

if TYPE_CHECKING:
    from pathlib import Path

    from tools_scaffold._tool import Tool


class Plan(NamedTuple):
    """A tool and the files to write for it; `files` are texts by their paths in `folder`."""

    tool: Tool
    folder: Path
    files: dict[str, str]

    def write(self) -> None:
        """Write the files; existing ones are replaced only when all the texts are on the disk.

        Raises:
            ScaffoldError: a file or folder cannot be written; nothing was changed.
        """
        staged: dict[Path, Path] = {}
        try:
            with ExitStack() as undo:
                if not self.folder.exists():
                    undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
                for path, text in self.files.items():
                    target = self.folder / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    staged[target] = target.with_name(f".{target.name}.new")
                    undo.callback(staged[target].unlink, missing_ok=True)
                    staged[target].write_bytes(text.encode("utf-8"))
                for target, source in staged.items():
                    source.replace(target)
                undo.pop_all()
        except OSError as error:
            raise ScaffoldError(f"{show(error.filename)}: {error.strerror}; nothing was changed") from error
