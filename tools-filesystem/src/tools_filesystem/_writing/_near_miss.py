"""Hints for text that does not occur exactly: where it almost does, and what differs. Only messages use them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_SIZE = 2 << 20  # characters of a file that is searched for a hint
_MAX_QUOTED = 160  # characters of a line
_MAX_VOTES = 200_000
_LINE_NUMBER = re.compile(r"^[ \t]{0,8}\d{1,9}[:|\t\u2192] ?")  # as read_file and grep show it

PLAIN = str.maketrans({
    **dict.fromkeys("\u00a0\u2007\u202f", " "),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    "\u2026": "...",
})  # fmt: skip


def near_miss(text: str, old: str) -> str:
    """Describe the first difference between `old` and the most similar lines."""
    if len(text) > _MAX_SIZE or len(old) > _MAX_SIZE:
        return "grep finds what is there"
    lines, old_lines = text.split("\n"), old.split("\n")
    folded, folded_text = ("\n".join(map(_folded, some)) for some in (old_lines, lines))
    at = folded_text.find(folded) if folded.strip() else -1
    first = folded_text.count("\n", 0, at) if at >= 0 else nearest(lines, old_lines)
    if first is None:
        return "no line resembles it; use read_file"
    return first_difference(lines, old_lines, max(0, first), "old_string", partial=True)


def nearest(lines: Sequence[str], old_lines: Sequence[str], expected: int = 0) -> int | None:
    """Return the index where most of the old lines occur, spelling aside; of equals, the nearest to `expected`.

    If none occurs, it is the line that shares most words with the first one.
    """
    offsets: dict[str, list[int]] = {}
    for offset, line in enumerate(map(_folded, old_lines)):
        if line:
            offsets.setdefault(line, []).append(offset)
    votes = (number - offset for number, line in enumerate(lines) for offset in offsets.get(_folded(line), ())[:100])
    counted = Counter(islice(votes, _MAX_VOTES))
    if counted:
        return min(counted, key=lambda at: (-counted[at], abs(at - expected)))
    words = _words(next(iter(offsets), ""))
    shares = [len(words & other) / len(words | other) if (other := _words(line)) else 0.0 for line in lines]
    best = max(range(len(lines)), key=shares.__getitem__)
    return best if shares[best] >= 0.5 else None


def first_difference(
    lines: Sequence[str], old_lines: Sequence[str], first: int, source: str, *, partial: bool = False
) -> str:
    """Describe the first old line that differs; `partial` text may begin and end inside a line."""
    for number, other in enumerate(old_lines, first):
        if not 0 <= number < len(lines):
            return f"the file ends before line {number + 1}, where {source} has {quoted(other)}"
        line = lines[number]
        is_first, is_last = partial and number == first, partial and number == first + len(old_lines) - 1
        same = (
            other in line if is_first and is_last
            else line.endswith(other) if is_first
            else line.startswith(other) if is_last
            else line == other
        )  # fmt: skip
        if not same:
            return f"line {number + 1} is {quoted(line)}, but {source} has {quoted(other)}{_kind(line, other)}"
    return f"line {first + 1} has bytes there that are not text, shown as '\ufffd': choose the text beside them"


def quoted(line: str | bytes) -> str:
    """Return a line for a message: truncated, with control characters escaped."""
    text = line if isinstance(line, str) else line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}...")


def _folded(line: str) -> str:
    """Return a line without the details that models often get wrong."""
    line = _LINE_NUMBER.sub("", line, count=1)
    plain = line if line.isascii() else unicodedata.normalize("NFKC", line.translate(PLAIN))
    return " ".join(plain.casefold().replace("`", "'").split())


def _words(line: str) -> set[str]:
    return set(re.findall(r"\w+", line[:_MAX_QUOTED].casefold()))


def _kind(line: str, other: str) -> str:
    """Return what differs between two similar lines."""
    if "".join(other.split()) in "".join(line.split()):
        return ", which differs only in white space"
    if unicodedata.normalize("NFC", other) in unicodedata.normalize("NFC", line):
        return ", which looks the same, but composes characters with accents otherwise"
    return ", which differs only in case, quotes or spaces" if _folded(other) in _folded(line) else ""
