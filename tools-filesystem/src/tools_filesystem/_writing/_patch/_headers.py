"""The headers above the hunks of a unified diff: names of files, and what git says about them."""

from __future__ import annotations

import os
import re
from datetime import datetime
from typing import NamedTuple

from tools_filesystem._paths._names import escaped
from tools_filesystem._writing._patch._sections import Hunk, Section, refuse

_NOWHERE = "/dev/null"
_NAMES = ("--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ")
_MODES = ("old mode ", "new mode ", "new file mode ", "deleted file mode ")
_REMARKS = ("index ", "similarity index ", "dissimilarity index ")
_INDEX = re.compile(r"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_EMPTY = (  # the hashes of no file and of an empty one, which may be shortened
    "0" * 64,
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
_REFUSED = {
    "GIT binary patch": "binary patches are not supported",
    "Binary files ": "binary patches are not supported",
}
_ABSENT = ("(nonexistent)", "(revision 0)")  # Subversion, instead of /dev/null
_BACKUPS = (".orig", ".old", ".bak", "~")  # `diff -u f.orig f`
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)")
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class Header(NamedTuple):
    """The lines above the first hunk: names and modes by their keywords, and the two names of `diff --git`.

    `has_content` is True if they announce hunks: the contents have other hashes, or are not quite similar. `absent` has
    the keywords of names whose time stamp says that there is no such file.
    """

    number: int
    names: dict[str, str]
    modes: dict[str, str]
    git: tuple[str, str] | None
    has_content: bool = False
    absent: frozenset[str] = frozenset()


def is_header(lines: list[str], at: int) -> bool:
    """Return whether a file begins at a line; a removed line `-- x` looks almost like a header."""
    if lines[at].startswith("diff --git "):
        return True
    beginnings = ("--- ", "+++ ", "@@")
    return at + 1 < len(lines) and all(map(str.startswith, lines[at : at + 3], beginnings))


def header_at(lines: list[str], at: int) -> tuple[Header, int]:
    """Return the header at a line, and the index of the line after it."""
    first, names, modes, absent = at, dict[str, str](), dict[str, str](), set[str]()
    git, has_content = None, False
    if lines[at].startswith("diff --git "):
        git = _git_names(lines[at].removeprefix("diff --git ").rstrip("\r"))
        at += 1
    while at < len(lines):
        line = lines[at].rstrip("\r")
        for word, reason in _REFUSED.items():
            if line.startswith(word):
                refuse(at + 1, reason)
        name = next((word for word in _NAMES if line.startswith(word)), None)
        mode = next((word for word in _MODES if line.startswith(word)), None)
        if name is not None:
            names[name.strip()] = _name(line.removeprefix(name))
            absent |= {name.strip()} if _is_absent(line) else set()
        elif mode is not None:
            modes[mode.strip()] = line.removeprefix(mode).strip()
        elif line.startswith(_REMARKS):
            has_content |= _announces_content(line)
        else:
            break
        if line.endswith(("120000", "160000")) and " mode " in line:
            refuse(at + 1, "links and submodules are not supported: a patch changes regular files")
        at += 1
    has_content |= not {"---", "+++"}.isdisjoint(names)
    return Header(first + 1, names, modes, git, has_content, frozenset(absent)), at


def _is_absent(line: str) -> bool:
    """Return whether a name has the time stamp of a missing file, which `diff -N` dates to 1970."""
    stamp = line.rpartition("\t")[2]
    try:
        return stamp in _ABSENT or datetime.fromisoformat(stamp.replace(" +", "+").replace(" -", "-")).timestamp() == 0
    except (ValueError, OverflowError, OSError):
        return False


def _announces_content(remark: str) -> bool:
    """Return whether git's remark on a file says that its content changes."""
    if match := _INDEX.match(remark):
        is_empty = all(any(empty.startswith(name) for empty in _EMPTY) for name in match.groups())
        return match[1] != match[2] and not is_empty
    return remark.startswith("similarity ") and not remark.endswith(" 100%")


def section_of(header: Header, hunks: tuple[Hunk, ...]) -> Section:
    """Return the section of a header and the hunks below it."""
    if header.has_content and not hunks:
        refuse(header.number, _NO_HUNK)
    for word in ("rename", "copy"):
        old, new = header.names.get(f"{word} from"), header.names.get(f"{word} to")
        if old and new:
            mode, is_copy = _is_executable(header), word == "copy"
            return Section(header.number, "update", old, hunks, new, is_copy=is_copy, is_executable=mode)
        if old or new:
            refuse(header.number, f"a {word} has both lines, '{word} from PATH' and '{word} to PATH'")
    old, new = _paths(header)
    if _NOWHERE not in (old, new):
        old = _NOWHERE if "---" in header.absent and not any(any(hunk.old) for hunk in hunks) else old
        new = _NOWHERE if "+++" in header.absent and not any(any(hunk.new) for hunk in hunks) else new
    return _section_of(header, hunks, old, new)


