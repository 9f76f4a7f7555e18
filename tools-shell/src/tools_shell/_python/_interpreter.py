"""The interpreter that runs a model's code."""

from __future__ import annotations

import glob
import os
import sys

from tools_core import ToolError


def executable(path: str | os.PathLike[str] | None) -> str:
    """Return the interpreter for a path to a program or virtual environment; by default that of this process.

    ToolError when there is none.
    """
    if path is None and not sys.executable:
        raise ToolError("no Python executable is known; name one when the tool is made", "unavailable")
    found = os.path.abspath(os.path.expanduser(path or sys.executable))
    if os.path.isdir(found):
        found = os.path.join(found, "bin", "python")
    if not os.access(found, os.X_OK):
        raise ToolError(
            f"there is no Python at {os.fspath(path or found)!r}; name one when the tool is made", "unavailable"
        )
    return found


def folders_of(python: str) -> list[str]:
    """Return the folders that an interpreter reads in a sandbox: its virtual environment and its installation.

    Commands may have changed the link to the latter, so only a folder with a standard library counts.
    """
    environment, installation = (os.path.dirname(os.path.dirname(path)) for path in (python, os.path.realpath(python)))
    is_virtual = os.path.exists(os.path.join(environment, "pyvenv.cfg"))
    has_library = glob.glob(os.path.join(glob.escape(installation), "lib*", "python3*", "os.py"))
    return [python, *([environment] if is_virtual else []), *([installation] if has_library else [])]
