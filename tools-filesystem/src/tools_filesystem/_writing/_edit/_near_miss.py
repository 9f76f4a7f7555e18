"""Where a text that is not in a file almost is, and what differs: a hint for the next attempt, never acted upon."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_filesystem._writing._edit._text import Text

_LARGEST = 2 << 20  # bytes of a file that is looked through for a hint
_SHOWN = 160  # characters of a line
_TELLING = 8  # characters that are hardly there by chance
_MOST_ANCHORS, _MOST_ALIKE = 50, 1000
_MOST_COMPARED = 20

_PLAIN = str.maketrans({
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032`", "'"), **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"), "\u2026": "...",
    **dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f", " "),
})  # fmt: skip


def _by_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(map(change, text.split("\n")))


def _without_endings(text: str) -> str:
    return text.replace("\r\n", "\n")


def _everything(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text.translate(_PLAIN)).casefold()
    return _by_line(lambda line: " ".join(line.split()))(plain)


# What may differ, and what makes it alike. Each keeps the number of lines.
_WAYS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("line endings (CRLF)", _without_endings),
    ("spaces at the end of a line", _by_line(str.rstrip)),
    ("indentation", _by_line(lambda line: line.strip())),
    ("quotes, dashes or special spaces", lambda text: _without_endings(text.translate(_PLAIN))),
    ("spaces and tabs", _by_line(lambda line: " ".join(line.split()))),
    ("upper and lower case", lambda text: _without_endings(text).casefold()),
    ("composed and decomposed characters", lambda text: unicodedata.normalize("NFKC", _without_endings(text))),
    ("several of spaces, case and quotes", _everything),
)


def near_miss(file: Text, old: str, new: str) -> str:
    """Return where `old` is but for some difference, else which line is most like it."""
    if len(file.data) > _LARGEST or len(old) > _LARGEST:
        return "grep finds what is there"
    text = file.decoded(file.data)
    hint = _as_shown(text, old, file.codec) or _as_differing(text, old) or _as_done(text, old, new)
    return hint or _as_resembling(text, old)


def _as_shown(text: str, old: str, encoding: str) -> str | None:
    """Where it is but for bytes that are no characters."""
    at = text.find(old) if "\ufffd" in old else -1
    if at < 0:
        return None
    line = text.count("\n", 0, at) + 1
    return f"line {line} has bytes there that are not {encoding}, shown as '\ufffd': choose the text beside them"


def _as_differing(text: str, old: str) -> str | None:
    """Where it is when what a model easily gets wrong is put right."""
    for what, change in _WAYS:
        wanted, changed = change(old), change(text)
        at = changed.find(wanted) if wanted.strip() else -1
        if at >= 0:
            first = changed.count("\n", 0, at)
            return f"it differs in {what}: {_first_difference(text.split(chr(10))[first:], old.split(chr(10)), first)}"
    for what, wanted in _rewritten(old):
        at = text.find(wanted) if len(wanted.strip()) > 1 and wanted != old else -1
        if at >= 0:
            return f"line {text.count(chr(10), 0, at) + 1} has it {what}"
    return None


def _rewritten(old: str) -> list[tuple[str, str]]:
    """Yield other spellings that a model may have meant."""
    unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'")
    return [
        ("with real newlines, tabs and quotes in place of the backslashes", unescaped.replace("\\\\", "\\")),
        ("with backslash escapes in place of the newlines and tabs", old.replace("\n", "\\n").replace("\t", "\\t")),
        ("without the line numbers in front", re.sub(r"(?m)^[ \t]{0,8}\d{1,9}[:|\t\u2192] ?", "", old)),
        ("without the newlines at its ends", old.strip("\r\n")),
    ]


def _as_done(text: str, old: str, new: str) -> str | None:
    """Where the edit seems to be made already: the new text is there with the lines around it that stay."""
    before, after = old.strip("\n").split("\n"), new.strip("\n").split("\n")
    stays = [line for line, other in ((before[0], after[0]), (before[-1], after[-1])) if line == other and line.strip()]
    at = text.find(new) if stays and len(before) + len(after) > 2 and len(new.strip()) >= _TELLING else -1
    return f"new_string is there already, in line {text.count(chr(10), 0, at) + 1}" if at >= 0 else None


def _as_resembling(text: str, old: str) -> str:
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    anchor = wanted[0].strip()
    anchors = [number for number, line in enumerate(lines) if anchor and anchor in line][:_MOST_ANCHORS]
    if anchors:
        first = max(anchors, key=lambda number: _alike(lines, number, wanted))
        return f"the beginning of it is there: {_first_difference(lines[first:], wanted, first)}"
    number = _most_similar(lines, anchor[:_SHOWN])
    if number is None:
        return "no line is like its first one; read_file shows what is there"
    return f"most like its first line is line {number + 1}: {_shown(lines[number])}"


def _alike(lines: list[str], first: int, wanted: list[str]) -> int:
    pairs = zip(islice(lines, first, first + _MOST_ALIKE), wanted, strict=False)
    return next((n for n, (line, other) in enumerate(pairs) if n and line.strip() != other.strip()), len(wanted))


def _first_difference(lines: list[str], wanted: list[str], first: int) -> str:
    """The first of the wanted lines that is not as in the file; the first and the last may be parts of a line."""
    for number, other in enumerate(wanted):
        line = lines[number] if number < len(lines) else None
        if line is None:
            return f"the file ends before line {first + number + 1}, where old_string has {_shown(other)}"
        is_first, is_last = number == 0, number == len(wanted) - 1
        same = (
            other in line if is_first and is_last
            else line.endswith(other) if is_first
            else line.startswith(other) if is_last
            else line == other
        )  # fmt: skip
        if not same:
            return f"line {first + number + 1} is {_shown(line)}, but old_string has {_shown(other)}"
    return f"see line {first + 1}"


def _most_similar(lines: list[str], anchor: str) -> int | None:
    """The line that shares most words, and is alike by its letters: a few are compared, whatever the file's size."""
    words = set(re.findall(r"\w+", anchor))
    shared = ((len(words.intersection(re.findall(r"\w+", line[:_SHOWN]))), -n) for n, line in enumerate(lines))
    candidates = [-n for count, n in nlargest(_MOST_COMPARED, shared) if count]
    likeness = {n: SequenceMatcher(None, lines[n].strip()[:_SHOWN], anchor).ratio() for n in candidates}
    best = max(likeness, key=likeness.__getitem__, default=None)
    return best if best is not None and likeness[best] > 0.5 else None


def _shown(line: str) -> str:
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}...")
