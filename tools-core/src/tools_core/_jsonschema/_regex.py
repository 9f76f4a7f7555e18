r"""ECMA-262 regular expressions, as JSON Schema writes them, in the terms of `re`.

The two languages look alike and differ where it hurts: `$` in Python matches before a last newline,
`\d` and `\w` take in other scripts, `.` stops at fewer characters, `(?i)` and `a++` exist.
A pattern without an exact counterpart is refused.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

# With re.ASCII \d, \w and \b mean what ECMA-262 says; \s does not.
_SPACE = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NO_SPACE = (
    r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\ufefe\uff00-\U0010ffff"
)
_INSIDE_CLASS = {"s": _SPACE, "S": _NO_SPACE, "d": r"\d", "D": r"\D", "w": r"\w", "W": r"\W", "b": r"\x08"}
_OUTSIDE_CLASS = {**_INSIDE_CLASS, "s": f"[{_SPACE}]", "S": f"[^{_SPACE}]", "b": r"\b", "B": r"\B"}
_PLAIN = {".": r"[^\n\r\u2028\u2029]", "^": r"\A", "$": r"\Z", "|": "|", ")": ")"}

_GRAMMAR = r"""
      \\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})
    | \\u\{(?P<point>[0-9a-fA-F]{1,6})\} | \\u(?P<unit>[0-9a-fA-F]{4}) | \\x(?P<byte>[0-9a-fA-F]{2})
    | \\c(?P<control>[A-Za-z])
    | \\k<(?P<named>[A-Za-z_]\w*)> | \\(?P<back>[1-9][0-9]*)
    | \\(?P<escaped>.)
    | \(\?<(?P<name>[A-Za-z_]\w*)> | (?P<group>\((?:\?(?:<?[=!]|:))?(?!\?))
    | (?P<quantifier>[*+?]|\{[0-9]+(?:,[0-9]*)?\})(?P<lazy>\??)
    | (?P<open>\[\^?)
    | (?P<char>.)
"""
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}


@lru_cache(maxsize=256)
def translate(pattern: str) -> re.Pattern[str]:
    """Compile an ECMA-262 pattern; ValueError with the reason when `re` has no exact counterpart."""
    try:
        return re.compile(_rewrite(pattern), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{error}") from None


def _rewrite(pattern: str) -> str:
    out: list[str] = []
    at = 0
    repeatable = False  # a quantifier may follow
    while at < len(pattern):
        token = _token(pattern, at)
        at = token.end()
        if token["open"]:
            body, at = _class(pattern, at, negated=token["open"] == "[^")
            out.append(body)
            repeatable = True
        elif token["quantifier"]:
            if not repeatable:
                raise ValueError(f"there is nothing to repeat before {token[0]}")
            out.append(token[0])
            repeatable = False
        else:
            out.append(_atom(token))
            repeatable = not token["group"] and not token["name"] and token[0] not in ("|", "^", "$")
    return "".join(out)


def _token(pattern: str, at: int) -> re.Match[str]:
    # The match starts at `at`, since the last alternative takes any character.
    return next(_tokens().finditer(pattern, at))


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(_GRAMMAR, re.VERBOSE | re.DOTALL | re.ASCII)  # costs 5 ms, and few schemas have a pattern


def _atom(token: re.Match[str]) -> str:
    if token["group"]:
        return token["group"]
    if token["name"]:
        return f"(?P<{token['name']}>"
    if token["back"] or token["named"]:
        # A group that took no part matches the empty string in ECMA-262, and nothing in Python.
        group = token["back"] or token["named"]
        return f"(?({group}){_reference(group)}|)"
    if token["escaped"] in ("d", "D", "w", "W", "s", "S", "b", "B"):
        return _OUTSIDE_CLASS[token["escaped"]]
    if token["char"]:
        if token["char"] == "(":
            raise ValueError("the only groups are (...), (?:...), (?<name>...), (?=...), (?!...), (?<=...), (?<!...)")
        return _PLAIN.get(token["char"]) or re.escape(token["char"])
    return re.escape(_literal(token))


def _reference(group: str) -> str:
    # The brackets keep a digit that follows from joining the number.
    return f"(?:\\{group})" if group.isdigit() else f"(?P={group})"


def _class(pattern: str, at: int, negated: bool) -> tuple[str, int]:
    """Rewrite a character class whose inside starts at `at`; also return where it ends."""
    out: list[str] = []
    while at < len(pattern) and pattern[at] != "]":
        token = _token(pattern, at)
        if token["escaped"] in _INSIDE_CLASS:
            out.append(_INSIDE_CLASS[token["escaped"]])
            at = token.end()
        elif pattern[at] == "\\":
            out.append(re.escape(_literal(token)))
            at = token.end()
        else:
            # A hyphen keeps its meaning; all else is literal, also what Python may give a meaning one day.
            out.append(
                "-" if pattern[at] == "-" and out and pattern[at + 1 : at + 2] != "]" else re.escape(pattern[at])
            )
            at += 1
    if at >= len(pattern):
        raise ValueError("a [ is not closed")
    if not out:
        return (r"[\s\S]" if negated else "(?!)"), at + 1
    return f"[{'^' if negated else ''}{''.join(out)}]", at + 1


def _literal(token: re.Match[str]) -> str:
    """Return the one character that an escape stands for."""
    if token["high"]:
        return chr(0x10000 + ((int(token["high"], 16) - 0xD800) << 10) + int(token["low"], 16) - 0xDC00)
    digits = token["point"] or token["unit"] or token["byte"]
    if digits:
        return chr(int(digits, 16))
    if token["control"]:
        return chr(ord(token["control"]) % 32)
    char = token["escaped"]
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char is None or char.isalnum():
        raise ValueError(_advice(token[0]))
    return char


def _advice(escape: str) -> str:
    if escape in (r"\p", r"\P"):
        return f"{escape} (Unicode properties) is not supported; list the characters in a [...] class"
    if escape in (r"\A", r"\Z", r"\z"):
        return f"{escape} is not part of ECMA-262; write ^ or $"
    return f"ECMA-262 has no escape {escape}"
