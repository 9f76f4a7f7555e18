"""Changes between a workspace and its copy, with diffs."""

from __future__ import annotations

import difflib
import os
import stat
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tools_workspace._tree import State, same_content, scan, stamp, state_of

TEXT_LIMIT = 1_000_000  # bytes of a file that is compared line by line


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file, folder or link that differs between the workspace and the copy.

    `old_path` is the path before a file was renamed, else the same as `path`. `size` and `old_size` are bytes, and
    `mode` and `old_mode` are permissions, such as 0o644.
    """

    kind: Literal["added", "changed", "deleted", "renamed", "mode"]
    path: str
    old_path: str
    type: str
    size: int = 0
    old_size: int = 0
    mode: int = 0
    old_mode: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the change as plain JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __str__(self) -> str:
        name = self.path + ("/" if self.type == "folder" else "")
        if self.kind == "renamed":
            return f"renamed {self.old_path} -> {name}"
        if self.kind == "mode":
            return f"mode {name}: {self.old_mode:o} -> {self.mode:o}"
        return f"{self.kind} {name}"


class Changes(list[Change]):
    """The changes of a copy, sorted by path."""

    def __init__(self, changes: Iterable[Change], original: str, copy: str) -> None:
        super().__init__(sorted(changes, key=lambda change: (change.path, change.kind)))
        self._original, self._copy = original, copy

    def summary(self) -> str:
        """Return a line for each change, or `no changes`."""
        return "\n".join(map(str, self)) or "no changes"

    def diff(self) -> str:
        """Return a unified diff of text, and a line for each other change: sizes, and dimensions of pictures."""
        return "\n".join(text for change in self if (text := self._diff(change)))

    def to_list(self) -> list[dict[str, Any]]:
        """Return the changes as plain JSON, with the diff of each."""
        return [change.to_dict() | {"diff": self._diff(change)} for change in self]

    def _diff(self, change: Change) -> str:
        old = os.path.join(self._original, change.old_path) if change.kind != "added" else None
        new = os.path.join(self._copy, change.path) if change.kind != "deleted" else None
        before, after = _lines(old), _lines(new)
        if change.type != "file" or before is None or after is None or change.kind == "mode":
            details = [_describe(path) for path in (old, new) if path is not None and change.type == "file"]
            is_same = change.kind in ("renamed", "mode")
            return str(change) + (f" ({' -> '.join(details)})" if details and not is_same else "")
        names = (
            f"a/{change.old_path}" if old else "/dev/null",
            f"b/{change.path}" if new else "/dev/null",
        )
        lines = difflib.unified_diff(before, after, *names, lineterm="")
        return "\n".join(lines) or str(change)


def stamps(copy: str, skip: Sequence[str]) -> dict[str, int]:
    """Return the stamp of everything in a new copy."""
    result = {path: stamp(info) for path, info in scan(copy, skip)}
    latest = max(result.values(), default=0)
    # A change in the same tick of the clock would keep the stamp: these files are always compared.
    return {path: 0 if value == latest else value for path, value in result.items()}


def compare(original: str, copy: str, before: dict[str, int], skip: Sequence[str]) -> Changes:
    """Return what changed in a copy since it had the stamps `before`, and differs from the original now.

    Content is read only if the stamp of a file has changed.
    """
    result: list[Change] = []
    added: dict[str, State] = {}
    deleted: dict[str, State] = {}
    for path, info in scan(copy, skip):
        if before.pop(path, None) == stamp(info) or (state := State.of(info)).kind == "special":
            continue
        old = state_of(os.path.join(original, path))
        if old is None or old.kind != state.kind:
            added[path] = state
            if old is not None:
                deleted[path] = old
        elif not same_content(os.path.join(original, path), os.path.join(copy, path), old, state):
            result.append(_change("changed", path, path, old, state))
        elif stat.S_IMODE(state.mode) != stat.S_IMODE(old.mode) and state.kind != "link":
            result.append(_change("mode", path, path, old, state))
    deleted |= {path: old for path in before if (old := state_of(os.path.join(original, path)))}
    for path, old_path in _renames(original, copy, added, deleted):
        result.append(_change("renamed", path, old_path, deleted.pop(old_path), added.pop(path)))
    result += [_change("added", path, path, None, state) for path, state in added.items()]
    result += [_change("deleted", path, path, state, None) for path, state in deleted.items()]
    return Changes(result, original, copy)


def _change(kind: Any, path: str, old_path: str, old: State | None, new: State | None) -> Change:
    state = new or old
    return Change(
        kind=kind,
        path=path,
        old_path=old_path,
        type=state.kind if state else "file",
        size=new.size if new else 0,
        old_size=old.size if old else 0,
        mode=stat.S_IMODE(new.mode) if new else 0,
        old_mode=stat.S_IMODE(old.mode) if old else 0,
    )


def _renames(
    original: str, copy: str, added: Mapping[str, State], deleted: Mapping[str, State]
) -> list[tuple[str, str]]:
    """Return the new and the old path of files with the same content and mode."""
    by_size: dict[tuple[int, int], list[str]] = {}
    for path, state in deleted.items():
        if state.kind == "file" and state.size and path not in added:
            by_size.setdefault((state.size, state.mode), []).append(path)
    result = []
    for path, state in added.items():
        candidates = by_size.get((state.size, state.mode), []) if path not in deleted else []
        for old in candidates:
            if same_content(os.path.join(original, old), os.path.join(copy, path), deleted[old], state):
                candidates.remove(old)
                result.append((path, old))
                break
    return result


def _lines(path: str | None) -> list[str] | None:
    """Return the lines of a text file; None for other files, and for large ones."""
    if path is None:
        return []
    state = state_of(path)
    if state is None or state.kind != "file" or state.size > TEXT_LIMIT:
        return None
    with open(path, "rb") as file:
        data = file.read()
    try:
        return None if b"\0" in data else data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return None


def _describe(path: str) -> str:
    """Return the size of a file, and the dimensions of a picture."""
    state = state_of(path)
    if state is None or state.kind != "file":
        return "nothing"
    with open(path, "rb") as file:
        head = file.read(65_536)
    dimensions = _dimensions(head)
    return f"{state.size:,} bytes" + (f", {dimensions[0]} x {dimensions[1]}" if dimensions else "")


def _dimensions(head: bytes) -> tuple[int, int] | None:
    """Return the width and the height of a PNG, a GIF or a JPEG."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return struct.unpack(">II", head[16:24])
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return struct.unpack("<HH", head[6:10])
    position = 2
    while head.startswith(b"\xff\xd8") and position + 9 <= len(head) and head[position] == 0xFF:
        marker, length = head[position + 1], int.from_bytes(head[position + 2 : position + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame
            height, width = struct.unpack(">HH", head[position + 5 : position + 9])
            return width, height
        position += 2 + length
    return None
