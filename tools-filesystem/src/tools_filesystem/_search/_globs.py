"""The globs of a call: one pattern or a list, relative or absolute, for files and for folders."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._paths._resolve import open_folder
from tools_filesystem._search._path_pattern import WILD

if TYPE_CHECKING:
    from tools_filesystem._paths._access import Access
    from tools_filesystem._paths._located import Located

_BETWEEN = re.compile(r"[,\s]+(?![^{]*\})")  # not between braces


class Globs(NamedTuple):
    """The patterns of files to search, and of files to skip."""

    allowed: list[str]
    skipped: list[str]


def globs_of(text: str) -> Globs:
    """Read a list that is separated by commas or blanks; a name with them is one pattern."""
    parts = [part for part in _BETWEEN.split(text.strip()) if part]
    if not all(part.startswith("!") or not WILD.isdisjoint(part) for part in parts):
        parts = [text.strip()]
    return Globs([part for part in parts if part[0] != "!"], [part[1:] for part in parts if part[0] == "!"])


def relative(pattern: str, access: Access, start: Located) -> str:
    """Return an absolute pattern as one below the start of the search."""
    if not pattern.startswith("/"):
        return pattern
    root, names = access.root_of(pattern)
    above = [] if start.below == "." else start.below.split("/")
    if root is not start.root or names[: len(above)] != above:
        raise ToolError(f"{pattern!r} is not below {start.argument!r}, where the search begins", "validation_error")
    return "/".join(names[len(above) :]) + "/" * pattern.endswith("/")


def is_folder(start: Located, pattern: str) -> bool:
    """Return whether a pattern is the path of a folder below the start."""
    if not WILD.isdisjoint(pattern):
        return False
    names = [name for name in f"{start.below}/{pattern}".split("/") if name not in ("", ".")]
    try:
        os.close(open_folder(start.root, names))
    except OSError:
        return False
    return True
