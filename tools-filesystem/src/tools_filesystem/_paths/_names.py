r"""Names as they are shown, sent back, and told apart where eyes and keyboards cannot.

What is not printable, or not UTF-8, is shown in quotes with each such byte as `\xNN`; a path with that form means the
name with those bytes, unless there is one with the very backslash.
"""

from __future__ import annotations

import os
import unicodedata
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._paths._access import Place, clipped
from tools_filesystem._paths._resolve import open_folder, pin

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from tools_filesystem._paths._access import Access

_MOST_NAMES = 2000  # how many siblings are compared with a name that was not found
_MOST_REPAIRED = 100_000  # in a larger folder, a unique name is slow to prove
_HEX = frozenset(b"0123456789abcdefABCDEF")
_SPACES_AND_QUOTES = str.maketrans("\u00a0\u2007\u202f\u2018\u2019\u201c\u201d", "   ''\"\"")


class Found(NamedTuple):
    """The place of a path that is spelled differently on disk, and its real path."""

    place: Place
    path: str
    is_repaired: bool = False

    def join(self, name: str, *, is_repaired: bool = False) -> Self:
        """A place further down."""
        path = name if self.path in ("", ".") else f"{self.path.rstrip('/')}/{name}"
        return self._replace(place=self.place.join(name), path=path, is_repaired=self.is_repaired or is_repaired)


class Opened(NamedTuple):
    """A descriptor, the place and the path that it was found by, and what to say about that path."""

    descriptor: int
    place: Place
    path: str
    note: str = ""


def opened(access: Access, path: str, how: Callable[[Place], int]) -> Opened:
    """Open `path`, or the one sibling whose name differs from it in nothing that eyes see well."""
    try:
        place = access.place(path)
        return Opened(how(place), place, path)
    except FileNotFoundError:
        found = find(access, path, repair=True)
        if found is None:
            raise
    note = f"no {path!r}: this is {quoted(found.path)}, which differs in spaces, quotes, accents or case"
    return Opened(how(found.place), found.place, sendable(found.path), note if found.is_repaired else "")


def found_folder(access: Access, path: str) -> tuple[Place, str]:
    """The place of a folder, found in the same way and yet to be opened, and what to say about its path."""
    file = opened(access, path, pin)
    os.close(file.descriptor)
    return file.place, file.note


def find(access: Access, path: str, *, repair: bool = False) -> Found | None:
    r"""The place that a path means by its `\xNN`, or with `repair` by a name that looks the same; None without one."""
    here, parts = _start(access, path)
    for part in parts:
        try:
            following = _step(here, part, repair)
        except (OSError, ToolError):
            return None
        if following is None:
            return None
        here = following
    return here


def meant_place(access: Access, path: str, *, write: bool = False) -> Place:
    r"""The place of what is to be changed: no name is repaired, but `\xNN` means the name with those bytes."""
    place = access.place(path, write=write)
    if "\\x" not in path and "'" not in path:
        return place
    parts: list[str] = []
    for part in place.path.split("/"):
        other = _unescaped(part)
        is_other = other is not None and not _is_name(place, [*parts, part]) and _is_name(place, [*parts, other])
        parts.append(other if other is not None and is_other else part)
    return Place(place.root, "/".join(parts))


def _is_name(place: Place, parts: list[str]) -> bool:
    """Return whether something has this name, also a link to nowhere."""
    below = Place(place.root, "/".join(parts))
    try:
        folder = open_folder(below.parent())
    except OSError:
        return False  # whoever asks comes to the same end, and says why
    try:
        os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def not_found(access: Access, path: str) -> str:
    """Return the message for a path that does not exist: from which name on, and what may have been meant."""
    try:
        here, parts = _start(access, path)
        while parts and (following := _step(here, parts[0], repair=False)) is not None:
            here = following
            parts = parts[1:]
        near = _near(here, parts[0]) if parts else []
    except (OSError, ToolError):
        return f"no {clipped(path)}"
    inner = "/".join(parts[1:])
    others = [found.join(inner) if inner else found for found in map(here.join, near)]
    others = [found for found in others if _is_there(found.place)] or [here.join(name) for name in near]
    others += _in_other_roots(access, path)
    missing = f", because the folder is missing: {quoted(here.join(parts[0][:100]).path)}" if inner else ""
    if others:
        return f"no {clipped(path)}{missing}; did you mean {' or '.join(quoted(found.path) for found in others)}?"
    return f"no {clipped(path)}{missing}; list_directory shows what is in {quoted(here.path)}"


