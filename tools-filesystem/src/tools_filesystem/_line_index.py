"""Where in large files how many lines have passed, so that counting goes on instead of beginning anew."""

from __future__ import annotations

import threading
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_filesystem._ledger import Stamp

SPACING = 64 << 20  # bytes between two marks, unless the file is so large that they were too many
_MOST_FILES = 32
_MOST_MARKS = 512  # of one file; from there on every other one goes
_MOST_STOPS = 64


class Mark(NamedTuple):
    """A position in a file: how many newlines are in front of it, and the bytes right before it."""

    position: int
    newlines: int
    before: bytes


class _File:
    """The marks of one file: at even distances, and where a call stopped last."""

    def __init__(self, stamp: Stamp) -> None:
        self.stamp = stamp
        self.marks: list[Mark] = []
        self.stops: dict[int, Mark] = {}
        self._spacing = SPACING

    def add(self, mark: Mark) -> None:
        at = bisect_left(self.marks, mark)
        if any(abs(other.position - mark.position) < self._spacing for other in self.marks[max(0, at - 1) : at + 1]):
            return
        self.marks.insert(at, mark)
        if len(self.marks) > _MOST_MARKS:
            self._spacing *= 2
            del self.marks[::2]

    def add_stop(self, mark: Mark) -> None:
        self.stops.pop(mark.position, None)
        self.stops[mark.position] = mark  # behind all others
        if len(self.stops) > _MOST_STOPS:
            del self.stops[next(iter(self.stops))]


class LineIndex:
    """Marks in the files that were read last; safe to use from many threads, and of a bounded size.

    The marks of a file that has changed in any way that its stamp shows are dropped.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[tuple[int, int], _File] = {}  # the one that was used last is the last

    def last(self, stamp: Stamp, fits: Callable[[Mark], bool]) -> Mark | None:
        """The last mark that fits; where one does, all in front of it must."""
        with self._lock:
            file = self._files.get((stamp.device, stamp.inode))
            if file is None or file.stamp != stamp:
                return None
            behind = bisect_left(file.marks, True, key=lambda mark: not fits(mark))
            fitting = [*file.marks[max(0, behind - 1) : behind], *filter(fits, file.stops.values())]
            if not fitting:
                return None
            found = max(fitting)
            if found.position in file.stops:
                file.add_stop(found)  # it may be wanted again
            return found

    def add(self, stamp: Stamp, mark: Mark, *, is_stop: bool) -> None:
        """Keep a mark: where a call stops the next one may begin, and one on the way is good for all."""
        key = (stamp.device, stamp.inode)
        with self._lock:
            file = self._files.pop(key, None)
            if file is None or file.stamp != stamp:
                file = _File(stamp)
            self._files[key] = file
            if len(self._files) > _MOST_FILES:
                del self._files[next(iter(self._files))]
            file.add(mark)
            if is_stop:
                file.add_stop(mark)

    def forget(self, stamp: Stamp) -> None:
        """The marks of a file proved wrong."""
        with self._lock:
            self._files.pop((stamp.device, stamp.inode), None)
