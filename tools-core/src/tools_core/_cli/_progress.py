"""A progress bar on standard error for tools that report their progress."""

from __future__ import annotations

import sys
import threading
from math import isnan
from time import monotonic

from tools_core._cli._terminal import one_line, terminal_width

_WIDTH = 24  # columns of the bar itself
_INTERVAL = 0.05  # seconds between two bars: a tool may report a million times


class ProgressBar:
    """One line of a terminal that is overwritten by each report."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # a tool may report from several threads
        self._columns = 0
        self._next = 0.0
        self._is_closed = False

    def show(self, done: float, total: float | None, message: str) -> None:
        """Draw a report, unless the last one was drawn a moment ago."""
        now = monotonic()
        is_end = total is not None and done >= total
        with self._lock:
            if not self._is_closed and (now >= self._next or is_end):
                self._next = now + _INTERVAL
                line = f"{_bar(done, total)} {one_line(message)}".strip()
                most = terminal_width(sys.stderr) - 1  # after the last column a terminal would start a new line
                while _columns(line) > most:
                    line = line[: min(most, len(line) - 1)]
                self._draw(line)

    def clear(self) -> None:
        """Erase the line; later reports, from abandoned threads, are not drawn."""
        with self._lock:
            self._is_closed = True
            if self._columns:
                self._draw("")
                sys.stderr.write("\r")
                sys.stderr.flush()

    def _draw(self, line: str) -> None:
        columns = _columns(line)
        sys.stderr.write(f"\r{line}{' ' * (self._columns - columns)}")  # spaces erase the rest of a longer line
        sys.stderr.flush()
        self._columns = columns


def _bar(done: float, total: float | None) -> str:
    if total is None:
        return f"{done:g}"
    share = done / total if total else 1.0
    filled = 0 if isnan(share) else int(_WIDTH * min(max(share, 0.0), 1.0))
    return f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {done:g}/{total:g}"


def _columns(text: str) -> int:
    """Return an upper limit of the columns of a text: characters that are not ASCII may take two."""
    return len(text) + sum(not char.isascii() for char in text)
