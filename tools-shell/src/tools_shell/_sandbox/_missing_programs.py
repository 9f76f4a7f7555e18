"""The programs on PATH that do not start in a sandbox, and why."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_core.files import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_LINE = 4096  # bytes of the first line of a script


def missing_programs(visible: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each program on PATH that needs a file outside of the paths that a sandbox shows."""
    names: set[str] = set()
    for folder in os.get_exec_path():
        with suppress(OSError):
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                if name not in names and os.path.isfile(path) and os.access(path, os.X_OK):
                    names.add(name)
                    if reason := _reason(path, visible):
                        yield f"{path} does not start in a sandbox: {reason}"


def _reason(path: str, visible: Sequence[str]) -> str:
    if not is_inside(path, visible) and not is_inside(os.path.realpath(os.path.dirname(path)), visible):
        return "its folder is hidden"
    for role, program in (("link to", path), ("script for", _interpreter(path))):
        target = os.path.realpath(program) if program else ""
        if target and not is_inside(target, visible):
            return f"it is a {role} {target}, which is hidden"
    return ""


def _interpreter(path: str) -> str:
    """Return the absolute path of the program that runs a script, or ""."""
    with suppress(OSError), open(path, "rb") as file:
        line = file.readline(_MAX_LINE)
        words = line[2:].split() if line.startswith(b"#!") else []
        return os.fsdecode(words[0]) if words and words[0].startswith(b"/") else ""
    return ""
