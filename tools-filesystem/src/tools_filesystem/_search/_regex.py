"""What is searched for: checked, and made the same for every engine. `re` never sees it.

All engines run in linear time (Rust's regex in `rg`, RE2), and know neither look-around nor back-references.
"""

from __future__ import annotations

from typing import NamedTuple

from tools_core import ToolError

LONGEST = 10_000  # characters
_NEEDED = set("\\.+*?()|[]{}^$-&~#")  # what must be escaped to stand for itself, everywhere or in brackets
_NEEDLESS = set("/ \"'!%,:;<=>@_`")  # what some engines refuse to see escaped
_END = r"(?:\r?$)"  # so that `$` finds the end of a line that ends in CRLF, too


class Query(NamedTuple):
    """A checked pattern: `source` is what an engine gets; `literal` occurs in every line that matches, if known."""

    source: str
    literal: bytes
    is_fixed: bool
    ignore_case: bool


def query(pattern: str, *, is_fixed: bool, ignore_case: bool) -> Query:
    """Check a pattern; ToolError says what in it does not work, and what would."""
    if not pattern:
        raise ToolError("pattern must not be empty; glob finds files by name", "validation_error")
    if len(pattern) > LONGEST:
        raise ToolError(f"pattern is {len(pattern)} characters long; the most is {LONGEST}", "limit_exceeded")
    if "\n" in pattern or "\0" in pattern:
        message = "pattern must not contain line breaks or NUL characters: the search goes line by line"
        raise ToolError(message, "validation_error")
    try:
        data = pattern.encode()
    except UnicodeEncodeError as error:
        raise ToolError("pattern must not contain lone surrogates", "validation_error") from error
    if is_fixed:
        return Query(pattern, b"" if ignore_case else data, is_fixed=True, ignore_case=ignore_case)
    scan = _Scan(pattern)
    literal = b"" if ignore_case else scan.literal.encode()
    if scan.is_plain:
        return Query(scan.literal, literal, is_fixed=True, ignore_case=ignore_case)
    return Query(scan.source, literal, is_fixed=False, ignore_case=ignore_case)


class _Scan:
    """One pass over a regular expression: refuses what no engine has, and finds the longest text that it requires."""

    def __init__(self, pattern: str) -> None:
        self.literal = ""
        self.is_plain = True  # nothing but text
        self._run: list[str] = []
        self._is_sure = True  # whether what is required can be told at all
        self._depth = 0
        out: list[str] = []
        at = 0
        while at < len(pattern):
            length = self._token(pattern, at)
            piece = pattern[at : at + length]
            out.append(_END if piece == "$" else _without_needless_escapes(piece))
            at += length
        self._flush()
        self.source = "".join(out)
        if not self._is_sure:
            self.literal = ""

    def _token(self, pattern: str, at: int) -> int:
        """Take in what begins at a place; how long it is."""
        char = pattern[at]
        if char == "\\":
            return self._escape(pattern, at)
        self.is_plain = self.is_plain and char not in "[()|*?{.^$+"
        if char == "[":
            self._flush()
            return _class_length(pattern, at)
        if char == "(":
            self._group(pattern, at)
        elif char == ")":
            self._depth -= 1
            self._flush()
        elif char == "|":
            self._is_sure = self._is_sure and self._depth > 0
            self._flush()
        elif char in "*?{":
            if self._run:
                self._run.pop()  # what is before it may be missing
            self._flush()
            if char == "{":
                end = pattern.find("}", at)
                return end + 1 - at if end > 0 else 1
        elif char in ".^$+":
            self._flush()
        else:
            self._plain(char)
        return 1

    def _plain(self, char: str) -> None:
        if not self._depth:
            self._run.append(char)

    def _flush(self) -> None:
        run = "".join(self._run)
        if len(run) > len(self.literal):
            self.literal = run
        self._run = []

    def _escape(self, pattern: str, at: int) -> int:
        char = pattern[at + 1 : at + 2]
        if char and char in "123456789k":
            raise _refused(f"the back-reference '\\{char}'")
        if char and char in "AzZG":
            raise ToolError(f"'\\{char}' means nothing in a search line by line; use ^ and $", "validation_error")
        if char == "n":
            raise ToolError(r"'\n' is in no line: the search goes line by line", "validation_error")
        if char in _NEEDED or char in _NEEDLESS:
            self._plain(char)
            return 2
        self.is_plain = False
        self._flush()
        self._is_sure = self._is_sure and char != "Q"
        if char and pattern[at + 2 : at + 3] == "{" and char in "xpPuUb":
            end = pattern.find("}", at)
            return end + 1 - at if end > 0 else 2
        # What is behind \\x and \\p is part of the escape, and no text.
        return 2 + {"x": 2, "u": 4, "U": 8, "p": 1, "P": 1}.get(char, 0)

    def _group(self, pattern: str, at: int) -> None:
        self._flush()
        self._depth += 1
        for start, name in (("(?=", "look-ahead"), ("(?!", "look-ahead"), ("(?<=", "look-behind"),
                            ("(?<!", "look-behind"), ("(?P=", "a back-reference"), ("(?>", "an atomic group"),
                            ("(?(", "a condition")):  # fmt: skip
            if pattern.startswith(start, at):
                raise _refused(f"{name} {start!r}")
        if pattern.startswith("(?", at) and not pattern.startswith(("(?:", "(?P<"), at):
            self._is_sure = False  # flags may fold case or skip spaces


def _refused(what: str) -> ToolError:
    message = f"{what} is not supported: the search runs in linear time. Find more with a simpler pattern, and read on"
    return ToolError(message, "validation_error")


def _class_length(pattern: str, at: int) -> int:
    """How long a bracket expression is, nested ones included; the rest of the pattern if it has no end."""
    end = at + 1
    if pattern.startswith("^", end):
        end += 1
    if pattern.startswith("]", end):
        end += 1
    depth = 1
    while end < len(pattern):
        char = pattern[end]
        if char == "\\":
            end += 1
        elif char == "[":
            depth += pattern.startswith("[:", end)  # other brackets stand for themselves in RE2
        elif char == "]":
            depth -= 1
            if not depth:
                return end + 1 - at
        end += 1
    return len(pattern) - at


def _without_needless_escapes(piece: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(piece):
        length = 1 + (piece[at] == "\\")
        escaped = piece[at + 1 : at + length]
        out.append(escaped if escaped in _NEEDLESS else piece[at : at + length])
        at += length
    return "".join(out)