def shown(name: str) -> str:
    r"""A name on one line that UTF-8 can carry and that looks like no other: plain, or quoted with `\xNN`."""
    return name if name == name.strip() and name.isprintable() and _unescaped(name) is None else quoted(name)


def quoted(path: str) -> str:
    r"""A name or path in quotes, with `\xNN` for what is not printable."""
    plain = path.isprintable() and not any(map(_unescaped, path.split("/")))
    return f"'{path if plain else _escaped(path)}'"


def meant(name: str) -> str:
    r"""The name that `sendable` made this of."""
    other = _unescaped(name)
    return name if other is None or sendable(other) != name else other


def sendable(name: str) -> str:
    r"""The name or path itself, or with `\xNN` if UTF-8 cannot carry it, or it would be taken for such a form."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return _escaped(name)
    return _escaped(name) if any(map(_unescaped, name.split("/"))) else name


def _escaped(name: str) -> str:
    plain = [char if char.isprintable() and char != "\\" else _hex(char) for char in name]
    if plain[0] == "'":
        plain[0] = _hex("'")
    return "".join(plain)


def _hex(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))


def _unescaped(part: str) -> str | None:
    """Return the name that was shown like this; None if it was not quoted, or cannot be a name."""
    is_quoted = len(part) > 2 and part[0] == part[-1] == "'"
    if "\\x" not in part and not is_quoted:
        return None
    part = part[1:-1] if is_quoted else part
    out, rest = bytearray(), os.fsencode(part)
    while rest:
        before, escape, rest = rest.partition(b"\\x")
        out += before
        digits, rest = (rest[:2], rest[2:]) if escape else (b"", rest)
        if escape and not (len(digits) == 2 and set(digits) <= _HEX):
            return None
        out += bytes.fromhex(digits.decode())
    name = os.fsdecode(bytes(out))
    return None if "/" in name or "\0" in name or name in ("", ".", "..") else name


def _start(access: Access, path: str) -> tuple[Found, list[str]]:
    place = access.place(path)
    parts = [part for part in place.path.split("/") if part not in ("", ".")]
    return Found(Place(place.root, "."), place.root.path if path.startswith("/") else "."), parts


def _step(here: Found, part: str, repair: bool) -> Found | None:
    if _exists(here.place.join(part)):
        return here.join(part)
    other = _unescaped(part)
    if other is not None and _exists(here.place.join(other)):
        return here.join(other)
    same = _the_same(_names_in(here.place, _MOST_REPAIRED), part) if repair else None
    return here.join(same, is_repaired=True) if same is not None and _exists(here.place.join(same)) else None


def _exists(place: Place) -> bool:
    try:
        os.close(pin(place))
    except FileNotFoundError:
        return False
    return True


def _is_there(place: Place) -> bool:
    """The same for what is only proposed: what cannot be got at is not there."""
    try:
        return _exists(place)
    except (OSError, ToolError):
        return False


def _names_in(folder: Place, most: int) -> list[str]:
    """The names in a folder, one more than `most` if there are more."""
    descriptor = open_folder(folder)
    try:
        with os.scandir(descriptor) as entries:
            return [entry.name for entry in islice(entries, most + 1)]
    finally:
        os.close(descriptor)


def _the_same(names: list[str], name: str) -> str | None:
    """The only one of `names` that looks like `name`; case counts if that makes it the only one."""
    if len(names) > _MOST_REPAIRED:
        return None
    wanted = _seen(name)
    alike = [other for other in names if _seen(other).casefold() == wanted.casefold()]
    alike = [other for other in alike if _seen(other) == wanted] or alike
    return alike[0] if len(alike) == 1 else None


def _seen(name: str) -> str:
    """Return a name with one form of accents, spaces and quotes."""
    return name if name.isascii() else unicodedata.normalize("NFC", name).translate(_SPACES_AND_QUOTES)


def _near(here: Found, name: str) -> list[str]:
    names = _names_in(here.place, _MOST_NAMES)
    same = [other for other in names if _seen(other).casefold() == _seen(name).casefold() and other != name]
    return (same or get_close_matches(name, names, n=3))[:3]


def _in_other_roots(access: Access, path: str) -> list[Found]:
    """The same relative path below the other roots, which is asked for by an absolute one."""
    absolute = [f"{root.path.rstrip('/')}/{path}" for root in access.workspace.roots[1:] if not path.startswith("/")]
    out: list[Found] = []
    for other in absolute:
        try:
            place = access.place(other)
            if _exists(place):
                out.append(Found(place, other))
        except (OSError, ToolError):
            continue
    return out
