"""Hints for text that does not occur exactly: where it almost does, and what differs. Only messages use them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_SIZE = 2 << 20  # characters of a file that is searched for a hint
_MAX_QUOTED = 160  # characters of a line
_TELLING = 8  # characters that rarely match by chance
_MAX_VOTES = 200_000
_MAX_COMPARED = 20

PLAIN = str.maketrans({
    **dict.fromkeys("\u00a0\u2007\u202f", " "),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    "\u2026": "...",
})  # fmt: skip


def near_miss(text: str, old: str, new: str) -> str:
    """Describe where `old` occurs in another spelling, or most of its lines do, or the most similar line."""
    if len(text) > _MAX_SIZE or len(old) > _MAX_SIZE:
        return "grep finds what is there"
    lines, old_lines = text.split("\n"), old.split("\n")
    folded = "\n".join(map(_folded, old_lines))
    at = "\n".join(map(_folded, lines)).find(folded) if folded.strip() else -1
    if at >= 0:
        first = "\n".join(map(_folded, lines)).count("\n", 0, at)
        return first_difference(lines, old_lines, first, "old_string", partial=True)
    return _as_rewritten(text, old) or _as_done(text, old, new) or _as_resembling(lines, old.strip("\n").split("\n"))


def nearest(lines: Sequence[str], old_lines: Sequence[str], expected: int = 0) -> int | None:
    """Return the index where most of the old lines occur, spelling aside; of equals, the nearest to `expected`."""
    offsets: dict[str, list[int]] = {}
    for offset, line in enumerate(map(_folded, old_lines)):
        if line:
            offsets.setdefault(line, []).append(offset)
    votes = (number - offset for number, line in enumerate(lines) for offset in offsets.get(_folded(line), ())[:100])
    counted = Counter(islice(votes, _MAX_VOTES))
    return min(counted, key=lambda at: (-counted[at], abs(at - expected)), default=None)


def first_difference(
    lines: Sequence[str], old_lines: Sequence[str], first: int, what: str, *, partial: bool = False
) -> str:
    """Describe the first old line that differs; `partial` text may begin and end inside a line."""
    for number, other in enumerate(old_lines, first):
        if not 0 <= number < len(lines):
            return f"the file ends before line {number + 1}, where {what} has {quoted(other)}"
        line = lines[number]
        is_first, is_last = partial and number == first, partial and number == first + len(old_lines) - 1
        same = (
            other in line if is_first and is_last
            else line.endswith(other) if is_first
            else line.startswith(other) if is_last
            else line == other
        )  # fmt: skip
        if not same:
            return f"line {number + 1} is {quoted(line)}, but {what} has {quoted(other)}{_kind(line, other)}"
    return f"line {first + 1} has bytes there that are not text, shown as '\ufffd': choose the text beside them"


def quoted(line: str | bytes) -> str:
    """Return a line for a message: truncated, with control characters escaped."""
    text = line if isinstance(line, str) else line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}...")


def _folded(line: str) -> str:
    """Return a line without the details that models often get wrong."""
    plain = line if line.isascii() else unicodedata.normalize("NFKC", line.translate(PLAIN))
    return " ".join(plain.casefold().replace("`", "'").split())


def _kind(line: str, other: str) -> str:
    """Return what differs between two similar lines."""
    if "".join(other.split()) in "".join(line.split()):
        return ", which differs only in white space"
    if other.casefold() in line.casefold():
        return ", which differs only in upper and lower case"
    return ", which differs only in spelling, such as quotes or spaces" if _folded(other) in _folded(line) else ""


def _as_rewritten(text: str, old: str) -> str | None:
    """Find other spellings of the text."""
    unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'")
    for what, old_lines in (
        ("with real newlines, tabs and quotes instead of the backslashes", unescaped.replace("\\\\", "\\")),
        ("with backslash escapes instead of the newlines and tabs", old.replace("\n", "\\n").replace("\t", "\\t")),
        ("without the line numbers in front", re.sub(r"(?m)^[ \t]{0,8}\d{1,9}[:|\t\u2192] ?", "", old)),
        ("without the newlines at its ends", old.strip("\r\n")),
    ):
        at = text.find(old_lines) if len(old_lines.strip()) > 1 and old_lines != old else -1
        if at >= 0:
            return f"line {text.count(chr(10), 0, at) + 1} matches {what}"
    return None


def _as_done(text: str, old: str, new: str) -> str | None:
    """Return where the edit seems to be made already: the new text with the unchanged lines around it."""
    before, after = old.strip("\n").split("\n"), new.strip("\n").split("\n")
    stays = [line for line, other in ((before[0], after[0]), (before[-1], after[-1])) if line == other and line.strip()]
    at = text.find(new) if stays and len(before) + len(after) > 2 and len(new.strip()) >= _TELLING else -1
    return f"new_string is there already, in line {text.count(chr(10), 0, at) + 1}" if at >= 0 else None


def _as_resembling(lines: list[str], old_lines: list[str]) -> str:
    first = nearest(lines, old_lines)
    if first is not None:
        return f"most of it is there: {first_difference(lines, old_lines, max(0, first), 'old_string', partial=True)}"
    number = _most_similar(lines, old_lines[0].strip()[:_MAX_QUOTED])
    if number is None:
        return "no line resembles its first one; use read_file"
    return f"closest match for its first line is line {number + 1}: {quoted(lines[number])}"


def _most_similar(lines: list[str], anchor: str) -> int | None:
    """Return the most similar line; only the lines that share most words are compared."""
    words = set(re.findall(r"\w+", anchor))
    shared = ((len(words.intersection(re.findall(r"\w+", line[:_MAX_QUOTED]))), -n) for n, line in enumerate(lines))
    candidates = [-n for count, n in nlargest(_MAX_COMPARED, shared) if count]
    likeness = {n: SequenceMatcher(None, lines[n].strip()[:_MAX_QUOTED], anchor).ratio() for n in candidates}
    best = max(likeness, key=likeness.__getitem__, default=None)
    return best if best is not None and likeness[best] > 0.5 else None
