"""The parts of files that the model of each run has seen, by inode and content, never by name alone."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from tools_core import Result, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_core import Context

_MAX_FILES = 10_000  # of one run
_MAX_RUNS = 1000
_MAX_DIGESTED = 2 << 20  # bytes of a file whose content is compared; of larger ones, only the state
_FIX = "Read all of it with read_file first, or pass overwrite=true; edit_file changes a part"
_FIX_UNREADABLE = "read_file does not show such a file whole: pass overwrite=true if its content may be lost"


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


class Version(NamedTuple):
    """The state of a file and the digest of its content, which is empty for a large file."""

    stamp: Stamp
    digest: bytes = b""

    @classmethod
    def of(cls, descriptor: int) -> Version:
        """Return the version of an open file."""
        stamp = Stamp.of(os.fstat(descriptor))
        if stamp.size > _MAX_DIGESTED:
            return cls(stamp)
        return cls(stamp, _digest(os.pread(descriptor, stamp.size, 0)))

    def has_content_of(self, other: Version) -> bool:
        """Return whether the content is the same: touched, or saved again without a change."""
        return self.stamp == other.stamp or bool(self.digest and self.digest == other.digest)


class Content(NamedTuple):
    """A file that a call changes: its path, its state, and the parts of its content if the call has it."""

    path: str
    state: os.stat_result
    data: Sequence[bytes | memoryview] | None = None

    @property
    def stamp(self) -> Stamp:
        """The state as a stamp."""
        return Stamp.of(self.state)

    @property
    def digest(self) -> bytes:
        """The digest of the content, if it is not too large."""
        if self.data is None or sum(map(len, self.data)) > _MAX_DIGESTED:
            return b""
        return _digest(b"".join(self.data))

    def is_version(self, version: Version) -> bool:
        """Return whether this is the same state, or else the same content."""
        return self.stamp == version.stamp or bool(version.digest and version.digest == self.digest)


class _Seen(NamedTuple):
    """The ranges of a version that were seen, out of `size` bytes."""

    version: Version
    size: int
    ranges: list[tuple[int, int]]

    @property
    def is_whole(self) -> bool:
        return self.size == 0 or self.ranges == [(0, self.size)]


class Ledger:
    """The byte ranges of each file that the model of a run has seen; safe to use from many threads.

    A file counts as unread once its content has changed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[tuple[int, int] | str, _Seen] = {}  # by inode, and by path

    def record(self, path: str, version: Version, ranges: list[tuple[int, int]], size: int) -> None:
        """Record that these bytes of `size` (start and end, exclusive) were shown completely and unchanged."""
        with self._lock:
            before = self._find(path, version.stamp)
            earlier = before.ranges if before is not None and before.version.has_content_of(version) else []
            self._put(path, _Seen(version, size, _merged([*earlier, *ranges])))

    def replace(self, before: Content | None, after: Content | None, *, is_known: bool = False) -> None:
        """Record a changed, moved or deleted file.

        The new content counts as seen if the old one was, or if `is_known`.
        """
        with self._lock:
            seen = None
            if before is not None:
                seen = self._find(before.path, before.stamp)
                self._files.pop(before.path, None)
                self._files.pop((before.stamp.device, before.stamp.inode), None)
                is_known |= seen is not None and seen.is_whole and before.is_version(seen.version)
            if after is not None and (is_known or before is None):
                moved = seen.version.digest if seen is not None and after.data is None else b""
                size = after.stamp.size
                version = Version(after.stamp, moved or after.digest)
                self._put(after.path, _Seen(version, size, [(0, size)]))

    def check_seen(
        self, path: str, real: str, state: os.stat_result, open_file: Callable[[], int], *, is_text: bool
    ) -> None:
        """Raise ToolError (`conflict`) unless the whole file was seen and is unchanged."""
        fix = _FIX if is_text else _FIX_UNREADABLE
        stamp = Stamp.of(state)
        with self._lock:
            seen = self._find(real, stamp)
        if seen is None:
            problem = f"{path!r} exists ({stamp.size} bytes) and you have not read its current version"
            raise ToolError(f"{problem}. {fix}", "conflict")
        if stamp != seen.version.stamp and not seen.version.has_content_of(_version(stamp, seen, open_file)):
            when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(stamp.mtime_ns // 10**9))
            sizes = f"{seen.version.stamp.size} bytes then, {stamp.size} now"
            problem = f"{path!r} has changed since you read it: {sizes}, modified {when}"
            raise ToolError(f"{problem}. {fix}", "conflict")
        if not seen.is_whole:
            count = sum(end - start for start, end in seen.ranges)
            problem = f"you have read only {count} of {seen.size} bytes of {path!r}"
            raise ToolError(f"{problem}. {fix}", "conflict")

    def _find(self, path: str, stamp: Stamp) -> _Seen | None:
        return self._files.get((stamp.device, stamp.inode)) or self._files.get(path)

    def _put(self, path: str, seen: _Seen) -> None:
        stamp = seen.version.stamp
        for key in (path, (stamp.device, stamp.inode)):
            self._files.pop(key, None)  # so that it becomes the last one
            self._files[key] = seen
        while len(self._files) > 2 * _MAX_FILES:
            del self._files[next(iter(self._files))]


class ShownLine(NamedTuple):
    """One line of a result: its bytes in the file, its end in the text, and whether it is shown unchanged."""

    start: int
    end: int
    text_end: int
    is_faithful: bool


class Reading(NamedTuple):
    """The lines of a file of `size` bytes that a tool is about to show: seen as far as they reach the model."""

    ledger: Ledger
    path: str
    version: Version
    size: int
    lines: list[ShownLine]
    begin: int = 0  # where the first line begins in the text

    def moved(self, begin: int) -> Reading:
        """Return the reading for a text in which its first line begins at `begin`."""
        lines = [line._replace(text_end=line.text_end + begin) for line in self.lines]
        return self._replace(lines=lines, begin=begin)

    def show(self, result: Result, context: Context) -> None:
        """Record the lines of a result that the model receives."""
        text = _text_of(result)
        if not context.on_result(lambda final: self._record(text, _text_of(final))):
            self._record(text, text)

    def _record(self, text: str, received: str) -> None:
        """Record the lines in the common beginning and the common end of both texts."""
        top = _common(text, received)
        most = min(len(text), len(received)) - top
        bottom = len(text) - _common(text[::-1], received[::-1], most)
        ranges: list[tuple[int, int]] = []
        begin = self.begin
        for line in self.lines:
            if line.is_faithful and (line.text_end <= top or begin >= bottom):
                ranges.append((line.start, line.end))
            begin = line.text_end
        if ranges or (received and not self.lines):  # an empty file has no lines
            self.ledger.record(self.path, self.version, ranges, self.size)


_ledgers: dict[str, Ledger] = {}
_lock = threading.Lock()


def ledger_of(run: str) -> Ledger:
    """Return the ledger of a run; the ones that were not used for the longest time are forgotten."""
    with _lock:
        ledger = _ledgers[run] = _ledgers.pop(run) if run in _ledgers else Ledger()
        if len(_ledgers) > _MAX_RUNS:
            del _ledgers[next(iter(_ledgers))]
        return ledger


def _renew_locks() -> None:
    global _lock  # noqa: PLW0603  (another thread of the parent may have held a lock)
    _lock = threading.Lock()
    for ledger in _ledgers.values():
        ledger._lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_locks)


def _version(stamp: Stamp, seen: _Seen, open_file: Callable[[], int]) -> Version:
    """Return the version of a file whose state differs; its content is read only if it may be the same."""
    if stamp.size != seen.version.stamp.size:
        return Version(stamp)
    descriptor = open_file()
    try:
        return Version.of(descriptor)
    finally:
        os.close(descriptor)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _text_of(result: Result) -> str:
    if not result.ok:
        return ""
    content = result.content
    return content if isinstance(content, str) else "\n".join(part for part in content if isinstance(part, str))


def _common(text: str, other: str, most: int | None = None) -> int:
    """Return the length of the common beginning, at most `most`."""
    low, high = 0, min(len(text), len(other)) if most is None else most
    while low < high:
        middle = (low + high + 1) // 2
        if text[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out
