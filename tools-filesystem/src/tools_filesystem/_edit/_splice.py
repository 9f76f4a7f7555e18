"""A file's content with some parts replaced, in memory that depends on neither."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCK = 256 * 1024
_SMALL = 64 * 1024  # what is not longer is copied together with its neighbours
_MOST_AT_ONCE = 1 << 30
# The kernel, a filter or the file system has no copying of its own.
_NO_COPY = (errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)


class Span(NamedTuple):
    """Bytes `start` to `end` (exclusive) become `data`."""

    start: int
    end: int
    data: bytes


def spliced_size(size: int, spans: Sequence[Span]) -> int:
    """How long the file becomes."""
    return size + sum(len(span.data) - (span.end - span.start) for span in spans)


def splice(source: int, size: int, spans: Sequence[Span], target: int) -> int:
    """Write the first `size` bytes of a file, with the spans replaced, to another, and return how many that makes.

    The spans are in ascending order. What stays is copied by the kernel where it can.
    """
    pending = bytearray()
    position = 0
    for start, end, data in (*spans, Span(size, size, b"")):
        if start - position <= _SMALL:
            pending += _exactly(source, position, start)
        else:
            _flush(target, pending)
            _copy(source, target, position, start)
        pending += data
        position = end
        if len(pending) >= _BLOCK:
            _flush(target, pending)
    _flush(target, pending)
    return spliced_size(size, spans)


def moved(ranges: Sequence[tuple[int, int]], size: int, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Where some ranges of bytes, in ascending order, are after splicing; what was put in is among them."""
    found: list[tuple[int, int]] = []
    position = shift = number = 0
    for start, end, data in (*spans, Span(size, size, b"")):
        while number < len(ranges) and ranges[number][0] < start:
            first, last = max(ranges[number][0], position), min(ranges[number][1], start)
            if first < last:
                found.append((first + shift, last + shift))
            if ranges[number][1] > start:
                break  # some of it is behind this span
            number += 1
        if data:
            found.append((start + shift, start + shift + len(data)))
        position = end
        shift += len(data) - (end - start)
    return found


def _exactly(source: int, start: int, end: int) -> bytes:
    found = bytearray()
    while start + len(found) < end:
        more = os.pread(source, end - start - len(found), start + len(found))
        if not more:
            raise _became_shorter()
        found += more
    return bytes(found)


def _flush(target: int, pending: bytearray) -> None:
    with memoryview(pending) as left:
        done = 0
        while done < len(left):
            done += os.write(target, left[done:])
    pending.clear()


def _copy(source: int, target: int, start: int, end: int) -> None:
    while start < end:
        count = _copy_by_kernel(source, target, start, min(end - start, _MOST_AT_ONCE))
        if count is None:
            block = os.pread(source, min(end - start, _BLOCK), start)
            count = len(block)
            _flush(target, bytearray(block))
        if not count:
            raise _became_shorter()
        start += count


def _copy_by_kernel(source: int, target: int, start: int, length: int) -> int | None:
    if not hasattr(os, "copy_file_range"):  # Linux alone
        return None
    try:
        return os.copy_file_range(source, target, length, start)
    except OSError as error:
        if error.errno not in _NO_COPY:
            raise
        return None


def _became_shorter() -> OSError:
    return OSError(errno.EIO, "became shorter while it was copied; nothing was changed")
