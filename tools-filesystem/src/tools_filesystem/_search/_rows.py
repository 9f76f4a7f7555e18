"""Matching lines: the messages of `rg --json`, and the text that is shown."""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING, NamedTuple

from tools_filesystem._reading._encoding import UTF_8, detect

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 500  # characters of a line
_BEGIN, _MATCH, _END = b'{"type":"begin"', b'{"type":"match"', b'{"type":"end"'
# Some of these would look like the end of a line, and what follows like another match.
_CONTROL = (*range(9), *range(10, 32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_VISIBLE = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROL}


class FileRows(NamedTuple):
    """The matches in one file; `rows` are messages for lines, not yet decoded."""

    path: str
    matches: int
    rows: list[bytes]


class Row(NamedTuple):
    """A line of the result; `is_cut` if it was truncated."""

    number: int
    is_match: bool
    text: str
    is_cut: bool


def files_of(output: bytes) -> Iterator[FileRows]:
    """Yield the files of a search; binary files are skipped."""
    path, rows = "", list[bytes]()
    for line in output.split(b"\n")[:-1]:  # where the search was stopped, the last one is a part of a line
        if line.startswith(_BEGIN):
            path, rows = os.fsdecode(_bytes(json.loads(line)["data"]["path"])), []
        elif line.startswith(_END):
            if json.loads(line)["data"]["binary_offset"] is None:
                yield FileRows(path, _matches(rows), rows)
            path = ""
        elif line and path:
            rows.append(line)
    if rows and path:  # the search was stopped in the middle of this file
        yield FileRows(path, _matches(rows), rows)


def _matches(rows: list[bytes]) -> int:
    return sum(row.startswith(_MATCH) for row in rows)


def rows_of(file: FileRows, skip: int, take: int, before: int, after: int) -> list[Row]:
    """Decode some of a file's matches with the lines around them; other matches count as such lines."""
    chosen = [at for at, row in enumerate(file.rows) if row.startswith(_MATCH)][skip : skip + take]
    if not chosen:
        return []
    first = max(0, chosen[0] - before)
    around = enumerate(file.rows[first : chosen[-1] + 1 + after], first)
    rows = [row for at, line in around for row in _decoded(line, is_match=at in set(chosen))]
    numbers = {nearby for row in rows if row.is_match for nearby in range(row.number - before, row.number + after + 1)}
    return [row for row in rows if row.number in numbers]


def _decoded(line: bytes, *, is_match: bool) -> Iterator[Row]:
    """Yield the lines of a message: one, unless a match has several."""
    data = json.loads(line)["data"]
    content = _bytes(data["lines"]).removesuffix(b"\n")
    encoding = detect(content) or UTF_8
    start = data["submatches"][0]["start"] if data["submatches"] else 0
    for number, part in enumerate(content.split(b"\n"), data["line_number"]):
        at = len(encoding.decode(part[:start])[0].translate(_VISIBLE))
        yield _row(number, encoding.decode(part.removesuffix(b"\r"))[0].translate(_VISIBLE), at, is_match=is_match)
        start = 0


def _row(number: int, text: str, at: int, *, is_match: bool) -> Row:
    if number == 1:
        text = text.removeprefix("\ufeff")
    if len(text) <= WIDTH:
        return Row(number, is_match, text, is_cut=False)
    begin = max(0, at - WIDTH // 3) if at > WIDTH // 2 else 0
    end = begin + WIDTH
    return Row(number, is_match, f"{'…' * (begin > 0)}{text[begin:end]}{'…' * (end < len(text))}", is_cut=True)


def _bytes(value: dict[str, str]) -> bytes:
    return value["text"].encode("utf-8", "surrogateescape") if "text" in value else base64.b64decode(value["bytes"])
