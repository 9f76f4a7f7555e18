"""Unified diffs, as `diff -u` and `git diff` print them."""

from __future__ import annotations

import re
from typing import NamedTuple

from tools_filesystem._writing._near_miss import quoted
from tools_filesystem._writing._patch._sections import BLANK, Hunk, Section, hunk_of, refuse

_NUMBERS = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+\d")
_NOWHERE = "/dev/null"
_GIT_LINES = ("index ", "similarity index ", "dissimilarity index ", "new file mode ", "deleted file mode ")
_REFUSED = {
    "old mode ": "patches do not change file modes; use chmod",
    "copy from ": "patches do not copy files; use copy_path",
    "GIT binary patch": "binary patches are not supported",
    "Binary files ": "binary patches are not supported",
}


class _Header(NamedTuple):
    """The lines above the first hunk of a file: their numbers, and the names by `---`, `+++` and git's keywords."""

    number: int
    end: int
    names: dict[str, str]
    is_executable: bool


def parse_unified(lines: list[str]) -> list[Section]:
    """Return the sections of a unified diff; the line counts of hunks are ignored."""
    sections: list[Section] = []
    at = 0
    while at < len(lines):
        if _is_header(lines, at):
            header = _header(lines, at)
            hunks, at = _hunks(lines, header.end)
            sections.append(_section(header, hunks))
        elif not lines[at].strip() or lines[at].startswith(("diff ", "Index: ", "=====")):
            at += 1
        else:
            reason = f"{quoted(lines[at])} is not part of a unified diff; hunk lines begin with ' ', '-' or '+'"
            refuse(at + 1, reason)
    return sections


def _is_header(lines: list[str], at: int) -> bool:
    """Return whether a file begins at a line; a removed line `-- x` looks almost like a header."""
    if lines[at].startswith("diff --git "):
        return True
    beginnings = ("--- ", "+++ ", "@@")
    return at + 1 < len(lines) and all(map(str.startswith, lines[at : at + 3], beginnings))


def _header(lines: list[str], at: int) -> _Header:
    first, names, is_executable = at, dict[str, str](), False
    at += lines[at].startswith("diff --git ")
    while at < len(lines):
        line = lines[at].rstrip("\r")
        keyword = next((word for word in ("--- ", "+++ ", "rename from ", "rename to ") if line.startswith(word)), None)
        for word, reason in _REFUSED.items():
            if line.startswith(word):
                refuse(at + 1, reason)
        if keyword is not None:
            names[keyword.strip()] = _path(line.removeprefix(keyword), at + 1)
        elif not line.startswith((*_GIT_LINES, "new mode ")):
            break
        is_executable |= line == "new file mode 100755"
        if line.endswith(("120000", "160000")) and " mode " in line:
            refuse(at + 1, "links and submodules are not supported: a patch changes regular files")
        at += 1
    return _Header(first + 1, at, names, is_executable)


def _hunks(lines: list[str], at: int) -> tuple[tuple[Hunk, ...], int]:
    hunks: list[Hunk] = []
    while at < len(lines) and (lines[at].startswith("@@") or lines[at] in BLANK):
        end = at + 1
        while end < len(lines) and (lines[end] in BLANK or lines[end][0] in " +-\\") and not _is_header(lines, end):
            end += 1
        if lines[at] not in BLANK:
            numbers = _NUMBERS.match(lines[at])
            start = int(numbers[1]) if numbers else None
            hunks.append(hunk_of(at + 1, enumerate(lines[at + 1 : end], at + 2), start=start))
        at = end if lines[at] not in BLANK else at + 1
    return tuple(hunks), at


def _section(header: _Header, hunks: tuple[Hunk, ...]) -> Section:
    """Return the section of a header and the hunks below it."""
    number, names = header.number, header.names
    if "rename from" in names or "rename to" in names:
        old, new = names.get("rename from"), names.get("rename to")
        if not old or not new:
            refuse(number, "a rename has both lines, 'rename from PATH' and 'rename to PATH'")
        return Section(number, "update", old, hunks, new)
    old, new = _names(header)
    if not hunks:
        refuse(number, "no hunk follows: '@@ -START,COUNT +START,COUNT @@', then its lines")
    if old == _NOWHERE:
        if len(hunks) != 1 or any(hunks[0].old):
            refuse(number, "a new file has one hunk, with only lines that begin with '+'")
        note = f"{new!r} is not executable yet; use chmod" if header.is_executable else ""
        return Section(number, "add", new, hunks, note=note)
    if new == _NOWHERE:
        if any(any(hunk.new) for hunk in hunks):
            refuse(number, "a deleted file has only lines that begin with '-'")
        return Section(number, "delete", old, hunks, shows_all=True)
    return Section(number, "update", old, hunks)


def _names(header: _Header) -> tuple[str, str]:
    """Return the names of `---` and `+++`, without git's `a/` and `b/` if both have them."""
    number, old, new = header.number, header.names.get("---"), header.names.get("+++")
    if not old or not new:
        refuse(number, "'--- PATH' and '+++ PATH' must come before the hunks")
    if old == new == _NOWHERE:
        refuse(number, "one of the two names must be a file of the workspace")
    if all(name.startswith(prefix) or name == _NOWHERE for name, prefix in ((old, "a/"), (new, "b/"))):
        old, new = (name if name == _NOWHERE else name[2:] for name in (old, new))
    if old != new and _NOWHERE not in (old, new):
        refuse(number, f"{old!r} and {new!r} differ: a rename needs git's lines 'rename from' and 'rename to'")
    return old, new


def _path(text: str, number: int) -> str:
    """Return the file name of a header line, without its time stamp."""
    if text.startswith('"'):
        refuse(number, f"quoted names are not supported: write {text} as it is, without quotes and escapes")
    return text.partition("\t")[0]
