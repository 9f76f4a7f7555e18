"""Entries of a list of changes: one for each file, and one for the data of each repository, which names its commits."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tools_core.command import counted
from tools_core.text import visible
from tools_workspace._change import Change
from tools_workspace._repository import repository_of
from tools_workspace._tree import Tree

_OBJECT = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38,62})")
_MAX_COMMITS = 10  # that are named
_MAX_OBJECT = 100_000  # bytes of a commit that are read


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of a list of changes, and its changes: one, or all of the data of a repository."""

    text: str
    changes: tuple[Change, ...]
    is_repository: bool = False

    @property
    def mark(self) -> str:
        """Return the mark of the change; the data of a repository has none."""
        return self.changes[0].mark

    def __str__(self) -> str:
        return self.text


def entries(changes: Iterable[Change], copy: Tree) -> list[Entry]:
    """Return the entries of changes, in their order; a repository is at the place of its first change."""
    result: dict[str, list[Change]] = {}
    for change in changes:
        repository = "" if change.mark else repository_of(change.path)
        result.setdefault(f"{repository}/" if repository else f"{change.kind} {change.path}", []).append(change)
    listed = []
    for group in result.values():
        repository = "" if group[0].mark else repository_of(group[0].path)
        text = _describe(repository, group, copy) if repository else str(group[0])
        listed.append(Entry(text=text, changes=tuple(group), is_repository=bool(repository)))
    return listed


def _describe(repository: str, changes: Sequence[Change], copy: Tree) -> str:
    """Return commits, branches and tags, and the number of files."""
    paths = {change.path[len(repository) + 1 :]: change for change in changes}
    commits = sorted(filter(None, (_commit(copy, repository, path) for path in paths)), reverse=True)
    parts = [f"{name} {subject}" for _, name, subject in commits[:_MAX_COMMITS]]
    if parts:
        more = len(commits) - len(parts)
        parts = [f"{'commit' if len(commits) == 1 else f'{len(commits)} commits:'} {'; '.join(parts)}"]
        parts += [f"and {more} more commits"] if more else []
    packed = _text(copy, f"{repository}/packed-refs")
    for path, change in paths.items():
        match = re.fullmatch("refs/(heads|tags)/(.+)", path, re.DOTALL)
        is_packed = f" {path}\n" in packed  # it existed before it was added, and exists after it was deleted
        if match and change.type == "file" and not (is_packed and change.kind == "deleted"):
            action = "" if is_packed or change.kind == "changed" else f"{change.kind} "
            parts.append(f"{action}{'branch' if match[1] == 'heads' else 'tag'} {visible(match[2])}")
    if "HEAD" in paths and paths["HEAD"].kind == "added":
        parts.append("new repository")
    elif "HEAD" in paths and (head := _text(copy, f"{repository}/HEAD").strip()):
        parts.append(f"on {visible(head.removeprefix('ref: refs/heads/'))}")
    folder = f"{visible(repository)}: {counted(len(changes), 'file')}"
    return f"{', '.join(parts)}  ({folder})" if parts else folder


def _commit(copy: Tree, repository: str, path: str) -> tuple[int, str, str] | None:
    """Return time, short name and subject of a commit in the copy; git itself would run what its configuration says."""
    if not (match := _OBJECT.fullmatch(path)):
        return None
    with suppress(OSError, zlib.error, ValueError), copy.file(f"{repository}/{path}") as file:
        data = zlib.decompressobj().decompress(file.read(_MAX_OBJECT), _MAX_OBJECT)
        head, _, message = data.partition(b"\n\n")
        if head.startswith(b"commit "):
            time = re.search(rb"^committer .* (\d+) [+-]\d+$", head, re.MULTILINE)
            subject = message.partition(b"\n")[0].decode(errors="replace")
            return int(time[1]) if time else 0, (match[1] + match[2])[:7], visible(subject[:200])
    return None


def _text(copy: Tree, path: str) -> str:
    with suppress(OSError), copy.file(path) as file:
        return file.read(10_000_000).decode(errors="replace")
    return ""
