"""The diff of one change, in which everything is visible: line endings, control characters, a missing final newline."""

from __future__ import annotations

import codecs
import difflib
import io
import struct
from typing import NamedTuple

from tools_core.text import visible
from tools_workspace._change import Change
from tools_workspace._tree import Fingerprint, Tree, content_hash

TEXT_LIMIT = 1_000_000  # bytes of a file that is compared line by line
_MARKS = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\f\r\b\x1b")
_SEPARATOR = "\0"  # of lines that are compared as one
_NO_NEWLINE = "\\ No newline at end of file"


class _Text(NamedTuple):
    """The lines of a file, and the text after the last of them; `ends` is LF, CRLF or mixed, or empty without lines.

    `encoding` is empty for ASCII alone.
    """

    lines: list[str]
    last: str
    ends: str
    encoding: str


def diff(change: Change, original: Tree, copy: Tree, shown: Fingerprint) -> str:
    """Return the diff of a change; `shown` is the content of the path in the copy, which no other is shown for."""
    try:
        return _diff(change, original, copy, shown)
    except OSError:  # such as a folder that became a link meanwhile
        return f"{change}  (it is changing at this moment)"


def _diff(change: Change, original: Tree, copy: Tree, shown: Fingerprint) -> str:
    old = _read(original, change.old_path) if change.kind != "added" else b""
    new = _read(copy, change.path) if change.kind != "deleted" else b""
    if new and shown is not None and content_hash(change.path, io.BytesIO(new)) != shown[2]:
        return f"{change}  (it is changing at this moment)"
    before, after = _text(old), _text(new)
    if change.type != "file" or before is None or after is None or change.kind == "mode":
        trees = [(original, change.old_path)] * (change.kind != "added") + [(copy, change.path)] * (
            change.kind != "deleted"
        )
        details = [_describe(tree, path) for tree, path in trees if change.type == "file"]
        is_same = change.kind in ("renamed", "mode")
        return str(change) + (f" ({' -> '.join(details)})" if details and not is_same else "")
    names = (
        f"a/{visible(change.old_path)}" if change.kind != "added" else "/dev/null",
        f"b/{visible(change.path)}" if change.kind != "deleted" else "/dev/null",
    )
    is_plain = "mixed" not in (before.ends, after.ends)
    rows = difflib.unified_diff(_rows(before, is_plain), _rows(after, is_plain), *names, lineterm="")
    lines = [visible(line, keep_layout=True) for row in rows for line in row.split(_SEPARATOR)]
    has_new_ends = {before.ends, after.ends} == {"LF", "CRLF"}
    news = [f"line endings: {before.ends} -> {after.ends}"] if has_new_ends else []
    if before.encoding != after.encoding and before.encoding and after.encoding:
        news.append(f"encoding: {before.encoding} -> {after.encoding}")
    if news:
        lines.insert(0, f"{change}  ({', '.join(news)})")
    elif change.mark:
        lines.insert(0, str(change))
    return "\n".join(lines) or str(change)


def _read(tree: Tree, path: str) -> bytes | None:
    """Return the content of a small regular file; None for anything else."""
    try:
        with tree.file(path) as file:
            data = file.read(TEXT_LIMIT + 1)
    except OSError:
        return None
    return data if len(data) <= TEXT_LIMIT else None


def _text(data: bytes | None) -> _Text | None:
    decoded = None if data is None else _decoded(data)
    if decoded is None:
        return None
    text, encoding = decoded
    lines = text.split("\n")
    ended, last = lines[:-1], lines[-1]
    count = sum(line.endswith("\r") for line in ended)
    ends = "" if not ended else "LF" if count == 0 else "CRLF" if count == len(ended) else "mixed"
    return _Text(ended, last, ends, encoding)


def _decoded(data: bytes) -> tuple[str, str] | None:
    """Return the text of a file and its encoding, which is empty for ASCII; None for a binary file."""
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    if b"\0" in data and not marked:
        return None
    try:
        if marked:
            return data.decode(marked).removeprefix("\ufeff"), marked
        return data.decode(), "" if data.isascii() else "utf-8"
    except UnicodeDecodeError:
        is_binary = marked or len(data) - len(data.translate(None, _CONTROLS)) > len(data) // 20
        # A guess, in which different bytes stay different.
        return None if is_binary else (data.decode("cp1252", "surrogateescape"), "cp1252")


def _rows(text: _Text, is_plain: bool) -> list[str]:
    """Return the lines to compare, without line endings if they are the same in all lines."""
    is_short = is_plain and text.ends == "CRLF"
    rows = [line.removesuffix("\r") if is_short else line for line in text.lines]
    return rows + ([f"{text.last}{_SEPARATOR}{_NO_NEWLINE}"] if text.last else [])


def _describe(tree: Tree, path: str) -> str:
    """Return the size of a file, and the dimensions of a picture."""
    state = tree.state(path)
    if state is None or state.kind != "file":
        return "nothing"
    with tree.file(path) as file:
        dimensions = _dimensions(file.read(65_536))
    return f"{state.size:,} bytes" + (f", {dimensions[0]} x {dimensions[1]}" if dimensions else "")


def _dimensions(head: bytes) -> tuple[int, int] | None:
    """Return the width and the height of a PNG, a GIF or a JPEG."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return struct.unpack(">II", head[16:24])
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return struct.unpack("<HH", head[6:10])
    position = 2
    while head.startswith(b"\xff\xd8") and position + 9 <= len(head) and head[position] == 0xFF:
        marker, length = head[position + 1], int.from_bytes(head[position + 2 : position + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame
            height, width = struct.unpack(">HH", head[position + 5 : position + 9])
            return width, height
        position += 2 + length
    return None
