"""Wildcard patterns for paths: `*`, `?`, `[...]`, `{a,b}` and `**`, as in git."""

from __future__ import annotations

import re
from itertools import groupby
from unicodedata import normalize

from tools_core import ToolError

_MAX_ALTERNATIVES = 256
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")  # the innermost ones
WILD = frozenset("*?[]{}!\\")
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9a-fA-F", "cntrl": r"\x00-\x1f\x7f", "graph": "!-~",
    "print": " -~",
}  # fmt: skip
# A member of a bracket expression: a class, or a character and the end of its range.
_MEMBER = re.compile(r"\[:([^\]]*):\]|(\\.|[^\\])(?:-(\\.|[^\\\]]))?", re.DOTALL)


class PathPattern:
    """Patterns for paths below a folder. With `anywhere`, one without a slash matches names in every folder.

    A pattern that ends with a slash matches what is below the folder. `regex` matches whole paths in linear time, and
    `last_names` are patterns for the names of the files, which alone decide if the pattern `is_by_name`. `ignore_file`
    are lines for an ignore file, with which `rg` passes all matching paths, and perhaps more unless the pattern
    `is_exact`.
    """

    def __init__(self, *patterns: str, anywhere: bool = False) -> None:
        same = (form for each in patterns for form in (each, normalize("NFC", each), normalize("NFD", each)))
        expanded = [alternative for pattern in dict.fromkeys(same) for alternative in _expanded(pattern)]
        alternatives = [_names(alternative, anywhere=anywhere) for alternative in expanded]
        self.regex = "|".join(f"(?:{_translate(names)})" for names in alternatives)
        self.ignore_file = ["/" + "/".join(map(_widened, names)) for names in alternatives]
        self.is_exact = all(WILD.isdisjoint(set(name) - set("*")) for names in alternatives for name in names)
        self.last_names = sorted({_widened(names[-1]) for names in alternatives if names})
        self.is_by_name = self.is_exact and all(
            names[0] == "**" and len(names) == 2 and names[1].strip("*") and ":" not in names[1]
            for names in alternatives
        )
        self.is_flat = all(len(names) == 1 and names[0] != "**" for names in alternatives)
        self._match = re.compile(self.regex, re.DOTALL).fullmatch

    def matches(self, path: str) -> bool:
        """Return whether a path matches."""
        return self._match(path) is not None

    def matches_any_of(self, path: str) -> bool:
        """Return whether a path or one of its folders matches."""
        ends = [at for at, char in enumerate(path) if char == "/"]
        return any(self._match(path, 0, end) for end in (*ends, len(path)))


def _expanded(pattern: str) -> list[str]:
    done: dict[str, None] = {}
    waiting = [pattern]
    for _ in range(8 * _MAX_ALTERNATIVES):
        if not waiting:
            return list(done)
        alternative = waiting.pop()
        braces = _BRACES.search(alternative)
        if braces is None:
            done[alternative] = None
        else:
            start, end = alternative[: braces.start()], alternative[braces.end() :]
            waiting += [start + inner + end for inner in braces[1].split(",")]
        if len(done) + len(waiting) > _MAX_ALTERNATIVES:
            break
    message = f"the braces stand for more than {_MAX_ALTERNATIVES} patterns; use '*', or several calls"
    raise ToolError(message, "limit_exceeded")


def _names(pattern: str, *, anywhere: bool) -> list[str]:
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if ".." in names:
        raise ToolError("the pattern has '..'; pass the folder as path instead", "denied")
    if anywhere and len(names) <= 1:
        names.insert(0, "**")
    if pattern.endswith(("/", "/.")) or not names:
        names.append("**")
    return ["**" if name.strip("*") == "" and len(name) > 1 else name for name in names]


def _translate(names: list[str]) -> str:
    """Return the regular expression of a pattern. Atomic groups keep the time linear: only the last `**` is retried."""
    groups = [list(group) for is_any, group in groupby(names, "**".__eq__) if not is_any]
    parts = ["/".join(map(_name, group)) for group in groups]
    starts, ends = names[:1] != ["**"], names[-1:] != ["**"]
    if not parts:
        return ".+"
    if starts and ends and len(parts) == 1:
        return parts[0]
    first = f"{parts.pop(0)}/" if starts else ""
    last = f"(?:[^/]+/)*{parts.pop()}" if ends else ".+"
    return first + "".join(f"(?>(?:[^/]+/)*?{part}/)" for part in parts) + last


def _name(name: str) -> str:
    """Return the regular expression of one name."""
    pieces, at, closes = [""], 0, True
    while at < len(name):
        char = name[at]
        at += 1
        bracket = _bracket(name, at) if char == "[" and closes else None
        closes &= char != "[" or bracket is not None  # after an open bracket, the others are literal, too
        if bracket is not None:
            piece, at = bracket
            pieces[-1] += piece
        elif char == "*":
            pieces += [""] if pieces[-1] or len(pieces) == 1 else []
        elif char == "\\":
            pieces[-1] += re.escape(name[at]) if at < len(name) else "(?!)"
            at += 1
        else:
            pieces[-1] += "[^/]" if char == "?" else re.escape(char)
    if len(pieces) == 1:
        return pieces[0]
    return pieces[0] + "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1]) + f"[^/]*{pieces[-1]}"


def _bracket(name: str, start: int) -> tuple[str, int] | None:
    """Return the expression of the bracket that opens before a position, and its end; None if it does not close.

    It also matches itself, because folders have names such as `[id]`.
    """
    at = start + (name[start : start + 1] in ("!", "^"))
    members: list[str] = []
    while at < len(name) and (name[at] != "]" or not members):
        member = _MEMBER.match(name, at)
        if member is None:
            return None
        at = member.end()
        if member[1] is not None:
            if member[1] not in _CLASSES:
                classes = ", ".join(_CLASSES)
                raise ToolError(
                    f"unknown class [:{member[1]}:] in the pattern; use one of {classes}", "validation_error"
                )
            members.append(_CLASSES[member[1]])
        else:
            first, last = member[2][-1], (member[3] or member[2])[-1]
            members.append(f"{re.escape(first)}-{re.escape(last)}" if first <= last else "")
    if at >= len(name):
        return None
    inside = "".join(members)
    is_negated = name[start] in ("!", "^")
    chars = f"[^/{inside}]" if is_negated else f"(?!/)[{inside}]" if inside else "(?!)"
    return f"(?:{chars}|{re.escape(name[start - 1 : at + 1])})", at + 1


def _widened(name: str) -> str:
    """Return a pattern that an ignore file understands alike: without brackets and escapes."""
    return name if WILD.isdisjoint(set(name) - set("*")) else "*"  # `?` is one byte for `rg`
