"""The search without `rg`: own walk, own reading, and RE2, or plain text without it.

Small files are read side by side into one buffer and searched together; large ones in pieces. Neither a file nor a
line is ever held as a whole.
"""

from __future__ import annotations

import errno
import os
import stat
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tools_core import ToolError
from tools_filesystem._search._regex import for_re2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from tools_filesystem._search._budget import Budget
    from tools_filesystem._search._regex import Query

_SIZE = 1 << 20  # of the buffer: also how much one step of RE2 is given, so that the clock is looked at often enough
_OVERLAP = 1 << 16  # of the pieces of a line that is longer than the buffer: what matches across them is found
_LARGE = 10_000  # instructions of a pattern
_MOST_MEMORY = 64 << 20  # bytes that RE2 uses for one that is larger
_GONE = (errno.ENOENT, errno.ELOOP, errno.ENXIO)  # vanished, or become a link or a socket, since it was listed
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_MISSING = (
    'regular expressions need a search engine: pip install "tools-filesystem[re2]", or install ripgrep (rg). '
    "fixed_strings=true searches for plain text without one"
)


class Hit(NamedTuple):
    """A line that matches: its number, where it begins in the file, and where in it the match begins (in bytes)."""

    line: int
    start: int
    at: int


class Part(NamedTuple):
    """An open file, how many of its lines match, and which of these to show: how many to pass over and to take.

    Of a line that is longer than `width` only what is around the match is shown.
    """

    file: int
    matches: int
    skip: int
    take: int
    width: int


class BinaryFileError(Exception):
    """The file has NUL bytes in it, and is not searched."""


class Finder(Protocol):
    """Looks for the first match in a part of a buffer."""

    name: str

    def find(self, buffer: bytearray, start: int, end: int) -> int:
        """Where it begins; -1 if there is none. Nothing that is found reaches across lines."""
        ...


class Text:
    """Finds plain text."""

    name = "text"

    def __init__(self, data: bytes) -> None:
        self._data = data

    def find(self, buffer: bytearray, start: int, end: int) -> int:
        """See Finder."""
        return buffer.find(self._data, start, end)


class _Re2:
    name = "re2"

    def __init__(self, query: Query) -> None:
        from importlib import import_module  # it is an extra, has no types, and is used only where rg is not

        re2: Any = import_module("re2")
        options = re2.Options()
        options.never_nl = True
        options.log_errors = False
        options.literal = query.is_fixed
        options.case_sensitive = not query.ignore_case
        try:
            self._search = _compiled(re2, query, options).search
            if query.literal and not query.is_fixed:
                options.literal = True
                self._first = re2.compile(query.literal, options).search  # ten times as quick as most patterns
            else:
                self._first = self._search
        except re2.error as error:
            reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error
            message = f"pattern is no valid regular expression: {reason}; fixed_strings=true searches for plain text"
            raise ToolError(message, "validation_error") from None

    def find(self, buffer: bytearray, start: int, end: int) -> int:
        first = self._first(buffer, start, end)
        if first is None or self._first is self._search:
            return -1 if first is None else int(first.start())
        # The line that has the text in it is the first that can match.
        begin = buffer.rfind(b"\n", start, first.start()) + 1 or start
        found = self._search(buffer, begin, end)
        return -1 if found is None else int(found.start())


def _compiled(re2: Any, query: Query, options: Any) -> Any:
    if query.is_fixed:
        return re2.compile(query.source.encode(), options)
    source = f"(?m){for_re2(query.source)}".encode()
    try:
        found = re2.compile(source, options)
    except re2.error:  # wrong, or too large with the letters of all languages
        return re2.compile(f"(?m){query.source}".encode(), options)
    if found.programsize > _LARGE:
        options.max_mem = _MOST_MEMORY  # with less of it, what was worked out is forgotten and worked out again
        found = re2.compile(source, options)
    return found


def finder(query: Query) -> Finder:
    """What finds a query best; ToolError when that needs RE2, which is not installed."""
    try:
        return _Re2(query)  # also for plain text, which it finds several times as quickly
    except ImportError:
        if query.is_fixed and not query.ignore_case:
            return Text(query.literal)
        raise ToolError(_MISSING, "unavailable") from None


