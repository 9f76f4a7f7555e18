"""Unified diffs, as `diff -u` and `git diff` write them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tools_filesystem._writing._patch._sections import Hunk, HunkBuilder, Section, refuse, shown

if TYPE_CHECKING:
    from typing import NoReturn

_HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_QUOTED = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_NOWHERE = "/dev/null"
_MODES = {"100644": False, "100755": True}
_REMARKS = ("index ", "similarity index ", "dissimilarity index ")


def parse_unified(lines: list[str]) -> list[Section]:
    """The sections of a unified diff."""
    reader = _Unified(lines)
    found: list[Section] = []
    while reader.position < len(lines):
        line = lines[reader.position]
        if line.startswith(("diff --git ", "--- ")):
            found.append(reader.section())
        elif not line.strip() or line.startswith(("diff ", "Index: ", "=====")):
            reader.position += 1
        else:
            reason = f"{shown(line)} does not belong to a unified diff; hunk lines begin with ' ', '-' or '+'"
            refuse(reader.position + 1, reason)
    return found


class _Files:
    """The header lines of a file, above its first hunk."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.old: str | None = None
        self.new: str | None = None
        self.is_new = self.is_deleted = False
        self.renamed_from: str | None = None
        self.renamed_to: str | None = None
        self.executable: bool | None = None

    def settle_names(self) -> None:
        """Take off git's prefixes; where there are lines about a rename, which have none, these must say the same."""
        given = self.old, self.new
        self._strip_prefixes()
        renamed = self.renamed_from, self.renamed_to
        if renamed == (None, None):
            return
        if None not in given and renamed not in (given, (self.old, self.new)):
            self._refuse_contradiction()
        self.old, self.new = renamed

    def _strip_prefixes(self) -> None:
        """Take off git's `a/` and `b/`, only when both sides have theirs."""
        old, new = self.old, self.new
        if old is None or new is None:
            return
        if (old == _NOWHERE or old.startswith("a/")) and (new == _NOWHERE or new.startswith("b/")):
            self.old = old if old == _NOWHERE else old[2:]
            self.new = new if new == _NOWHERE else new[2:]

    def section(self, hunks: tuple[Hunk, ...]) -> Section:
        old, new = self.old, self.new
        if old is None or new is None:
            refuse(self.number, "the file has no name: '--- PATH' and '+++ PATH' come before the hunks")
        if old == new == _NOWHERE or not old or not new:
            refuse(self.number, "one of the two names must be a file of the workspace")
        if self._contradicts(old, new):
            self._refuse_contradiction()
        if self.is_new or old == _NOWHERE:
            return self._added(new, hunks)
        if self.is_deleted or new == _NOWHERE:
            if any(hunk.count(" ") or hunk.count("+") for hunk in hunks):
                refuse(self.number, "a deleted file has only lines that begin with '-'")
            return Section(self.number, "delete", old, hunks, exact=True)
        if self.renamed_from is None and old != new:
            reason = f"{old!r} and {new!r} differ: a rename is written with git's lines 'rename from' and 'rename to'"
            refuse(self.number, reason)
        moved = new if old != new else None
        if not hunks and moved is None and self.executable is None:
            refuse(self.number, "no hunk follows: '@@ -START,COUNT +START,COUNT @@', then its lines")
        return Section(self.number, "update", old, hunks, moved, self.executable)

    def _contradicts(self, old: str, new: str) -> bool:
        is_renamed = self.renamed_from is not None or self.renamed_to is not None
        if self.is_new and (self.is_deleted or is_renamed or new == _NOWHERE or old not in (_NOWHERE, new)):
            return True
        return self.is_deleted and (is_renamed or old == _NOWHERE or new not in (_NOWHERE, old))

    def _refuse_contradiction(self) -> NoReturn:
        refuse(self.number, "its header lines contradict each other: is a file new, deleted or renamed, and which?")

    def _added(self, new: str, hunks: tuple[Hunk, ...]) -> Section:
        if len(hunks) > 1 or any(hunk.old for hunk in hunks):
            refuse(self.number, "a new file has one hunk, '@@ -0,0 +1,COUNT @@', and only lines that begin with '+'")
        return Section(self.number, "add", new, hunks, executable=self.executable)


