"""From old and new strings to the bytes that change: exact, and nothing is guessed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError
from tools_filesystem._edit._near_miss import near_miss
from tools_filesystem._edit._splice import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_filesystem._edit._text_file import TextFile
    from tools_filesystem._read._encoding import Encoding

_MOST = 100_000  # replacements of one edit
_COUNTED = 1000  # matches that are counted for a message
_NAMED = 10  # lines that a message names


class Edit(NamedTuple):
    """One replacement; `label` is how messages call it when there are several."""

    old: str
    new: str
    replace_all: bool
    occurrence: int | None
    label: str


class _Variant(NamedTuple):
    """A way in which the old string may be written in the file."""

    encoding: Encoding
    crlf: bool


def check_edit(edit: Edit) -> None:
    """Refuse what would change nothing, or could be anywhere."""
    if not edit.old:
        problem = "old_string must not be empty: to insert, repeat the text beside the place in both strings"
    elif edit.old == edit.new:
        problem = "old_string and new_string are the same, so nothing would change"
    elif edit.replace_all and edit.occurrence is not None:
        problem = "replace_all and occurrence exclude each other"
    else:
        return
    raise ToolError(edit.label + problem, "validation_error")


def resolve(file: TextFile, edits: Sequence[Edit]) -> list[Span]:
    """What changes in the file as it is, in ascending order; ToolError `conflict` when an edit does not fit it.

    No edit sees what another one does; edits that overlap are refused.
    """
    spans = sorted((span, edit.label) for edit in edits for span in _spans(file, edit))
    for (first, label), (second, other) in pairwise(spans):
        if second.start < first.end:
            line = file.lines_of([second.start])[0]
            message = f"{label.rstrip(': ')} and {other.rstrip(': ')} overlap in line {line}; make them one edit"
            raise ToolError(message, "conflict")
    return [span for span, _ in spans]


def _spans(file: TextFile, edit: Edit) -> list[Span]:
    for variant in _variants(file, edit.old):
        wanted = _written(edit.old, variant)
        positions = _chosen(file, edit, wanted)
        if positions:
            break
    else:
        hint = near_miss(file, edit.old, edit.new)
        raise ToolError(f"{edit.label}old_string is not in {file.path!r}; {hint}", "conflict")
    new = {crlf: _encoded_new(file, edit, variant._replace(crlf=crlf)) for crlf in (False, True)}
    if new[variant.crlf] == wanted:
        problem = "new_string is what the file has there already, because its lines end with CRLF: nothing would change"
        raise ToolError(edit.label + problem, "conflict")
    follows = "\n" in edit.new and "\n" not in edit.old  # nothing tells how its lines end, but those around it
    return [
        Span(at, at + len(wanted), new[file.ends_lines_with_crlf(at) if follows else variant.crlf])
        for at in positions
    ]  # fmt: skip


def _variants(file: TextFile, old: str) -> list[_Variant]:
    """Exactly as it is, then with the line endings and in the encoding that the file may have."""
    endings = (False, True) if "\n" in old.replace("\r\n", "") else (False,)
    encodings = [file.encoding]
    if not old.isascii() and not file.encoding.mark:
        other = file.other_encoding()
        encodings += [other] if other is not None else []
    variants = [_Variant(encoding, crlf) for encoding in encodings for crlf in endings]
    return [variant for variant in variants if _can_write(old, variant)]


def _chosen(file: TextFile, edit: Edit, wanted: bytes) -> Sequence[int]:
    """The positions to replace; empty when there are none at all."""
    if edit.replace_all:
        positions = file.find(wanted, _MOST + 1, overlapping=False)
        if len(positions) > _MOST:
            message = f"{edit.label}old_string is in more than {_MOST} places, the most that one edit replaces"
            raise ToolError(f"{message}; take a longer old_string", "limit_exceeded")
        return positions
    if edit.occurrence is not None:
        positions = file.find(wanted, min(edit.occurrence, _MOST))
        if positions and len(positions) < edit.occurrence:
            message = f"{edit.label}old_string has no occurrence {edit.occurrence}: {_places(file, positions)}"
            raise ToolError(message, "conflict")
        return positions[-1:]
    positions = file.find(wanted, _COUNTED)
    if len(positions) > 1:
        fix = "add lines around it to old_string until it is unique, or pass occurrence (1 is the first) or replace_all"
        raise ToolError(f"{edit.label}old_string is not unique: {_places(file, positions)}; {fix}", "conflict")
    return positions


def _places(file: TextFile, positions: Sequence[int]) -> str:
    count = f"at least {_COUNTED}" if len(positions) >= _COUNTED else str(len(positions))
    lines = ", ".join(map(str, file.lines_of(positions[:_NAMED])))
    more = " ..." if len(positions) > _NAMED else ""
    return f"{file.path!r} has it {count} times, at line {lines}{more}"


def _encoded_new(file: TextFile, edit: Edit, variant: _Variant) -> bytes:
    if edit.old.isascii() and not edit.new.isascii():  # nothing yet tells how the file writes such characters
        variant = variant._replace(encoding=file.other_encoding() or variant.encoding)
    return _encoded(file, edit.new, variant, edit.label)


def _encoded(file: TextFile, text: str, variant: _Variant, label: str) -> bytes:
    try:
        return _written(text, variant)
    except UnicodeEncodeError as error:
        wrong = text[error.start : error.end]
        message = f"{label}{wrong!r} cannot be written in {variant.encoding.name}, the encoding of {file.path!r}"
        raise ToolError(message, "validation_error") from error


def _can_write(text: str, variant: _Variant) -> bool:
    try:
        _written(text, variant)
    except UnicodeEncodeError:
        return False
    return True


def _written(text: str, variant: _Variant) -> bytes:
    if variant.crlf:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return variant.encoding.encoded(text)
