"""Data of git repositories: objects, which commits of others may need, and the index, which `git status` rewrites."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tools_workspace._change import is_protected

_OBJECTS = re.compile(r"(?:(.*)/)?objects/(?:[0-9a-f]{2}|pack)(?:/.*)?", re.DOTALL)


def repository_of(path: str) -> str:
    """Return the git directory that a path is in; nothing for other files."""
    parts = path.split("/")
    return "/".join(parts[: parts.index(".git") + 1]) if ".git" in parts else ""


def data_of(path: str) -> str:
    """Return the git directory that a path is data of; nothing for other files, and for those that programs trust."""
    return "" if is_protected(path) else repository_of(path)


def named(paths: Iterable[str]) -> list[str]:
    """Return paths for a person, with the git directory in place of its data."""
    return list(dict.fromkeys(data_of(path) or path for path in paths))


def head_of_object(path: str) -> str:
    """Return the path of HEAD in the repository that a path is an object or a pack of; nothing for other paths."""
    if (match := _OBJECTS.fullmatch(path)) is None:
        return ""
    return f"{match[1]}/HEAD" if match[1] else "HEAD"


def outer_repository(folder: str) -> Path | None:
    """Return the git directory of a folder if it is outside: of a linked worktree, or of a folder above."""
    for parent in (place := Path(folder), *place.parents):
        pointer = parent / ".git"
        if pointer.is_dir():
            return None if parent == place else pointer
        with suppress(OSError):
            if pointer.is_file() and (text := pointer.read_text(errors="replace")).startswith("gitdir:"):
                directory = (parent / text.removeprefix("gitdir:").strip()).resolve()
                return None if directory.is_relative_to(place) else directory
    return None


def head_changes(repository: Path | None) -> tuple[int, int]:
    """Return what changes with each commit, switch and reset in a repository."""
    with suppress(OSError):
        if repository is not None:
            info = (repository / "logs" / "HEAD").stat()
            return info.st_size, info.st_mtime_ns
    return 0, 0


def is_git_index(path: str) -> bool:
    """Return whether a file lists what is staged in a repository: `git status` rewrites it with the times of files."""
    return path.endswith("/index") and "/.git/" in f"/{path}"


def staged(index: bytes) -> bytes:
    """Return the entries of an index without the times, sizes and numbers of files; other formats unchanged."""
    if not index.startswith(b"DIRC\0\0\0\2"):
        return index
    result = []
    start = 12
    for _ in range(int.from_bytes(index[8:12], "big")):
        end = index.find(b"\0", start + 62)  # of the path
        if end < 0:
            return index
        result.append(index[start + 24 : start + 28] + index[start + 40 : end + 1])
        start += (end - start + 8) // 8 * 8
    return b"".join(result)
