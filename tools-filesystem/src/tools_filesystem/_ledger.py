"""The parts of files that a session has read, by inode and state, never by name alone."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError

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
        """Return the stamp of an `fstat` result."""
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Ledger:
    """The byte ranges of each file that a session has been shown; safe to use from many threads.

    A file whose stamp has changed counts as unread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[tuple[int, int], tuple[Stamp, list[tuple[int, int]]]] = {}

    def record(self, stamp: Stamp, start: int, end: int) -> None:
        """Record that bytes `start` to `end` (exclusive) were shown completely and unchanged."""
        key = (stamp.device, stamp.inode)
        with self._lock:
            known, ranges = self._seen.get(key, (stamp, []))
            self._seen[key] = (stamp, _merged([*(ranges if known == stamp else ()), (start, end)]))

    def replace(self, before: os.stat_result | None, after: os.stat_result | None, *, is_known: bool = False) -> None:
        """Record a replaced or deleted file; the new content counts as shown if the old one was, or if `is_known`."""
        is_known = is_known or before is None or self.covers(Stamp.of(before))
        if before is not None:
            with self._lock:
                self._seen.pop((before.st_dev, before.st_ino), None)
        if is_known and after is not None:
            self.record(Stamp.of(after), 0, after.st_size)

    def covers(self, stamp: Stamp) -> bool:
        """Return whether the whole file was shown and is unchanged."""
        with self._lock:
            known, ranges = self._seen.get((stamp.device, stamp.inode), (None, []))
        return known == stamp and (stamp.size == 0 or ranges == [(0, stamp.size)])

    def check_known(self, path: str, found: os.stat_result) -> None:
        """Raise ToolError (`conflict`) unless the whole file was shown and is unchanged."""
        stamp = Stamp.of(found)
        if self.covers(stamp):
            return
        with self._lock:
            known, ranges = self._seen.get((stamp.device, stamp.inode), (None, []))
        if known is None:
            problem = f"{path!r} exists ({stamp.size} bytes), and was not read in its present form"
        elif known != stamp:
            when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(stamp.mtime_ns // 10**9))
            sizes = f"{known.size} bytes then, {stamp.size} now"
            problem = f"{path!r} has changed since it was read: {sizes}, modified {when}"
        else:
            problem = f"only {sum(end - start for start, end in ranges)} of {stamp.size} bytes of {path!r} were read"
        fix = "Read all of it with read_file first, or pass overwrite=true; edit_file changes a part"
        raise ToolError(f"{problem}. {fix}", "conflict")


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out