class Counts:
    """Counts the matching lines of the files of a walk, in its order, until there are `enough`.

    With `is_once` a file counts as one line. `binary` counts files that are not searched, as far as it
    is noticed: those that might have matched.
    """

    def __init__(self, find: Finder, budget: Budget, *, enough: int, is_once: bool) -> None:
        self.found: list[tuple[str, int]] = []
        self.total = self.binary = self.unreadable = 0
        self.has_enough = False
        self._find = find.find
        self._finder = find
        self._budget = budget
        self._enough = enough
        self._is_once = is_once
        self._buffer = bytearray(_SIZE + 1)
        self._view = memoryview(self._buffer)
        self._starts: list[int] = []
        self._paths: list[str] = []
        self._end = 0

    def run(self, folders: Iterable[tuple[int, str, list[str], object]]) -> None:
        """Search the files of these folders, while they are held open."""
        opened, read, close, view = os.open, os.readv, os.close, self._view
        for folder, path, files, _ in folders:
            # Most of the time goes into these four lines of system calls. A pipe that has taken the place of a file is
            # not waited for, and a device or an endless file is noticed before it is read to the end.
            for name in files:
                try:
                    file = opened(name, _FLAGS, dir_fd=folder)
                except OSError as error:
                    self.unreadable += error.errno not in _GONE
                    continue
                end = self._end
                try:
                    got = read(file, [view[end:_SIZE]])
                    if end + got < _SIZE:
                        self._take(path + name, got)
                    else:
                        self._take_large(file, path + name)
                except OSError:
                    self.unreadable += 1
                finally:
                    close(file)
            if self.has_enough or self._budget.is_over:
                break
        self._flush()

    def _take(self, path: str, got: int) -> None:
        if not got:
            return
        self._starts.append(self._end)
        self._paths.append(path)
        self._end += got
        if self._buffer[self._end - 1] != 10:  # so that no line reaches into the next file
            self._buffer[self._end] = 10
            self._end += 1

    def _take_large(self, file: int, path: str) -> None:
        """Search a file that does not fit, at least not behind the others."""
        self._flush()
        if self.has_enough or not stat.S_ISREG(os.fstat(file).st_mode):
            return
        os.lseek(file, 0, os.SEEK_SET)
        got = os.readv(file, [self._view[:_SIZE]])
        if got < _SIZE:
            self._take(path, got)
            return
        count = 0
        try:
            for _ in hits(file, self._finder, self._budget):
                count += 1
                if self._is_once or self.total + count >= self._enough:
                    break
        except BinaryFileError:
            self.binary += 1
            return
        if count:
            self._note(path, count)

    def _note(self, path: str, count: int) -> None:
        self.found.append((path, count))
        self.total += count
        self.has_enough = self.total >= self._enough

    def _flush(self) -> None:
        """Search what has been read."""
        end, starts = self._end, self._starts
        at = 0
        while not self.has_enough and (found := self._find(self._buffer, at, end)) >= 0 and found < end:
            number = bisect_right(starts, found) - 1
            stop = starts[number + 1] if number + 1 < len(starts) else end
            if self._buffer.find(0, starts[number], stop) >= 0:
                self.binary += 1
            else:
                self._note(self._paths[number], self._count(found, stop))
            at = stop
        self._end = 0
        self._starts, self._paths = [], []
        self._budget.take()

    def _count(self, found: int, stop: int) -> int:
        count = 0
        while 0 <= found < stop:
            count += 1
            if self._is_once or self.total + count >= self._enough:
                break
            following = self._buffer.find(b"\n", found, stop) + 1
            found = self._find(self._buffer, following, stop) if 0 < following < stop else -1
        return count


def hits(file: int, find: Finder, budget: Budget) -> Iterator[Hit]:
    """Yield the matching lines of an open file; BinaryFileError at the first NUL byte."""
    os.lseek(file, 0, os.SEEK_SET)
    return _Pieces(file, find, budget).hits()


class _Pieces:
    """A file, piece by piece: whole lines, as many as fit, or a part of a longer one."""

    def __init__(self, file: int, find: Finder, budget: Budget) -> None:
        self._file = file
        self._find = find.find
        self._budget = budget
        # No larger than a small file, because to make room for a large one takes longer than to search it.
        self._size = min(_SIZE, max(2 * _OVERLAP, os.fstat(file).st_size + 1))
        self._buffer = bytearray(self._size + 1)
        self._view = memoryview(self._buffer)
        self._fill = 0  # how much of the buffer is used
        self._base = 0  # where in the file the buffer begins
        self._line = 1  # the number of the line that the buffer begins in
        self._line_start = 0  # where in the file that line begins
        self._is_done = False  # that line has matched already

    def hits(self) -> Iterator[Hit]:
        is_end = False
        while not is_end and self._budget.take():
            is_end = self._read()
            if is_end and self._fill and self._buffer[self._fill - 1] != 10:
                self._buffer[self._fill] = 10  # there is always room for it
                self._fill += 1
            whole = self._buffer.rfind(b"\n", 0, self._fill) + 1
            if whole:
                yield from self._search(whole)
            elif self._fill:
                yield from self._search_part()

    def _read(self) -> bool:
        start = self._fill
        while self._fill < self._size:
            got = os.readv(self._file, [self._view[self._fill : self._size]])
            if not got:
                break
            self._fill += got
        if self._buffer.find(0, start, self._fill) >= 0:
            raise BinaryFileError
        return self._fill < self._size

    def _search(self, end: int) -> Iterator[Hit]:
        """Search whole lines up to a place in the buffer, and keep what is behind it."""
        at = 0
        if self._is_done or self._base > self._line_start:  # the first of them began in an earlier piece
            first = self._buffer.find(b"\n", 0, end)
            if not self._is_done and 0 <= (found := self._find(self._buffer, 1, first + 1)) <= first:
                yield Hit(self._line, self._line_start, self._base + found - self._line_start)
            at = first + 1
            self._line += 1
            self._is_done = False
        counted = at
        while at < end and 0 <= (found := self._find(self._buffer, at, end)) < end:
            start = self._buffer.rfind(b"\n", at, found) + 1 or at
            self._line += self._buffer.count(b"\n", counted, start)
            counted = start
            yield Hit(self._line, self._base + start, found - start)
            at = self._buffer.find(b"\n", found, end) + 1
        self._line += self._buffer.count(b"\n", counted, end)
        self._line_start = self._base + end
        self._keep(end)

    def _search_part(self) -> Iterator[Hit]:
        """Search a part of a line that does not fit, and keep some of it, because a match may begin there."""
        begin = 1 if self._base > self._line_start else 0  # `^` is only where the line begins
        # The last byte stays out, so that `$` does not see an end there.
        if not self._is_done and 0 <= (found := self._find(self._buffer, begin, self._fill - 1)) < self._fill:
            self._is_done = True
            yield Hit(self._line, self._line_start, self._base + found - self._line_start)
        self._keep(self._fill - _OVERLAP)

    def _keep(self, start: int) -> None:
        rest = self._buffer[start : self._fill]
        self._buffer[: len(rest)] = rest
        self._base += start
        self._fill = len(rest)