class _Unified:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.position = 0

    def section(self) -> Section:
        files = _Files(self.position + 1)
        if self.lines[self.position].startswith("diff --git "):
            self._git(files)
        if self._starts("--- "):
            self._names(files)
        files.settle_names()
        hunks: list[Hunk] = []
        while self._starts("@@"):
            hunks.append(self._hunk())
        return files.section(tuple(hunks))

    def _starts(self, beginning: str) -> bool:
        return self.position < len(self.lines) and self.lines[self.position].startswith(beginning)

    def _names(self, files: _Files) -> None:
        self.position += 1
        if not self._starts("+++ "):
            refuse(self.position + 1, "'+++ PATH' follows '--- PATH'")
        files.old = _path(self.lines[self.position - 1][4:], self.position)
        files.new = _path(self.lines[self.position][4:], self.position + 1)
        self.position += 1

    def _git(self, files: _Files) -> None:
        files.old, files.new = _git_names(self.lines[self.position][len("diff --git ") :])
        self.position += 1
        while self.position < len(self.lines):
            line = self.lines[self.position].rstrip("\r")
            if not self._git_line(files, line):
                return
            self.position += 1

    def _git_line(self, files: _Files, line: str) -> bool:
        number = self.position + 1
        words = line.split(" ")
        if line.startswith(("new file mode ", "deleted file mode ", "old mode ", "new mode ")):
            if words[-1] not in _MODES:
                refuse(number, f"mode {words[-1]} is not supported: only regular files are patched (100644, 100755)")
            files.is_new |= line.startswith("new file")
            files.is_deleted |= line.startswith("deleted")
            if words[0] == "new":
                files.executable = _MODES[words[-1]]
        elif line.startswith("rename from "):
            files.renamed_from = _path(line[len("rename from ") :], number)
        elif line.startswith("rename to "):
            files.renamed_to = _path(line[len("rename to ") :], number)
        elif line.startswith(("GIT binary patch", "Binary files ")):
            refuse(number, "binary patches are not supported")
        elif line.startswith(("copy from ", "copy to ")):
            refuse(number, "a patch copies no files: copy_path does")
        else:
            return line.startswith(_REMARKS)
        return True

    def _hunk(self) -> Hunk:
        """Read a hunk by the counts of its header, or where these are wrong, as far as its lines go."""
        number = self.position + 1
        header = _HEADER.match(self.lines[self.position])
        self.position += 1
        end = None if header is None else self._counted(int(header[2] or 1), int(header[4] or 1))
        if end is None or self._is_content(end):
            end = self._as_far_as_it_goes()
        hunk = HunkBuilder(number, int(header[1]) if header is not None else None)
        while self.position < end:
            if not hunk.add(self.position + 1, self.lines[self.position]):
                refuse(self.position + 1, f"{shown(self.lines[self.position])} begins with neither ' ', '-' nor '+'")
            self.position += 1
        return hunk.finish()

    def _counted(self, old: int, new: int) -> int | None:
        """Return where the hunk ends by its counts; None if they do not fit its lines."""
        at = self.position
        while old > 0 or new > 0:
            line = self.lines[at] if at < len(self.lines) else "end"
            kind = " " if line in ("", "\r") else line[0]
            if kind not in " -+\\":
                return None
            old -= kind in " -"
            new -= kind in " +"
            at += 1
        while self._starts_at(at, "\\"):
            at += 1
        return at if old == new == 0 else None

    def _as_far_as_it_goes(self) -> int:
        at = self.position
        while self._is_content(at) or self._starts_at(at, "\\") or (self._is_blank(at) and self._is_content(at + 1)):
            at += 1
        return at

    def _is_content(self, position: int) -> bool:
        """Return whether a line would be one of a hunk, judged without its counts."""
        if position >= len(self.lines) or not self.lines[position].startswith((" ", "+", "-")):
            return False
        following = self.lines[position + 1] if position + 1 < len(self.lines) else ""
        return not (self.lines[position].startswith("--- ") and following.startswith("+++ "))

    def _is_blank(self, position: int) -> bool:
        return position < len(self.lines) and self.lines[position] in ("", "\r")

    def _starts_at(self, position: int, beginning: str) -> bool:
        return position < len(self.lines) and self.lines[position].startswith(beginning)


def _path(text: str, number: int) -> str:
    """A file name of a header line, without its time stamp and its quotes."""
    text = text.rstrip("\r")
    if not text.startswith('"'):
        return text.split("\t")[0]
    end = _closing(text)
    if end < 0:
        refuse(number, f"{shown(text)} lacks its closing quote")
    return _unquoted(text[1:end])


def _git_names(text: str) -> tuple[str | None, str | None]:
    """Both names of a `diff --git` line; without quotes they are told apart only when they are the same."""
    text = text.rstrip("\r")
    if text.startswith('"'):
        end = _closing(text)
        rest = text[end + 2 :]
        if end < 0 or not rest.startswith('"') or _closing(rest) < 0:
            return None, None
        return _unquoted(text[1:end]), _unquoted(rest[1 : _closing(rest)])
    middle = len(text) // 2
    old, new = text[:middle], text[middle + 1 :]
    if text[middle : middle + 1] == " " and (old == new or (old[:2], new[:2], old[2:]) == ("a/", "b/", new[2:])):
        return old, new
    return None, None


def _closing(text: str) -> int:
    """Where the quote that the text begins with is closed; -1 for nowhere."""
    position = 1
    while position < len(text) and text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position if position < len(text) else -1


def _unquoted(text: str) -> str:
    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255]) if len(code) == 3 else _ESCAPES.get(code, code)

    return os.fsdecode(_QUOTED.sub(plain, text.encode()))
