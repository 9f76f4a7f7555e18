"""Progress of a tool on one line of standard error."""

from __future__ import annotations

import sys
import threading
from time import monotonic
from typing import Self

from tools_core._cli._terminal import one_line, terminal_width

_INTERVAL = 0.05  # seconds between two lines: a tool may report a million times


class ProgressLine:
    """A line of a terminal that each report overwrites; leaving the context erases it."""

    def __enter__(self) -> Self:
        self._lock = threading.Lock()  # a tool may report from several threads
        self._columns = 0
        self._next = 0.0
        self._is_closed = False
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True  # threads that the call has abandoned may still report
            if self._columns:
                self._draw("")
                sys.stderr.write("\r")
                sys.stderr.flush()

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Draw a report, unless the last one was drawn a moment ago."""
        with self._lock:
            if not self._is_closed and (monotonic() >= self._next or done == total):
                self._next = monotonic() + _INTERVAL
                share = f"{done:g}/{total:g}" if total else f"{done:g}"
                # After the last column a terminal would begin a new line.
                self._draw(f"{share} {one_line(message)}".strip()[: terminal_width() - 1])

    def _draw(self, line: str) -> None:
        sys.stderr.write(f"\r{line.ljust(self._columns)}")  # spaces erase the rest of a longer line
        sys.stderr.flush()
        self._columns = len(line)
