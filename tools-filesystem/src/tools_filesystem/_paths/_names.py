r"""Names as they are shown, sent back, and told apart where eyes and keyboards cannot.

What is not printable, or not UTF-8, is shown in quotes with each such byte as `\xNN`; a path with that form means the
name with those bytes, unless there is one with the very backslash.
"""

from __future__ import annotations

import os
import unicodedata
from difflib import get_close_matches

_HEX = frozenset(b"0123456789abcdefABCDEF")
_SPACES_AND_QUOTES = str.maketrans("\u00a0\u2007\u202f\u2018\u2019\u201c\u201d", "   ''\"\"")


def shown(name: str) -> str:
    r"""Return a name on one line that UTF-8 can carry and that looks like no other: plain, or quoted with `\xNN`."""
    return name if name == name.strip() and name.isprintable() and unescaped(name) is None else quoted(name)


def quoted(path: str) -> str:
    r"""Return a name or path in quotes, with `\xNN` for what is not printable."""
    plain = path.isprintable() and not any(map(unescaped, path.split("/")))
    return f"'{path if plain else _escaped(path)}'"


def meant(name: str) -> str:
    r"""Return the name that `sendable` made this of."""
    other = unescaped(name)
    return name if other is None or sendable(other) != name else other


def sendable(name: str) -> str:
    r"""Return a name or path, with `\xNN` if UTF-8 cannot carry it, or it would be taken for such a form."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return _escaped(name)
    return _escaped(name) if any(map(unescaped, name.split("/"))) else name


def unescaped(part: str) -> str | None:
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
    plain = [char if char.isprintable() and char != "\\" else _hex(char) for char in name]
    if plain[0] == "'":
        plain[0] = _hex("'")
    return "".join(plain)


def _hex(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))


def _seen(name: str) -> str:
    """Return a name with one form of accents, spaces and quotes."""
    return name if name.isascii() else unicodedata.normalize("NFC", name).translate(_SPACES_AND_QUOTES)
