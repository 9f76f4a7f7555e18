"""Changes between a workspace and its copy."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from tools_core.text import visible
from tools_workspace._change import Change
from tools_workspace._diff import diff
from tools_workspace._entries import Entry, entries
from tools_workspace._tree import Fingerprint, State, Tree, WorkspaceError


class Changes(list[Change]):
    """The changes of a copy: marked changes first, each part sorted by path.

    `fingerprints` has the content that each path has in the copy; `WorkspaceCopy.apply` applies no other.
    """

    def __init__(
        self, changes: Iterable[Change], original: str, copy: str, fingerprints: Mapping[str, Fingerprint]
    ) -> None:
        order = {"protected": 0, "executable": 1, "": 2}
        super().__init__(sorted(changes, key=lambda change: (order[change.mark], change.path, change.kind)))
        self.fingerprints = fingerprints
        self._original, self._copy = original, copy

    def entries(self) -> list[Entry]:
        """Return the lines of a list of changes: a commit is one, with all files of the repository that it changes."""
        with _opened(self._copy) as copy:
            return entries(self, copy)

    def summary(self) -> str:
        """Return a line for each entry, or `no changes`."""
        return "\n".join(map(str, self.entries())) or "no changes"

    def diff(self) -> str:
        """Return a unified diff of text, and a line for each other change: sizes, and dimensions of pictures.

        Control characters and invisible ones are escaped.
        """
        texts = [[entry.text] if entry.is_repository else self._diffs(entry.changes) for entry in self.entries()]
        return "\n".join(text for group in texts for text in group)

    def to_list(self) -> list[dict[str, Any]]:
        """Return the changes as plain JSON, with the diff of each."""
        return [change.to_dict() | {"diff": text} for change, text in zip(self, self._diffs(self), strict=True)]

    def select(self, paths: Iterable[str | Change]) -> list[Change]:
        """Return the changes of paths and of everything below them, with the new folders that these need.

        A Change is only itself. Raises WorkspaceError for a path without changes.
        """
        selected: set[Change] = set()
        for path in paths:
            matches = {change for change in self if change == path or (isinstance(path, str) and change.is_in(path))}
            if not matches:
                names = ", ".join(visible(change.path) for change in self[:10]) or "nothing"
                raise WorkspaceError(f"{path} has no changes; changed: {names}")
            selected |= matches
        parents = {str(parent) for change in selected for parent in PurePath(change.path).parents}
        folders = {change.path for change in self if change.kind == "added" and change.path in parents}
        # If such a folder replaces a file, the deletion of the file has the same path.
        return [change for change in self if change in selected or change.path in folders]

    def _diffs(self, changes: Iterable[Change]) -> list[str]:
        with _opened(self._original) as original, _opened(self._copy) as copy:
            return [diff(change, original, copy, self.fingerprints[change.path]) for change in changes]


def _opened(path: str) -> Tree:
    try:
        return Tree(path)
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from error


def stamps(copy: Tree, skip: Sequence[str]) -> dict[str, int]:
    """Return the stamp of everything in a new copy."""
    return settled({path: stamp for path, _, stamp in copy.scan(skip)})


def settled(stamps: Mapping[str, int]) -> dict[str, int]:
    """Return stamps, negative for the last tick of the clock.

    A change in the same tick would keep the stamp: these files are always compared.
    """
    latest = max(stamps.values(), default=0)
    return {path: -value if value == latest else value for path, value in stamps.items()}


def compare(
    original: Tree,
    copy: Tree,
    before: Mapping[str, int],
    skip: Sequence[str],
    after: dict[str, int] | None = None,
    unreadable: list[str] | None = None,
    copied: Mapping[str, Sequence[Any]] | None = None,
) -> Changes:
    """Return what changed in a copy since it had the stamps `before`, and differs from the original now.

    Content is read only if the stamp of a file has changed. The stamps are added to `after`. Folders that cannot be
    read are added to `unreadable`, or raise PermissionError. `copied` are the states and hashes of what was copied.
    """
    result: list[Change] = []
    added: dict[str, State] = {}
    deleted: dict[str, State] = {}
    contents: dict[str, Fingerprint] = {}
    after = {} if after is None else after
    for path, state in copy.scan_changed(before, after, skip, unreadable):
        old = _state(original, path)
        if state.kind == "special":  # is never copied
            if old is not None and old.kind != "special":
                deleted[path] = old
            continue
        new = copy.fingerprint(path)
        if copied and before.get(path) == -after[path] and _is_copied(copied.get(path), state, new):
            continue  # what differs is the user's own change of the original
        contents[path] = new
        if old is None or old.kind != state.kind:
            added[path] = state
            if old is not None:
                deleted[path] = old
        elif state.kind != "folder" and (new is None or _content(original, path) != new[2]):
            result.append(_change("changed", path, path, old, state))
        elif stat.S_IMODE(state.mode) != stat.S_IMODE(old.mode) and state.kind != "link":
            result.append(_change("mode", path, path, old, state))
    deleted |= {path: old for path in before.keys() - after.keys() if (old := _state(original, path))}
    for path, old_path in _renames(original, contents, added, deleted):
        result.append(_change("renamed", path, old_path, deleted.pop(old_path), added.pop(path)))
        contents[old_path] = None
    result += [_change("added", path, path, None, state) for path, state in added.items()]
    result += [_change("deleted", path, path, state, None) for path, state in deleted.items()]
    fingerprints = {name: contents.get(name) for change in result for name in (change.path, change.old_path)}
    return Changes(result, original.path, copy.path, fingerprints)


def _is_copied(record: Sequence[Any] | None, state: State, fingerprint: Fingerprint) -> bool:
    """Return whether an entry of a copy is as it was copied; `record` is a state, and a hash that may be missing."""
    if record is None or record[0] != state.mode:
        return False
    return state.kind == "folder" or (fingerprint is not None and record[-1] == fingerprint[2] != "")


def _state(original: Tree, path: str) -> State | None:
    """Return the state of an original; None for one in a folder that the user may not read."""
    try:
        return original.state(path)
    except PermissionError:
        return None


def _content(tree: Tree, path: str) -> object:
    """Return the hash of a file, or the target of a link."""
    fingerprint = tree.fingerprint(path)
    return fingerprint[2] if fingerprint and fingerprint[0] in ("file", "link") else None


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
    original: Tree, contents: Mapping[str, Fingerprint], added: Mapping[str, State], deleted: Mapping[str, State]
) -> list[tuple[str, str]]:
    """Return the new and the old path of files with the same content and mode."""
    by_size: dict[tuple[int, int], list[str]] = {}
    for path, state in deleted.items():
        if state.kind == "file" and state.size and path not in added:
            by_size.setdefault((state.size, state.mode), []).append(path)
    result = []
    for path, state in added.items():
        candidates = by_size.get((state.size, state.mode), []) if path not in deleted else []
        content = contents[path]
        for old in candidates:
            if content is not None and _content(original, old) == content[2]:
                candidates.remove(old)
                result.append((path, old))
                break
    return result
