"""Removing quotes from the words of a script."""

from __future__ import annotations

import re

from tools_shell._script._parts import Dynamic, Unreadable, Word

# Marks of expansions, of characters that scripts cannot contain: any number of words, or one in double quotes; any
# number even in quotes; always one.
SPLIT, MANY, ONE = "\0", "\1", "\2"
_PIECE = re.compile(
    r"""'(?P<raw>[^'\0-\2]*)'|"(?P<string>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<glob>[*?[\]])|(?P<tilde>~)"""
    r"|(?P<mark>[\0-\2])|(?P<plain>\{\}|[\w./:@%+,=^!-]+)"
)
_IN_STRING = re.compile(r"""\\[$`"\\]|[\0-\2]|[^`$]|\$(?=[\s|)/]|$)""")


def decoded(text: str) -> Word:
    """Return the word that the shell reads from text with marked expansions."""
    if text in ("[", "]"):
        return text
    literal, at = "", 0
    is_known = is_single = True
    is_glob = True  # a pattern expands to file names that start with its literal beginning
    while at < len(text):
        found = _PIECE.match(text, at)
        if found is None:
            raise Unreadable(f"a word with {text[at]}")
        kind, piece = str(found.lastgroup), found[str(found.lastgroup)]
        if kind == "tilde" and at and text[at - 1] in "=:":
            raise Unreadable("a word with a tilde inside")
        is_dynamic = kind in ("mark", "glob") or (kind == "tilde" and not at)
        pieces = _pieces(piece) if kind == "string" else [piece]
        for each in pieces:
            if is_dynamic or each in (SPLIT, MANY, ONE):
                is_known = False
                is_many = kind == "glob" or each == MANY or (each == SPLIT and kind != "string")
                is_single &= not is_many
                is_glob &= kind == "glob" or not is_many
            elif is_known:
                literal += each
        at = found.end()
    if is_known:
        return literal
    return Dynamic(literal if is_glob else "", is_single)


def _pieces(text: str) -> list[str]:
    """Return the characters and the marks of a double-quoted string."""
    found = _IN_STRING.findall(text)
    if len("".join(found)) != len(text):
        raise Unreadable("an expansion in a string that is not followed")
    return [piece[1:] if len(piece) == 2 else piece for piece in found]
