"""The parts of files that each run has read, by inode and state, never by name alone."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from tools_core import ToolError

if TYPE_CHECKING:
    import os

_MAX_FILES = 10_000  # of one run
_MAX_RUNS = 1000


class Stamp(NamedTuple):
    """The state of a file when it was read."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, state: os.stat_result) -> Stamp:
        """Return the stamp of an `fstat` result."""
        return cls(state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


class Ledger:
    """The byte ranges of each file that a run has read; safe to use from many threads.

    A file whose stamp has changed counts as unread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[tuple[int, int], tuple[Stamp, list[tuple[int, int]]]] = {}

    def record(self, stamp: Stamp, start: int, end: int) -> None:
        """Record that bytes `start` to `end` (exclusive) were shown completely and unchanged."""
        key = (stamp.device, stamp.inode)
        with self._lock:
            before, ranges = self._files.pop(key, (stamp, []))
            self._files[key] = (stamp, _merged([*(ranges if before == stamp else ()), (start, end)]))
            if len(self._files) > _MAX_FILES:
                del self._files[next(iter(self._files))]

    def replace(self, before: os.stat_result | None, after: os.stat_result | None, *, is_read: bool = False) -> None:
        """Record a replaced or deleted file; the new content counts as read if the old one was, or if `is_read`."""
        is_read = is_read or before is None or self.covers(Stamp.of(before))
        if before is not None:
            with self._lock:
                self._files.pop((before.st_dev, before.st_ino), None)
        if is_read and after is not None:
            self.record(Stamp.of(after), 0, after.st_size)

    def covers(self, stamp: Stamp) -> bool:
        """Return whether the whole file was read and is unchanged."""
        before, ranges = self._entry(stamp)
        return before == stamp and (stamp.size == 0 or ranges == [(0, stamp.size)])

    def check_read(self, path: str, state: os.stat_result) -> None:
        """Raise ToolError (`conflict`) unless the whole file was read and is unchanged."""
        stamp = Stamp.of(state)
        if self.covers(stamp):
            return
        before, ranges = self._entry(stamp)
        if before is None:
            problem = f"{path!r} exists ({stamp.size} bytes) and you have not read its current version"
        elif before != stamp:
            when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(stamp.mtime_ns // 10**9))
            sizes = f"{before.size} bytes then, {stamp.size} now"
            problem = f"{path!r} has changed since you read it: {sizes}, modified {when}"
        else:
            problem = (
                f"you have read only {sum(end - start for start, end in ranges)} of {stamp.size} bytes of {path!r}"
            )
        fix = "Read all of it with read_file first, or pass overwrite=true; edit_file changes a part"
        raise ToolError(f"{problem}. {fix}", "conflict")

    def _entry(self, stamp: Stamp) -> tuple[Stamp | None, list[tuple[int, int]]]:
        with self._lock:
            return self._files.get((stamp.device, stamp.inode), (None, []))


_ledgers: dict[str, Ledger] = {}
_lock = threading.Lock()


def ledger_of(run: str) -> Ledger:
    """Return the ledger of a run; the ones that were not used for the longest time are forgotten."""
    with _lock:
        ledger = _ledgers[run] = _ledgers.pop(run) if run in _ledgers else Ledger()
        if len(_ledgers) > _MAX_RUNS:
            del _ledgers[next(iter(_ledgers))]
        return ledger


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out
