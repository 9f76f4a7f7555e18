"""A second try for text that does not occur exactly: other indentation, blanks, typography, or line numbers."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from tools_filesystem._writing._line_endings import places_of
from tools_filesystem._writing._near_miss import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_filesystem._writing._text import Text

_MAX_SIZE = 2 << 20  # bytes of a file
_WIDTHS = (4, 2, 8, 3)  # of a tab, if the lines do not tell
_CHARACTERS = {code: char for code, char in PLAIN.items() if len(char) == 1}  # so that positions stay
_NUMBER = re.compile(r" {0,8}(\d{1,9})\t")
_MAX_MATCHES = 100
_NUMBERED = "the line numbers of read_file were removed: they are not in the file"
_TYPOGRAPHY = "quotes, dashes or spaces are other characters in the file"
_COMPOSED = "characters with accents are composed otherwise in the file, and new_string was changed like it"
_LINE_ENDS = "blanks at line ends or typographic characters differ in the file"
_INDENTATION = "the indentation differs in the file, and new_string was indented like it"


class Match(NamedTuple):
    """A place that is alike: its bytes, the text that goes there, and what differs."""

    start: int
    end: int
    new: str
    note: str


class _Line(NamedTuple):
    start: int
    end: int  # without the line ending
    next: int
    text: str


def tolerant(text: Text, old: str, new: str) -> list[Match]:
    """Return the places that differ least; an empty list for a large file."""
    if len(text.data) > _MAX_SIZE or not old.strip() or "\r" in old:
        return []
    bare = _without_numbers(old)
    if bare is not None:
        return _exact(text, bare, _without_numbers(new) or new, _NUMBERED)
    forms = (_exact(text, normalize(form, old), normalize(form, new), _COMPOSED) for form in ("NFC", "NFD"))
    if composed := next(filter(None, forms), None):
        return composed
    lines = list(_lines(text))
    if "\n" not in old:
        matches = [match for line in lines for match in _inside(text, line, old, new)]
        if matches:
            return matches
    wanted = old.split("\n")
    has_end = len(wanted) > 1 and not wanted[-1]
    if has_end:
        wanted.pop()
    folds, folded = [_fold(line.text) for line in lines], [_fold(line) for line in wanted]
    found = [lines[at : at + len(wanted)] for at in _equal(folds, folded)]
    if found:
        return [_match(some, new, _LINE_ENDS, has_end=has_end) for some in found if _ends_as(some, has_end=has_end)]
    places = _equal([fold.strip(" \t") for fold in folds], [fold.strip(" \t") for fold in folded])
    matches = []
    for at in places:
        some = lines[at : at + len(wanted)]
        indented = _reindented([line.text for line in some], wanted, new)
        if indented is not None and _ends_as(some, has_end=has_end):
            matches.append(_match(some, indented, _INDENTATION, has_end=has_end))
    return matches


def _without_numbers(text: str) -> str | None:
    """Return text without the line numbers that read_file shows; None if it has none, or others."""
    lines = text.split("\n")
    ends = lines[-1:] if len(lines) > 1 and not lines[-1] else []
    matches = [_NUMBER.match(line) for line in lines[: len(lines) - len(ends)]]
    numbers = [int(match[1]) for match in matches if match is not None]
    if len(numbers) < len(matches) or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    return "\n".join([line.partition("\t")[2] for line in lines[: len(matches)]] + ends)


def _exact(text: Text, old: str, new: str, note: str) -> list[Match]:
    try:
        places = places_of(text.data, text.encoded(old), overlapping=True) if old else ()
    except UnicodeEncodeError:
        return []
    return [Match(start, end, new, note) for start, end in islice(places, _MAX_MATCHES)]


def _lines(text: Text) -> Iterator[_Line]:
    """Yield the lines; one with bytes that are not text is no line that can be found."""
    start = 0
    for line in text.data.split(b"\n"):
        bare = line.removesuffix(b"\r")
        try:
            shown = bare.decode(text.codec)
        except UnicodeDecodeError:
            shown = "\0"
        yield _Line(start, start + len(bare), min(start + len(line) + 1, len(text.data)), shown)
        start += len(line) + 1


def _fold(line: str) -> str:
    return line.translate(PLAIN).rstrip(" \t")


def _inside(text: Text, line: _Line, old: str, new: str) -> Iterator[Match]:
    """Yield the places in a line that differ in characters alone."""
    plain, wanted = line.text.translate(_CHARACTERS), old.translate(_CHARACTERS)
    at = plain.find(wanted)
    while at >= 0:
        start = line.start + len(text.encoded(line.text[:at]))
        yield Match(start, start + len(text.encoded(line.text[at : at + len(old)])), new, _TYPOGRAPHY)
        at = plain.find(wanted, at + 1)


def _equal(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    first, count = wanted[0], len(wanted)
    return [
        at
        for at in range(len(lines) - count + 1)
        if lines[at] == first and list(lines[at : at + count]) == list(wanted)
    ]


def _ends_as(found: Sequence[_Line], *, has_end: bool) -> bool:
    """Return whether the last line has a line ending, if the old text ends with one."""
    return not has_end or found[-1].next > found[-1].end


def _match(found: Sequence[_Line], new: str, note: str, *, has_end: bool) -> Match:
    return Match(found[0].start, found[-1].next if has_end else found[-1].end, new, note)


def _reindented(found: Sequence[str], old: Sequence[str], new: str) -> str | None:
    """Return `new` with the indentation of the file; None if the lines are not indented alike."""
    pairs = [(_indent(line), _indent(other)) for line, other in zip(found, old, strict=True) if other.strip()]
    theirs, ours = "".join(there for there, _ in pairs), "".join(here for _, here in pairs)
    lines = new.split("\n")
    if "\t" in theirs and " " not in theirs and "\t" not in ours:
        for width in _tab_widths(pairs):
            converted = [(there, "\t" * (len(here) // width) + " " * (len(here) % width)) for there, here in pairs]
            if (shift := _shift(converted)) is not None:
                return "\n".join(_moved(_with_tabs(line, width), *shift) for line in lines)
        return None
    if "\t" in ours and " " not in ours and "\t" not in theirs:
        for width in _tab_widths([(here, there) for there, here in pairs]):
            converted = [(there, here.expandtabs(width)) for there, here in pairs]
            if (shift := _shift(converted)) is not None:
                return "\n".join(_moved(_indent(line).expandtabs(width) + line.lstrip(" \t"), *shift) for line in lines)
        return None
    shift = _shift(pairs)
    return None if shift is None else "\n".join(_moved(line, *shift) for line in lines)


def _tab_widths(pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Return the likely widths of a tab, given indentations in tabs and in spaces."""
    exact = [len(spaces) // len(tabs) for tabs, spaces in pairs if tabs and spaces and len(spaces) % len(tabs) == 0]
    return list(dict.fromkeys([*(width for width in exact[:1] if width > 1), *_WIDTHS]))


def _shift(pairs: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Return what precedes the common rest of each pair of indentations; None unless it is the same for all."""
    shortest = min(pairs, key=lambda pair: len(pair[1]))
    there, here = shortest
    is_same = all(one.startswith(there) and other == here + one[len(there) :] for one, other in pairs)
    return (there, here) if is_same else None


def _moved(line: str, there: str, here: str) -> str:
    """Return a line with the indentation `there` for `here`; one that is indented less keeps the difference."""
    indent = _indent(line)
    if not line.strip():
        return line
    if indent.startswith(here):
        return there + line.removeprefix(here)
    less = len(here) - len(indent)
    return there[: max(0, len(there) - less)] + line.lstrip(" \t")


def _with_tabs(line: str, width: int) -> str:
    indent = _indent(line)
    return "\t" * (len(indent) // width) + " " * (len(indent) % width) + line[len(indent) :]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
