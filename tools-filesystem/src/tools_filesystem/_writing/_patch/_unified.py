"""Unified diffs, as `diff -u`, `git diff`, `git show` and `git format-patch` print them."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from tools_filesystem._writing._near_miss import quoted
from tools_filesystem._writing._patch._headers import Header, header_at, is_header, section_of
from tools_filesystem._writing._patch._sections import BLANK, Hunk, Section, hunk_of, refuse

NUMBERS = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_COUNTED = re.compile(r"@@\s*-\d")
_MAIL = (
    "From ",
    "From: ",
    "Date: ",
    "Subject: ",
    "commit ",
)  # what `git format-patch` and `git show` print above a diff
_BETWEEN = ("Index: ", "=====", "diff ", "Only in ", "base-commit: ", "prerequisite-patch-id: ")
_END_OF_MAIL = re.compile(r"--|-{12,}\S*")  # of text, or of an attachment


class _Counts(NamedTuple):
    """The numbers of a hunk's header: the first old line, and how many lines are old and new."""

    start: int
    old: int
    new: int


def parse_unified(lines: list[str]) -> list[Section]:
    """Return the sections of a unified diff; ToolError unless each hunk has the lines that its header announces."""
    sections: list[Section] = []
    at, in_mail = 0, False
    while at < len(lines):
        line = lines[at]
        if is_header(lines, at):
            header: Header
            header, at = header_at(lines, at)
            hunks, at = _hunks(lines, at)
            sections.append(section_of(header, hunks))
            in_mail = False
        elif in_mail or not line.strip() or line.startswith(_BETWEEN):
            at += 1
        elif line.startswith(_MAIL) or (sections and _END_OF_MAIL.fullmatch(line.rstrip())):
            in_mail = True
            at += 1
        else:
            reason = f"{quoted(line)} is not part of a unified diff; hunk lines begin with ' ', '-' or '+'"
            refuse(at + 1, reason)
    return sections


def _hunks(lines: list[str], at: int) -> tuple[tuple[Hunk, ...], int]:
    hunks: list[Hunk] = []
    while at < len(lines) and (lines[at].startswith("@@") or lines[at] in BLANK):
        if lines[at] in BLANK:
            at += 1
            continue
        counts = _counts(lines[at], at + 1)
        end = _open_end(lines, at + 1) if counts is None else _counted_end(lines, at + 1, counts)
        start = None if counts is None else counts.start
        hunks.append(hunk_of(at + 1, enumerate(lines[at + 1 : end], at + 2), start=start))
        at = end
    return tuple(hunks), at


def _counts(line: str, number: int) -> _Counts | None:
    """Return the numbers of a hunk's header; None if it has none."""
    match = NUMBERS.match(line)
    if match is not None:
        start, old, _, new = (1 if group is None else int(group) for group in match.groups())
        return _Counts(start, old, new)
    if line.startswith("@@@"):
        refuse(number, "this is a combined diff of a merge; send the diff against one parent")
    if _COUNTED.match(line):
        refuse(number, f"{quoted(line)} is not a hunk header: '@@ -START,COUNT +START,COUNT @@'")
    return None


def _open_end(lines: list[str], at: int) -> int:
    """Return where the lines of a hunk end that has no counts."""
    while at < len(lines) and (lines[at] in BLANK or lines[at][0] in " +-\\") and not is_header(lines, at):
        at += 1
    return at


def _counted_end(lines: list[str], first: int, counts: _Counts) -> int:
    """Return where the announced lines of a hunk end; ToolError if there are fewer or more."""
    at, old, new = first, counts.old, counts.new
    while old > 0 or new > 0:
        kind = "" if at == len(lines) else " " if lines[at] in BLANK else lines[at][0]
        if kind != "\\":
            old -= kind != "+"
            new -= kind != "-"
        if kind not in (" ", "+", "-", "\\") or min(old, new) < 0:
            _refuse_counts(lines, first, counts)
        at += 1
    while at < len(lines) and lines[at].startswith("\\"):
        at += 1
    is_more = at < len(lines) and lines[at] not in BLANK and lines[at][0] in " +-"
    if is_more and lines[at].rstrip() != "--" and not is_header(lines, at):
        _refuse_counts(lines, first, counts)
    return at


def _refuse_counts(lines: list[str], first: int, counts: _Counts) -> NoReturn:
    body = lines[first : _open_end(lines, first)]
    while body and body[-1] in BLANK:
        body.pop()
    old, new = (sum(line in BLANK or line[0] in (" ", kind) for line in body) for kind in "-+")
    reason = f"this hunk announces {counts.old} old and {counts.new} new lines, but has {old} and {new}"
    fix = "the diff is cut off, or its counts are wrong: send all lines, or use '*** Begin Patch', which has no counts"
    refuse(first, f"{reason}; {fix}")
