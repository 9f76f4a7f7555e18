"""One name of a path against one wildcard pattern, in time that no pattern can blow up.

A pattern becomes fixed-length pieces between its stars. Each piece is looked for once, behind the one before, and an
atomic group forbids to look again: the regular expression that is made here never backtracks over a star.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    Matcher = Callable[[str], bool]

_POSIX = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": "\\s", "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_ANY = "."
_MOST_ENDLESS = 20  # looking for an end that is not there costs a pass over the pattern


class Segment(NamedTuple):
    """A parsed pattern: pieces of regular expressions, None for a star; `text` if it has no wildcard."""

    pieces: tuple[str | None, ...]
    text: str | None

    def suffix(self) -> str | None:
        """The end that alone decides, for `*` and `*.py`."""
        if len(self.pieces) == 2 and self.pieces[0] is None and self.text is not None:
            return self.text
        return "" if self.pieces == (None,) else None


def parse(pattern: str, *, is_strict: bool = False) -> Segment | None:
    """Take a pattern apart; None for one that matches nothing, as git has it if `is_strict`: a class without an end.

    Otherwise such a bracket stands for itself, as in a shell.
    """
    pieces: list[str | None] = []
    plain: list[str] = []
    has_class = False
    endless = 0  # brackets without an end
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            if not pieces or pieces[-1] is not None:
                pieces.append(None)
            continue
        if char == "\\" and at < len(pattern):
            char = pattern[at]
            at += 1
        elif char == "\\" and is_strict:
            return None
        elif char == "?":
            has_class = True
            pieces.append(_ANY)
            continue
        elif char == "[" and endless < _MOST_ENDLESS:
            found, end = _class(pattern, at)
            if end:
                at, has_class = end, True
                pieces.append(found)
                continue
            if is_strict:
                return None
            endless += 1
        plain.append(char)
        pieces.append(re.escape(char))
    return Segment(tuple(_joined(pieces)), None if has_class else "".join(plain))


def split(pattern: str) -> list[str]:
    """The names of a pattern as git sees them: a slash inside a class is none; empty if a class has no end."""
    names: list[str] = []
    begin = at = 0
    while at < len(pattern):
        if pattern[at] == "[":
            at = _class(pattern, at + 1)[1]
            if not at:
                return []
            continue
        length = 1 + (pattern[at] == "\\")
        if pattern.startswith("/", at + length - 1):
            names.append(pattern[begin:at])
            begin = at + length
        at += length
    return [*names, pattern[begin:]]


def matcher(segment: Segment) -> Matcher:
    """A function that says whether a name fits."""
    suffix = segment.suffix()
    if suffix is not None:
        return partial(_ends_with, suffix)
    if segment.text is not None and None not in segment.pieces:
        return segment.text.__eq__
    return _compiled(segment.pieces)


def _ends_with(suffix: str, name: str) -> bool:
    return name.endswith(suffix)


def _compiled(pieces: tuple[str | None, ...]) -> Matcher:
    out, rest = [], list(pieces)
    if rest[0] is not None:
        out.append(rest.pop(0) or "")
    last = rest.pop() if rest and rest[-1] is not None else ""
    fixed = [piece for piece in rest if piece is not None]
    out += [f"(?>.*?{piece})" for piece in fixed]
    if None in rest:
        out.append(".*")
    match = re.compile(f"(?s:{''.join(out)}{last})\\Z").match
    return lambda name: match(name) is not None


def _joined(pieces: list[str | None]) -> list[str | None]:
    out: list[str | None] = []
    for piece in pieces:
        if piece is not None and out and out[-1] is not None:
            out[-1] += piece
        else:
            out.append(piece)
    return out


def _class(pattern: str, start: int) -> tuple[str, int]:
    """The regular expression of a bracket that was opened just before `start`, and where it ends; 0 if nowhere."""
    at = start
    is_negated = pattern[at : at + 1] in ("!", "^")
    at += is_negated
    first = at
    items: list[str] = []
    while at < len(pattern) and (pattern[at] != "]" or at == first):
        if pattern.startswith("[:", at) and pattern[(end := pattern.find("]", at + 2)) - 1] == ":" and end > at + 2:
            if pattern[at + 2 : end - 1] not in _POSIX:
                return "", 0
            items.append(_POSIX[pattern[at + 2 : end - 1]])
            at = end + 1
            continue
        low, at = _member(pattern, at)
        high = low
        if pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(pattern, at + 1)
        # Of a range the wrong way round there is nothing but where it begins, as in git.
        items.append(f"\\U{ord(low):08x}-\\U{ord(max(low, high)):08x}")
    if at >= len(pattern):
        return "", 0
    return f"[{'^' * is_negated}{''.join(items)}]", at + 1


def _member(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] == "\\" and at + 1 < len(pattern):
        return pattern[at + 1], at + 2
    return pattern[at], at + 1
