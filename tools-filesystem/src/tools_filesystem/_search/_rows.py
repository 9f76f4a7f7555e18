"""Matching lines as a search prints them (the messages of `rg --json`), and as they are shown."""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_filesystem._paths._names import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools_filesystem._paths._locate import Located

WIDTH = 500  # characters of a line
MOST_SHOWN = 100_000  # characters of one result
_BEGIN, _END = b'{"type":"begin"', b'{"type":"end"'
# Some of these would look like the end of a line, and what follows like another match.
_CONTROL = (*range(9), *range(10, 32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_VISIBLE = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROL}


class FileRows(NamedTuple):
    """The matches in one file; `rows` are messages for lines, not yet decoded."""

    path: str
    matches: int
    rows: list[bytes]


class Row(NamedTuple):
    """One line as it is shown; `is_cut` if that is not all of it."""

    number: int
    is_match: bool
    text: str
    is_cut: bool


def files_of(output: bytes) -> Iterator[FileRows]:
    """Yield the files of a search; binary files are left out."""
    path, rows = "", list[bytes]()
    for line in output.split(b"\n"):
        if line.startswith(_BEGIN):
            path, rows = _text(json.loads(line)["data"]["path"]), []
        elif line.startswith(_END):
            data = json.loads(line)["data"]
            if data["binary_offset"] is None:
                yield FileRows(path, data["stats"]["matched_lines"], rows)
            path, rows = "", []
        elif line and path:
            rows.append(line)
    if path and rows and rows[-1].endswith(b"}}"):  # the search was stopped in the middle of this file
        found = [row for row in rows if row.startswith(b'{"type":"match"')]
        yield FileRows(path, len(found), rows)


def rows_of(file: FileRows, skip: int, take: int, context: int) -> list[Row]:
    """Decode the rows of some of a file's matches, with the lines around them."""
    rows = [_row(json.loads(row)) for row in _near(file.rows, skip, take, context)]
    matches = [row for row in rows if row.is_match][:take]
    numbers = [row.number for row in matches]
    chosen = set(numbers)
    return [
        row for row in rows
        if row.number in chosen or (not row.is_match and any(abs(row.number - one) <= context for one in numbers))
    ]  # fmt: skip


def shown(path: str, rows: Iterable[Row], *, gaps: bool) -> list[str]:
    """Return `path:line:text`, or `path-line-text` for lines around, with `--` where lines are left out between."""
    out: list[str] = []
    last = None
    for row in rows:
        if gaps and last is not None and row.number > last + 1:
            out.append("--")
        mark = ":" if row.is_match else "-"
        out.append(f"{path}{mark}{row.number}{mark}{row.text}")
        last = row.number
    return out


def prefix_of(start: Located) -> str:
    """Return what precedes a path in a searched folder, so that the whole can be sent back."""
    bare = start.path.removeprefix("./").rstrip("/")
    return "" if bare in ("", ".") and not start.path.startswith("/") else f"{bare}/"


def visible(path: str) -> str:
    """Return a path on one line that UTF-8 can carry; each name in it means itself when it is sent back."""
    if path.isprintable():
        return path
    return "/".join(name if name.isprintable() else quoted(name) for name in path.split("/"))


def _near(rows: list[bytes], skip: int, take: int, context: int) -> list[bytes]:
    """Return the rows from the context of the first wanted match to that of the last one."""
    places = [at for at, row in enumerate(rows) if row.startswith(b'{"type":"match"')]
    wanted = places[skip : skip + take]
    return rows[max(0, wanted[0] - context) : wanted[-1] + 1 + context] if wanted else []


def _row(message: dict[str, Any]) -> Row:
    data = message["data"]
    is_match = message["type"] == "match"
    line = _bytes(data["lines"]).removesuffix(b"\n").removesuffix(b"\r")
    at = data["submatches"][0]["start"] if data["submatches"] else 0
    text = line.decode(errors="replace").translate(_VISIBLE)
    if data["line_number"] == 1:
        text = text.removeprefix("\ufeff")
    if len(text) <= WIDTH:
        return Row(data["line_number"], is_match, text, is_cut=False)
    at = len(line[:at].decode(errors="replace").translate(_VISIBLE))
    begin = max(0, at - WIDTH // 3) if at > WIDTH // 2 else 0
    end = begin + WIDTH
    text = f"{'…' * (begin > 0)}{text[begin:end]}{'…' * (end < len(text))}"
    return Row(data["line_number"], is_match, text, is_cut=True)


def _text(value: dict[str, str]) -> str:
    return value["text"] if "text" in value else os.fsdecode(base64.b64decode(value["bytes"]))


def _bytes(value: dict[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
