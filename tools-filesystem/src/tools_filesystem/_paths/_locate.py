"""`locate`: resolve a path to a name in an open folder, for reading and for writing."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Literal

from tools_core import ToolError
from tools_filesystem._paths._explain import explained
from tools_filesystem._paths._located import Located
from tools_filesystem._paths._names import alike, escaped, near, unescaped
from tools_filesystem._paths._protected import check_not_ours
from tools_filesystem._paths._resolve import MAX_LINKS, closing, lstat, open_folder, open_inner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_filesystem._paths._access import Access, PinnedRoot

Repair = Literal["", "spelling", "case"]
_SHELL_NAMES = ("~", "$HOME", "${HOME}", "$PWD", "${PWD}")
_MAX_NAMES = 2000  # how many siblings are compared with a name that does not exist
_MAX_REPAIRED = 100_000  # in a larger folder, a unique name is slow to prove


def locate(
    access: Access, path: str, *, write: bool = False, new: bool = False, follow: bool = True, repair: Repair = ""
) -> Located:
    r"""Resolve a path; ToolError if it does not exist, or if it is protected and `write` is set.

    A path that does not exist is `not_found`, unless `new` permits it. A link at its end is followed if `follow`.
    A name that does not exist may stand for the name with the bytes that its `\xNN` spell; with `repair` "spelling",
    for the only name that looks the same, and with "case" also for one that differs in case.
    """
    root, names = access.root_of(path)
    place = Located(root, path, path, is_slashed=path.endswith(("/", "/.")))
    try:
        with explained(path):
            _find(place, names, follow=follow, repair=repair)
            check_not_ours(place.real)
            if write:
                place.prepare()
            _check(place, names, new=new)
    except BaseException:
        place.close()
        raise
    return place


def _check(place: Located, names: list[str], *, new: bool) -> None:
    if place.is_slashed and place.status is not None and not place.is_folder:
        message = f"{place.argument!r} ends with a slash, but is not a folder"
        raise ToolError(message, "not_a_directory")
    if place.status is None and place.tail == tuple(names) and names[0] in _SHELL_NAMES:
        message = f"{place.argument!r}: only a shell expands {names[0]!r}; give a path below {place.root.path}"
        raise ToolError(message, "not_found")
    # Missing folders before a `..` are not created.
    if place.status is None and (not new or ".." in place.missing or not place.name):
        raise ToolError(_not_found(place, names), "not_found")


def check_no_twin(place: Located) -> None:
    """Raise ToolError (`conflict`) for a new name from which an existing one differs only in case."""
    siblings = _names_in(place.folder, _MAX_REPAIRED)
    other = alike(siblings, place.tail[0], any_case=True) if place.status is None else None
    if other is not None and len(siblings) <= _MAX_REPAIRED:
        above = place.below.split("/")[: -len(place.tail)]
        name = escaped("/".join((*above, other)))
        message = f"{place.argument!r} does not exist, but {name!r} does, which differs only in case"
        raise ToolError(f"{message}: use that name, or overwrite=true to create another file", "conflict")


def _find(place: Located, names: list[str], *, follow: bool, repair: Repair) -> None:
    """Resolve `names`; those that are spelled differently on disk are replaced in the list."""
    is_repaired = False
    for _ in range(len(names) + 1):
        _follow(place, names, follow=follow)
        at = len(names) - len(place.tail)
        # A dangling link is not another name.
        if place.status is not None or place.links or at == len(names) or lstat(place.folder, names[at]) is not None:
            break
        other = unescaped(names[at])
        if other is None or lstat(place.folder, other) is None:
            siblings = _names_in(place.folder, _MAX_REPAIRED) if repair else []
            is_small = len(siblings) <= _MAX_REPAIRED
            other = alike(siblings, names[at], any_case=repair == "case") if is_small else None
            is_repaired |= other is not None
        if other is None:
            break
        names[at] = other
        top = place.root.path.rstrip("/") + "/" if place.argument.startswith("/") else ""
        place.path = escaped(top + "/".join(names))
    if is_repaired and place.status is not None:
        place.note = f"no {place.argument!r}: this is '{place.path}', which differs in spaces, quotes, accents or case"


def _follow(place: Located, names: list[str], *, follow: bool) -> None:
    for _ in range(MAX_LINKS + 1):
        has_name = bool(names) and names[-1] != ".."
        above, place.name = (names[:-1], names[-1]) if has_name else (names, "")
        if place.folder >= 0:
            os.close(place.folder)
            place.folder = -1
        place.folder, place.missing = _deepest(place.root, above)
        if place.missing:
            place.status = None
            return
        place.look()
        if not follow or place.status is None or not stat.S_ISLNK(place.status.st_mode):
            return
        place.links.append(place.real)
        target = os.readlink(place.name, dir_fd=place.folder)
        place.is_slashed |= target.endswith(("/", "/."))
        names = [*([] if target.startswith("/") else above), *place.root.names_of(target)]
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), place.argument)


def _deepest(root: PinnedRoot, names: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """Open a folder, or its deepest existing ancestor, and return the names that are missing below it."""
    for end in range(len(names), 0, -1):
        with suppress(FileNotFoundError):
            return open_folder(root, names[:end]), tuple(names[end:])
    return open_folder(root, ()), tuple(names)


def _names_in(folder: int, most: int) -> list[str]:
    """Return up to `most` + 1 names in a folder; none if it cannot be listed."""
    with suppress(OSError), closing(open_inner(folder)) as inner, os.scandir(inner) as entries:
        return [entry.name for entry in islice(entries, most + 1)]
    return []


def _not_found(place: Located, names: list[str]) -> str:
    """Return the message for a path that does not exist: the first missing name, and similar names."""
    tail, roots, is_absolute = place.tail, place.root.access.roots, place.argument.startswith("/")
    message = f"no {place.argument!r}"
    if place.links or not tail:
        return message
    above = [*([place.root.path.rstrip("/")] if is_absolute else []), *names[: len(names) - len(tail)]]
    if tail[1:]:
        message += f", because the folder is missing: {'/'.join((*above, tail[0]))!r}"
    others = [f"'{escaped('/'.join((*above, name)))}'" for name in near(_names_in(place.folder, _MAX_NAMES), tail[0])]
    if others:
        return f"{message}; did you mean {' or '.join(others)}?"
    if len(roots) > 1 and not is_absolute:
        message += f"; relative paths are below {roots[0].path}"
    return f"{message}; list_directory shows what is in {'/'.join(above) or '.'!r}"
