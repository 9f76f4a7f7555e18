"""Unified diffs, as `diff -u` and `git diff` write them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import NoReturn

from tools_filesystem._writing._near_miss import shown
from tools_filesystem._writing._patch._sections import BLANK, Hunk, Section, hunk_of, refuse

_HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_NOWHERE = "/dev/null"
_MODES = {"100644": False, "100755": True}
_REMARKS = ("index ", "similarity index ", "dissimilarity index ")


def parse_unified(lines: list[str]) -> list[Section]:
    """Return the sections of a unified diff."""
    found: list[Section] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith(("diff --git ", "--- ")):
            files, at = _files(lines, at)
            hunks: list[Hunk] = []
            while _starts(lines, _behind_blanks(lines, at), "@@"):
                at = _behind_blanks(lines, at)
                end = _end_of_hunk(lines, at)
                header = _HEADER.match(lines[at])
                start = int(header[1]) if header is not None else None
                hunks.append(hunk_of(at + 1, enumerate(lines[at + 1 : end], at + 2), start=start))
                at = end
            found.append(files.section(tuple(hunks)))
        elif not lines[at].strip() or lines[at].startswith(("diff ", "Index: ", "=====")):
            at += 1
        else:
            reason = f"{shown(lines[at])} does not belong to a unified diff; hunk lines begin with ' ', '-' or '+'"
            refuse(at + 1, reason)
    return found


@dataclass(slots=True)
class _Files:
    """The header lines of a file, above its first hunk."""

    number: int
    old: str | None = None
    new: str | None = None
    is_new: bool = False
    is_deleted: bool = False
    renamed_from: str | None = None
    renamed_to: str | None = None
    executable: bool | None = None

    def take(self, line: str, number: int) -> bool:
        """Read one of git's header lines; False after the last one."""
        if line.startswith(("new file mode ", "deleted file mode ", "old mode ", "new mode ")):
            words = line.split(" ")
            if words[-1] not in _MODES:
                refuse(number, f"mode {words[-1]} is not supported: only regular files are patched (100644, 100755)")
            self.is_new |= line.startswith("new file")
            self.is_deleted |= line.startswith("deleted")
            if words[0] == "new":
                self.executable = _MODES[words[-1]]
        elif line.startswith("rename from "):
            self.renamed_from = _path(line[len("rename from ") :], number)
        elif line.startswith("rename to "):
            self.renamed_to = _path(line[len("rename to ") :], number)
        elif line.startswith(("GIT binary patch", "Binary files ")):
            refuse(number, "binary patches are not supported")
        elif line.startswith(("copy from ", "copy to ")):
            refuse(number, "a patch copies no files: copy_path does")
        else:
            return line.startswith(_REMARKS)
        return True

    def names(self) -> tuple[str, str]:
        """Return both names, without git's `a/` and `b/` if both have them."""
        old, new = given = self.old, self.new
        bare = _without(old, "a/"), _without(new, "b/")
        old, new = given if None in bare else bare
        renamed = self.renamed_from, self.renamed_to  # they have no prefixes
        if renamed != (None, None):
            if None in renamed or (None not in given and renamed not in (given, (old, new))):
                self.refuse_contradiction()
            old, new = renamed
        if old is None or new is None:
            refuse(self.number, "the file has no name: '--- PATH' and '+++ PATH' come before the hunks")
        if old == new == _NOWHERE or not old or not new:
            refuse(self.number, "one of the two names must be a file of the workspace")
        return old, new

    def section(self, hunks: tuple[Hunk, ...]) -> Section:
        """Return the section of the header lines and the hunks below."""
        number, (old, new) = self.number, self.names()
        is_new, is_deleted = self.is_new or old == _NOWHERE, self.is_deleted or new == _NOWHERE
        moved = new if old != new else None
        if (is_new and is_deleted) or ((is_new or is_deleted) and moved and _NOWHERE not in (old, new)):
            self.refuse_contradiction()
        if is_new:
            if len(hunks) > 1 or any(hunk.old for hunk in hunks):
                refuse(number, "a new file has one hunk, '@@ -0,0 +1,COUNT @@', with only lines that begin with '+'")
            return Section(number, "add", new, hunks, executable=self.executable)
        if is_deleted:
            if any(hunk.new for hunk in hunks):
                refuse(number, "a deleted file has only lines that begin with '-'")
            return Section(number, "delete", old, hunks, exact=True)
        if moved and self.renamed_from is None:
            reason = f"{old!r} and {new!r} differ: a rename is written with git's lines 'rename from' and 'rename to'"
            refuse(number, reason)
        if not hunks and moved is None and self.executable is None:
            refuse(number, "no hunk follows: '@@ -START,COUNT +START,COUNT @@', then its lines")
        return Section(number, "update", old, hunks, moved, self.executable)

    def refuse_contradiction(self) -> NoReturn:
        """Refuse header lines that contradict each other."""
        refuse(self.number, "its header lines contradict each other: is a file new, deleted or renamed, and which?")


