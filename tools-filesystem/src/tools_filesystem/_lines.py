"""Reading a window of lines in memory that depends on neither the file nor its lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE = 2000  # bytes of one line
BUDGET = 100_000  # bytes of one window
SCAN = 4 << 30  # bytes that are looked through in one call
_BLOCK = 256 * 1024


class Window(NamedTuple):
    """Some lines of a file; `lines` is how many, `cut` how many of them are longer than what is shown."""

    data: bytes
    lines: int
    cut: int
    has_more: bool
    total: int | None  # lines of the whole file, when its end was reached


class ScanLimitError(Exception):
    """More was to be looked through than one call may."""


def read_window(descriptor: int, first: int, limit: int) -> Window:
    """Read at most `limit` lines, the first of them number `first`; ScanLimitError when they lie too deep."""
    blocks = _blocks(descriptor)
    rest, skipped = _skip(blocks, first - 1)
    shown = bytearray()
    count = cut = 0
    for line, length in _lines(rest, blocks):
        text = line if length <= LINE else _clipped(line, length)
        if count == limit or len(shown) + len(text) > BUDGET:
            return Window(bytes(shown), count, cut, has_more=True, total=None)
        shown += text
        count += 1
        cut += length > LINE
    return Window(bytes(shown), count, cut, has_more=False, total=skipped + count)


def _blocks(descriptor: int) -> Iterator[bytes]:
    left = SCAN
    while block := os.read(descriptor, _BLOCK):
        yield block
        left -= len(block)
        if left <= 0:
            raise ScanLimitError


def _skip(blocks: Iterator[bytes], lines: int) -> tuple[bytes, int]:
    """Count newlines block by block, so that what is skipped never becomes lines."""
    skipped, last = 0, b"\n"
    if not lines:
        return b"", 0
    for block in blocks:
        here = block.count(b"\n")
        if skipped + here >= lines:
            end = 0
            for _ in range(lines - skipped):
                end = block.index(b"\n", end) + 1
            return block[end:], lines
        skipped += here
        last = block[-1:]
    return b"", skipped + (last != b"\n")  # a last line may lack its newline


def _lines(rest: bytes, blocks: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield each line as far as it is kept, and its full length, newline included."""
    kept, length = b"", 0
    while True:
        start = 0
        while end := rest.find(b"\n", start) + 1:
            yield kept + rest[start : min(end, start + LINE - len(kept))], length + end - start
            kept, length, start = b"", 0, end
        kept += rest[start : start + LINE - len(kept)]
        length += len(rest) - start
        block = next(blocks, None)
        if block is None:
            break
        rest = block
    if length:
        yield kept, length


def _clipped(line: bytes, length: int) -> bytes:
    whole = line.decode(errors="ignore").encode() if _is_text(line) else line
    return whole + f"[... {length - len(whole)} more bytes in this line]\n".encode()


def _is_text(line: bytes) -> bool:
    """Whether nothing but a character that was cut off keeps the line from being UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return error.start > len(line) - 4 and error.reason == "unexpected end of data"
    return True
