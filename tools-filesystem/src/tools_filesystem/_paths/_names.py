r"""Names as they are shown, sent back, and told apart where eyes and keyboards cannot.

Each byte of what is not printable, or not UTF-8, is shown as `\xNN`; a path with that form means the name with those
bytes, unless there is one with the very backslash.
"""

from __future__ import annotations

import os
import re
import unicodedata
from difflib import get_close_matches

_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
_ODD = ("\\x", "/ ", " /")
_SPACES_AND_QUOTES = str.maketrans("\u00a0\u2007\u202f\u2018\u2019\u201c\u201d", "   ''\"\"")


def escaped(path: str) -> str:
    r"""Return a name or path on one line that UTF-8 can carry, with `\xNN` where it is needed to lead there."""
    if path.isprintable() and "\\x" not in path and " " not in (path[:1], path[-1:]):
        return path
    return "/".join(map(_escaped, path.split("/")))


def all_escaped(paths: list[str]) -> list[str]:
    """Return many paths as they are shown, fast where none of them needs it."""
    text = f"/{'/'.join(paths)}/"
    return list(map(escaped, paths)) if not text.isprintable() or any(odd in text for odd in _ODD) else paths


def unescaped(part: str) -> str | None:
    """Return the name that was shown like this; None if it has no escapes, or cannot be a name."""
    name = os.fsdecode(_ESCAPE.sub(lambda code: bytes.fromhex(code[1].decode()), os.fsencode(part)))
    return None if name == part or "/" in name or "\0" in name or name in ("", ".", "..") else name


def alike(names: list[str], name: str) -> str | None:
    """Return the only one of `names` that looks like `name`; case counts if that makes it the only one."""
    wanted = _seen(name)
    found = [other for other in names if _seen(other).casefold() == wanted.casefold()]
    found = [other for other in found if _seen(other) == wanted] or found
    return found[0] if len(found) == 1 else None


def near(names: list[str], name: str) -> list[str]:
    """Return up to three names that may have been meant."""
    same = [other for other in names if _seen(other).casefold() == _seen(name).casefold() and other != name]
    return (same or get_close_matches(name, names, n=3))[:3]


def _escaped(name: str) -> str:
    first, last = len(name) - len(name.lstrip(" ")), len(name.rstrip(" "))
    return "".join(
        char if char.isprintable() and first <= at < last and name[at : at + 2] != "\\x" else _hex(char)
        for at, char in enumerate(name)
    )


def _hex(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))


def _seen(name: str) -> str:
    """Return a name with one form of accents, spaces and quotes."""
    return name if name.isascii() else unicodedata.normalize("NFC", name).translate(_SPACES_AND_QUOTES)
