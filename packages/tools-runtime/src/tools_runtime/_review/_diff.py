"""The diff of a call that changes a file, computed from its arguments before it runs."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_EDITS = (("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text"))
_CONTENTS = ("content", "contents", "file_text")  # of tools that write whole files
_PATCHES = ("patch", "diff")
_MAX_SIZE = 1_000_000  # characters that are compared


class Diff(NamedTuple):
    """The lines of a unified diff, and the names of the arguments that it contains."""

    lines: Sequence[str]
    arguments: Collection[str]


def diff_of(tool: str, arguments: Mapping[str, Any], paths: Sequence[str] | None, workspace: str | None) -> Diff | None:
    """Return the diff of a call whose tool reports the files that it touches; None for other calls than changes."""
    if not paths:
        return None
    texts = {name: value for name, value in arguments.items() if isinstance(value, str) and len(value) <= _MAX_SIZE}
    for name in _PATCHES:
        if name in texts:
            return Diff(texts[name].removesuffix("\n").split("\n"), [name])
    if len(paths) != 1:
        return None
    path, label = paths[0], short_path(paths[0], workspace)
    before = _read(Path(path))
    for old, new in _EDITS:
        if old in texts and new in texts:
            count = before.count(texts[old]) if before and texts[old] else 0
            if before is None or not count or (count > 1 and not arguments.get("replace_all")):
                lines = [f"{sign}{line}" for sign, key in (("-", old), ("+", new)) for line in texts[key].split("\n")]
                return Diff([f"--- {label}", f"+++ {label}", *lines], [old, new])
            return Diff(_unified(before, before.replace(texts[old], texts[new]), label), [old, new])
    is_writer = any(word in tool for word in ("write", "create"))  # another tool may append
    content = next((name for name in _CONTENTS if name in texts and is_writer), None)
    if content is None or (before is None and os.path.lexists(path)):  # a folder, a pipe, or another encoding
        return None
    return Diff(_unified(before, texts[content], label), [content])


def short_path(path: str, workspace: str | None) -> str:
    """Return a path relative to the workspace if it is below it."""
    root = os.path.realpath(workspace) if workspace else ""
    return path[len(root) + 1 :] if root and path.startswith(f"{root.rstrip('/')}/") else path


def _unified(before: str | None, after: str, name: str) -> list[str]:
    source = "/dev/null" if before is None else name
    lines = difflib.unified_diff(_lines(before or ""), _lines(after), source, name, lineterm="")
    return list(lines) or ["no change: the file has this content already" if before is not None else "an empty file"]


def _lines(text: str) -> list[str]:
    """Return the lines of a text; a missing line end counts as a line, as git shows it."""
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines, "\\ No newline at end of file"]


def _read(path: Path) -> str | None:
    """Return the text of a file; None if it is not a file of text, or a large one."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_SIZE:
            return None
        return path.read_bytes().decode()  # with its line ends
    except (OSError, ValueError):
        return None