def _is_executable(header: Header) -> bool | None:
    mode = header.modes.get("new mode", header.modes.get("new file mode"))
    return None if mode is None else mode.endswith("755")


def _section_of(header: Header, hunks: tuple[Hunk, ...], old: str, new: str) -> Section:
    number, modes, is_executable = header.number, header.modes, _is_executable(header)
    if (old == _NOWHERE) < ("new file mode" in modes) or (new == _NOWHERE) < ("deleted file mode" in modes):
        refuse(number, "the names contradict the mode: a new or a deleted file has /dev/null on one side")
    if old == _NOWHERE:
        if len(hunks) > 1 or any(hunk.old != [b""] * hunk.is_marked for hunk in hunks if hunk.old):
            refuse(number, "a new file has one hunk, with only lines that begin with '+'")
        if not hunks and "new file mode" not in modes:
            refuse(number, _NO_HUNK)
        return Section(number, "add", new, hunks, is_executable=is_executable or None)
    if new == _NOWHERE:
        if any(any(hunk.new) for hunk in hunks):
            refuse(number, "a deleted file has only lines that begin with '-'")
        return Section(number, "delete", old, hunks, shows_all=True)
    if not hunks and "new mode" not in modes:
        refuse(number, _NO_HUNK)
    return Section(number, "update", old, hunks, is_executable=is_executable)


_NO_HUNK = "no hunk follows: '@@ -START,COUNT +START,COUNT @@', then its lines"


def _paths(header: Header) -> tuple[str, str]:
    """Return the old and the new path, one of which may be /dev/null."""
    number, old, new = header.number, header.names.get("---"), header.names.get("+++")
    if not old and not new and header.git is not None:  # an empty file, or another mode
        old = _NOWHERE if "new file mode" in header.modes else header.git[0]
        new = _NOWHERE if "deleted file mode" in header.modes else header.git[1]
    if not old or not new:
        refuse(number, "'--- PATH' and '+++ PATH' must come before the hunks")
    if old == new == _NOWHERE:
        refuse(number, "one of the two names must be a file of the workspace")
    if _has_prefixes(old, new, header.git):
        old, new = (name if name == _NOWHERE else name.partition("/")[2] for name in (old, new))
    if old != new and _NOWHERE not in (old, new):
        if old in [new + ending for ending in _BACKUPS]:
            return new, new
        inner = old.partition("/")[2]
        if not inner or inner != new.partition("/")[2]:  # else they are in two folders, as of `diff -r old new`
            refuse(number, f"{old!r} and {new!r} differ: a rename needs git's lines 'rename from' and 'rename to'")
        return inner, inner
    return old, new


def _has_prefixes(old: str, new: str, git: tuple[str, str] | None) -> bool:
    """Return whether both names have git's `a/` and `b/`, or its other prefixes."""
    if git is not None and git[0] == git[1]:  # git wrote none
        return False
    prefixes = [("a/", "b/")] if git is None else [(name[:2], other[:2]) for name, other in [git]]
    return any(
        first[1:] == second[1:] == "/"
        and (old.startswith(first) or old == _NOWHERE)
        and (new.startswith(second) or new == _NOWHERE)
        for first, second in prefixes
    )


def _git_names(text: str) -> tuple[str, str] | None:
    """Return the names of a line `diff --git`; None for a rename."""
    if '"' in text:
        names = [_unquoted(name) for name in _QUOTED.findall(text)]
        return (names[0], names[1]) if len(names) == 2 else None
    for at in (space.start() for space in re.finditer(" ", text)):
        old, new = text[:at], text[at + 1 :]
        if old == new or (old[1:2] == new[1:2] == "/" and old[2:] == new[2:]):
            return old, new
    return None


def _name(text: str) -> str:
    """Return the file name of a header line, without its time stamp."""
    match = _QUOTED.match(text)
    return text.partition("\t")[0] if match is None else _unquoted(match[1])


def _unquoted(text: str) -> str:
    """Return a name that git has quoted, as a path for the tools."""

    def byte(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255]) if code.isdigit() else _LETTERS.get(code, code)

    name = os.fsdecode(_ESCAPE.sub(byte, text.encode()))
    return escaped(name) if any("\udc80" <= char <= "\udcff" for char in name) else name
