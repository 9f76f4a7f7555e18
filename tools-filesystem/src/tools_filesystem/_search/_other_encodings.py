"""Matches in files that are not UTF-8: in the encoding in which they are read, or in another that has the pattern."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from tools_filesystem._paths._resolve import closing, open_file, open_folder
from tools_filesystem._reading._encoding import SNIFF, detect
from tools_filesystem._search._engine import PatternError, find_rg, search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tools_core import Context
    from tools_filesystem._paths._located import Located
    from tools_filesystem._search._engine import SearchRequest
    from tools_filesystem._search._process import SearchOutput
    from tools_filesystem._search._rows import FileRows
    from tools_filesystem._workspace import Workspace

    ReadFiles = Callable[[SearchOutput, str], list[FileRows]]

_MAX_FILES = 1000
# The parts of a pattern that match other letters than ASCII, and a letter in an encoding of one or two bytes.
_PART = re.compile(
    r"\\[pP](?:\{[^}]*\}|.)|\\[xu](?:\{[^}]*\}|[0-9A-Fa-f]{2,4})|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|.",
    re.DOTALL,
)
_WIDE = re.compile(r"\\[wWSDpPxu]|\.|\[\^|.*[^\x00-\x7f]|\[.*\\[wWSDpPxu]", re.DOTALL)
_LETTER = r"(?-u:[\x80-\xff][\x40-\xff]?)"
# Letters of a pattern, and the encodings that files with such letters may have, the likeliest first.
_SCRIPTS = (
    ("\u0400", "\u04ff", ("windows-1251", "koi8-r", "ibm866")),
    ("\u3040", "\u30ff", ("shift_jis", "euc-jp")),
    ("\u4e00", "\u9fff", ("gbk", "shift_jis", "big5", "euc-jp", "euc-kr")),
    ("\uac00", "\ud7a3", ("euc-kr",)),
    ("\u0370", "\u03ff", ("windows-1253",)),
    ("\u0590", "\u05ff", ("windows-1255",)),
    ("\u0600", "\u06ff", ("windows-1256",)),
    ("\u0e00", "\u0e7f", ("windows-874",)),
    ("\u0100", "\u017f", ("windows-1250", "windows-1254", "windows-1257")),
)


class Matches(NamedTuple):
    """Files with matches, and notes on their encodings."""

    files: list[FileRows]
    notes: list[str]


def with_other_encodings(
    request: SearchRequest, utf8_files: list[FileRows], of: ReadFiles,
    place: Located, workspace: Workspace, context: Context,
) -> Matches:  # fmt: skip
    """Return the files with matches, after files that are not UTF-8 were searched again; `of` reads an output.

    A looser pattern, in which any letter of another encoding may be one of the pattern, finds the files.
    """
    if find_rg(workspace) is None:
        return Matches(utf8_files, [])
    loose = _loosened(request.pattern)
    mode: Literal["files", "count"] = "files" if request.mode == "files" else "count"
    if loose == request.pattern:  # other letters of the same lines
        paths = [file.path for file in utf8_files if any(b'{"bytes":' in row for row in file.rows)]
        paths = [path for path in paths if _encoding(place, path) not in ("utf-8", "cp1252")]
    else:
        try:
            listing = search(place, request._replace(mode=mode, pattern=loose, before=0, after=0), workspace, context)
        except PatternError:
            return Matches(utf8_files, [])
        counts = {file.path: file.matches for file in utf8_files}
        paths = [file.path for file in of(listing, mode) if counts.get(file.path) != file.matches]
    groups: dict[str, list[str]] = {}
    for path in paths[:_MAX_FILES]:
        if encoding := _encoding(place, path):
            groups.setdefault(encoding, []).append(path)
    files, notes = {file.path: file for file in utf8_files}, list[str]()

    def look(encoding: str, among: list[str]) -> list[FileRows]:
        again = request._replace(files=among, encoding=encoding, paths=None, skipped=None, type="")
        return of(search(place, again, workspace, context), request.mode)

    for encoding, group in groups.items():
        files |= {file.path: file for file in look(encoding, group)}
    for encoding in _candidates(request.pattern):
        left = [path for path in groups.get("cp1252", ()) if path not in files]
        more = look(encoding, left) if left else []
        files |= {file.path: file for file in more}
        notes += [f"searched as {encoding}, while read_file shows cp1252: {len(more)} files"] * bool(more)
    if len(paths) > _MAX_FILES:
        notes.append(f"only the first {_MAX_FILES} files that may not be UTF-8 were searched in other encodings")
    return Matches(sorted(files.values()), notes)


def _loosened(pattern: str) -> str:
    """Return a pattern in which each part that matches more than ASCII matches letters of other encodings, too."""

    def loosen(part: re.Match[str]) -> str:
        return f"(?:{part[0]}|{_LETTER})" if _WIDE.match(part[0]) else part[0]

    return _PART.sub(loosen, pattern)


def _encoding(place: Located, path: str) -> str:
    """Return the encoding in which a file is read; empty for a binary file."""
    names = [name for name in f"{place.below}/{path}".split("/") if name not in ("", ".")]
    with suppress(OSError), closing(open_folder(place.root, names[:-1])) as folder:
        with closing(open_file(folder, names[-1])) as file:
            encoding = detect(os.pread(file, SNIFF, 0))
        return "" if encoding is None else "utf-8" if encoding.mark else encoding.name
    return ""


def _candidates(pattern: str) -> Iterable[str]:
    scripts = (names for first, last, names in _SCRIPTS if any(first <= char <= last for char in pattern))
    return dict.fromkeys(name for names in scripts for name in names)
