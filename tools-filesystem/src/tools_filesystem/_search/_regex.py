"""What is searched for: checked, and made the same for every engine. `re` never sees it.

All engines run in linear time (Rust's regex in `rg`, RE2), and know neither look-around nor back-references.
"""

from __future__ import annotations

from typing import NamedTuple

from tools_core import ToolError

LONGEST = 10_000  # characters
_NEEDED = set("\\.+*?()|[]{}^$-&~#")  # what must be escaped to stand for itself, everywhere or in brackets
_NEEDLESS = set("/ \"'!%,:;<=>@_`")  # what some engines refuse to see escaped
# What means the same to every engine. `$` finds the end of a line that ends in CRLF, too, and `^` the beginning of a
# file that has a mark of its encoding there.
_PORTABLE = {"$": r"(?:\r?$)", "^": r"(?:^\x{FEFF}?)", "(?<": "(?P<", "{": r"\{"}
# What rg means by these; RE2 by itself knows the letters, digits and spaces of ASCII alone.
_LETTERS = (
    r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}"
    r"\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}"
)
_SPACES = r"\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}"
_MEMBERS = {r"\w": _LETTERS, r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\s": _SPACES}
_CLASSES = {r"\w": f"[{_LETTERS}]", r"\W": f"[^{_LETTERS}]", r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\s": f"[{_SPACES}]",
            r"\S": f"[^{_SPACES}]"}  # fmt: skip


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
    if not scan.source:
        raise ToolError("pattern must not be empty; glob finds files by name", "validation_error")
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
            out.append(_PORTABLE.get(piece) or _portable(piece))
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
        length = _repetition_length(pattern, at) if char == "{" else 1
        if not length:
            self._plain(char)  # a brace as code has it
            return 1
        self.is_plain = self.is_plain and char not in "[()|*?{.^$+"
        if char == "[":
            self._flush()
            return _class_length(pattern, at)
        if char == "(":
            return self._group(pattern, at)
        if char == ")":
            self._depth -= 1
            self._flush()
        elif char == "|":
            self._is_sure = self._is_sure and self._depth > 0
            self._flush()
        elif char in "*?{":
            if self._run:
                self._run.pop()  # what is before it may be missing
            self._flush()
        elif char in ".^$+":
            self._flush()
        else:
            self._plain(char)
        return length

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
        if char == "Q":
            return self._quoted(pattern, at)
        if char in _NEEDED or char in _NEEDLESS:
            self._plain(char)
            return 2
        self.is_plain = False
        self._flush()
        if char and pattern[at + 2 : at + 3] == "{" and char in "xpPuUb":
            end = pattern.find("}", at)
            return end + 1 - at if end > 0 else 2
        # What is behind \\x and \\p is part of the escape, and no text.
        return 2 + {"x": 2, "u": 4, "U": 8, "p": 1, "P": 1}.get(char, 0)

    def _quoted(self, pattern: str, at: int) -> int:
        r"""Take in what is between `\Q` and `\E`, or the end: nothing but text."""
        end = pattern.find(r"\E", at)
        text = pattern[at + 2 : end if end >= 0 else None]
        for char in text:
            self._plain(char)
        return len(text) + (4 if end >= 0 else 2)

    def _group(self, pattern: str, at: int) -> int:
        self._flush()
        self._depth += 1
        for start, name in (("(?=", "look-ahead"), ("(?!", "look-ahead"), ("(?<=", "look-behind"),
                            ("(?<!", "look-behind"), ("(?P=", "a back-reference"), ("(?>", "an atomic group"),
                            ("(?(", "a condition")):  # fmt: skip
            if pattern.startswith(start, at):
                raise _refused(f"{name} {start!r}")
        if pattern.startswith("(?", at) and not pattern.startswith(("(?:", "(?P<", "(?<"), at):
            self._is_sure = False  # flags may fold case or skip spaces
        return 3 if pattern.startswith("(?<", at) else 1


def for_re2(source: str) -> str:
    r"""The same with the letters, digits and spaces of all languages, as far as RE2 can: not in `\b` and `[\W\S]`."""
    out: list[str] = []
    at = end = 0  # where we are, and where the class ends that we are in
    while at < len(source):
        if source[at] == "[" and at >= end:
            end = at + _class_length(source, at)
        one = source[at : at + 1 + (source[at] == "\\")]
        out.append((_MEMBERS if at < end else _CLASSES).get(one, one))
        at += len(one)
    return "".join(out)


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


def _repetition_length(pattern: str, at: int) -> int:
    """How long `{2}`, `{2,}` or `{2,3}` is; 0 for another brace. ToolError for `{,3}`, on which no engines agree."""
    end = pattern.find("}", at)
    low, _, high = pattern[at + 1 : max(at + 1, end)].partition(",")
    if end < 0 or not _is_number(low or high) or (high and not _is_number(high)):
        return 0
    if not low:
        raise ToolError(f"'{{,{high}}}' is not understood: write '{{0,{high}}}'", "validation_error")
    return end + 1 - at


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _portable(piece: str) -> str:
    """The same without needless escapes, and with the needed ones."""
    if piece.startswith(r"\Q"):
        text = piece[2:].removesuffix(r"\E")
        return "".join(f"\\{char}" if char in _NEEDED else char for char in text)
    out: list[str] = []
    at = 0
    while at < len(piece):
        length = 1 + (piece[at] == "\\")
        one = piece[at : at + length]
        digits = {r"\u": 4, r"\U": 8}.get(one, 0)
        if one[1:] in _NEEDLESS and length == 2:
            out.append(one[1:])
        elif digits and piece.startswith("{", at + 2):
            out.append(r"\x")
        elif digits:
            out.append(f"\\x{{{piece[at + 2 : at + 2 + digits]}}}")
            length += digits
        elif at and piece[0] == "[" and _means_more(piece, at):
            out.append(f"\\{one}")
        else:
            out.append(one)
        at += length
    return "".join(out)


def _means_more(piece: str, at: int) -> bool:
    """Whether what stands for itself inside a class for RE2 is something else for rg: a class inside, `&&` or `~~`."""
    if piece[at] == "[":
        return not piece.startswith("[:", at)
    return piece[at] in "&~" and piece[at] in (piece[at - 1], piece[at + 1 : at + 2])