def _files(lines: list[str], at: int) -> tuple[_Files, int]:
    """Read the header lines of a file, and return where they end."""
    files = _Files(at + 1)
    if lines[at].startswith("diff --git "):
        files.old, files.new = _git_names(lines[at][len("diff --git ") :].rstrip("\r"))
        at += 1
        while at < len(lines) and files.take(lines[at].rstrip("\r"), at + 1):
            at += 1
    if _starts(lines, at, "--- "):
        if not _starts(lines, at + 1, "+++ "):
            refuse(at + 2, "'+++ PATH' follows '--- PATH'")
        files.old, files.new = _path(lines[at][4:], at + 1), _path(lines[at + 1][4:], at + 2)
        at += 2
    return files, at


def _end_of_hunk(lines: list[str], at: int) -> int:
    """Return where a hunk ends by its header's counts, or, if these are wrong, by its lines."""
    header = _HEADER.match(lines[at])
    end = None if header is None else _counted(lines, at + 1, int(header[2] or 1), int(header[4] or 1))
    if end is not None and not _is_content(lines, _behind_blanks(lines, end)):
        return end
    at += 1
    # Empty lines at its end may as well separate it from what follows.
    while _is_content(lines, _behind_blanks(lines, at)) or _starts(lines, at, "\\"):
        at = _behind_blanks(lines, at) + 1
    return at


def _counted(lines: list[str], at: int, old: int, new: int) -> int | None:
    """Return where the hunk ends by its counts; None if they do not fit its lines."""
    while old > 0 or new > 0:
        kind = "" if at == len(lines) else " " if lines[at] in BLANK else lines[at][0]
        if kind not in (" ", "-", "+", "\\"):
            return None
        old -= kind in " -"
        new -= kind in " +"
        at += 1
    while _starts(lines, at, "\\"):
        at += 1
    return at if old == new == 0 else None


def _behind_blanks(lines: list[str], at: int) -> int:
    """Return where the first line that is not empty is, from a line on."""
    while at < len(lines) and lines[at] in BLANK:
        at += 1
    return at


def _is_content(lines: list[str], at: int) -> bool:
    """Return whether a line looks like a line of a hunk."""
    is_header = _starts(lines, at, "--- ") and _starts(lines, at + 1, "+++ ")
    return any(_starts(lines, at, kind) for kind in " +-") and not is_header


def _starts(lines: list[str], at: int, beginning: str) -> bool:
    return at < len(lines) and lines[at].startswith(beginning)


def _without(name: str | None, prefix: str) -> str | None:
    """Return a name without git's prefix; None if it has no prefix."""
    return name if name == _NOWHERE else name[2:] if name and name.startswith(prefix) else None


def _path(text: str, number: int) -> str:
    """Return the file name of a header line, without time stamp and quotes."""
    text = text.rstrip("\r")
    if not text.startswith('"'):
        return text.split("\t")[0]
    quoted = _QUOTED.match(text)
    if quoted is None:
        refuse(number, f"{shown(text)} lacks its closing quote")
    return _unquoted(quoted[1])


def _git_names(text: str) -> tuple[str | None, str | None]:
    """Return both names of a `diff --git` line; unquoted names can be separated only if they are equal."""
    quoted = _QUOTED.findall(text)
    if len(quoted) == 2:
        return _unquoted(quoted[0]), _unquoted(quoted[1])
    middle = len(text) // 2
    old, new = text[:middle], text[middle + 1 :]
    if text[middle : middle + 1] == " " and (old == new or (old[:2], new[:2], old[2:]) == ("a/", "b/", new[2:])):
        return old, new
    return None, None


def _unquoted(text: str) -> str:
    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255]) if len(code) == 3 else _ESCAPES.get(code, code)

    return os.fsdecode(_ESCAPE.sub(plain, text.encode()))
