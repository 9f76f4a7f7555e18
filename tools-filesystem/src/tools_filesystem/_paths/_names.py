r"""Names of files as they are shown and read back, and names that look alike.

Bytes that are not printable, or not UTF-8, are shown as `\xNN`. A path in that form refers to the name with those
bytes, unless a file has a literal backslash in its name.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from difflib import get_close_matches

_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
_ODD = ("\\x", "/ ", " /")
_SPACES_AND_QUOTES = str.maketrans("\u00a0\u2007\u202f\u2018\u2019\u201c\u201d", "   ''\"\"")


def escaped(path: str) -> str:
    r"""Return a name or path on one line of valid UTF-8, with `\xNN` escapes that `unescaped` reverses."""
    path = os.fsencode(path).decode("utf-8", "surrogateescape")  # the locale may be ASCII
    if path.isprintable() and "\\x" not in path and " " not in (path[:1], path[-1:]):
        return path
    return "/".join(map(_escaped, path.split("/")))


def all_escaped(paths: list[str]) -> list[str]:
    """Return the escaped paths; fast if no path needs escapes."""
    text = f"/{'/'.join(paths)}/" if sys.getfilesystemencoding() == "utf-8" else "\0"
    return list(map(escaped, paths)) if not text.isprintable() or any(odd in text for odd in _ODD) else paths


def unescaped(part: str) -> str | None:
    """Return the name that was escaped like this; None if there are no escapes, or the result cannot be a name."""
    name = os.fsdecode(_ESCAPE.sub(lambda code: bytes.fromhex(code[1].decode()), os.fsencode(part)))
    return None if name == part or "/" in name or "\0" in name or name in ("", ".", "..") else name


def alike(names: list[str], name: str, *, any_case: bool) -> str | None:
    """Return the one name that looks like `name`, or None; with `any_case`, one that differs in case if none does."""
    shape = _seen(name)
    matches = [other for other in names if _seen(other) == shape]
    if not matches and any_case:
        matches = [other for other in names if _seen(other).casefold() == shape.casefold()]
    return matches[0] if len(matches) == 1 else None


def near(names: list[str], name: str) -> list[str]:
    """Return up to three similar names."""
    same = [other for other in names if _seen(other).casefold() == _seen(name).casefold() and other != name]
    return (same or get_close_matches(name, names, n=3))[:3]


def _escaped(name: str) -> str:
    first, last = len(name) - len(name.lstrip(" ")), len(name.rstrip(" "))
    return "".join(
        char if char.isprintable() and first <= at < last and name[at : at + 2] != "\\x" else _hex(char)
        for at, char in enumerate(name)
    )


def _hex(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


def _seen(name: str) -> str:
    """Return a name with accents, spaces and quotes in a canonical form."""
    return name if name.isascii() else unicodedata.normalize("NFC", name).translate(_SPACES_AND_QUOTES)
