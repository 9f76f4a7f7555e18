"""The parts of files that a session has read, by inode and state, never by name alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import os


class Stamp(NamedTuple):
    """The state of a file when it was read."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> Stamp:
        """The stamp of what `fstat` found."""
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Ledger:
    """The byte ranges of each file that a session has been shown; safe to use from many threads.

    A file that changes in any way that its stamp shows starts anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[tuple[int, int], tuple[Stamp, list[tuple[int, int]]]] = {}

    def record(self, stamp: Stamp, start: int, end: int) -> None:
        """Bytes `start` to `end` (exclusive) were shown, all of them and as they are."""
        key = (stamp.device, stamp.inode)
        with self._lock:
            known, ranges = self._seen.get(key, (stamp, []))
            self._seen[key] = (stamp, _merged([*(ranges if known == stamp else ()), (start, end)]))

    def replace(self, before: os.stat_result | None, after: os.stat_result | None, *, is_known: bool = False) -> None:
        """A file was replaced or deleted: a session that knew all of it, or of the new content, knows that now."""
        is_known = is_known or before is None or self.covers(Stamp.of(before))
        if before is not None:
            with self._lock:
                self._seen.pop((before.st_dev, before.st_ino), None)
        if is_known and after is not None:
            self.record(Stamp.of(after), 0, after.st_size)

    def covers(self, stamp: Stamp) -> bool:
        """Return whether all of the file was shown, and it is unchanged."""
        with self._lock:
            known, ranges = self._seen.get((stamp.device, stamp.inode), (None, []))
        return known == stamp and (stamp.size == 0 or ranges == [(0, stamp.size)])

    def last_seen(self, stamp: Stamp) -> Stamp | None:
        """The state in which the file was shown last, this or another; None if it never was."""
        with self._lock:
            return self._seen.get((stamp.device, stamp.inode), (None,))[0]

    def shown_of(self, stamp: Stamp) -> list[tuple[int, int]]:
        """The byte ranges that were shown of the file in this very state."""
        with self._lock:
            known, ranges = self._seen.get((stamp.device, stamp.inode), (None, []))
        return list(ranges) if known == stamp else []


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out
