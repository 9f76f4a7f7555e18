"""Where some bytes are in a file, and in which lines, in memory that does not depend on the file."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from tools_filesystem._read._encoding import UTF_8
from tools_filesystem._read._source import read_into

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_filesystem._read._encoding import Encoding

_BLOCK = 256 * 1024  # small enough to stay in a processor's cache


def find_all(descriptor: int, wanted: bytes, most: int, *, width: int = 1, overlapping: bool = True) -> array[int]:
    """The positions of `wanted`, at most `most` of them, each a multiple of `width` bytes from the start."""
    found: array[int] = array("q")
    buffer = bytearray(max(_BLOCK, 2 * len(wanted)))
    view = memoryview(buffer)
    stride = width if overlapping else len(wanted)
    kept = position = free = 0  # bytes left of the block before; where the buffer begins; where a match may begin
    while count := read_into(descriptor, view[kept:], position + kept):
        end = kept + count
        at = buffer.find(wanted, max(0, free - position), end)
        while at >= 0:
            is_match = not at % width  # the position of the buffer is a multiple itself
            if is_match:
                found.append(position + at)
                if len(found) == most:
                    return found
            free = position + at + (stride if is_match else 1)
            at = buffer.find(wanted, free - position, end)
        kept = min(end, len(wanted) - 1 + (end - len(wanted) + 1) % width)
        buffer[:kept] = buffer[end - kept : end]
        position += end - kept
    return found


def line_numbers(descriptor: int, positions: Sequence[int], encoding: Encoding = UTF_8) -> list[int]:
    """The numbers of the lines that some positions, in ascending order, are in."""
    numbers: list[int] = []
    buffer = bytearray(_BLOCK)
    view = memoryview(buffer)
    line, start = 1, 0
    for position in positions:
        while start < position:
            count = read_into(descriptor, view[: position - start], start)
            if not count:
                break
            is_bytes = encoding.width == 1
            line += buffer.count(b"\n", 0, count) if is_bytes else encoding.count_lines(bytes(buffer[:count]))
            start += count
        numbers.append(line)
    return numbers
