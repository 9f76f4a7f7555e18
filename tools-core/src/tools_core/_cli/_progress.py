"""A progress bar on standard error for tools that report their progress."""

from __future__ import annotations

import sys
import threading
from time import monotonic

from tools_core._cli._terminal import one_line, terminal_width

_WIDTH = 24  # columns of the bar itself
_INTERVAL = 0.05  # seconds between two bars: a tool may report a million times


class ProgressBar:
    """One line of a terminal that is overwritten by each report."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # a tool may report from several threads
        self._shown = 0
        self._next = 0.0
        self._is_closed = False

    def show(self, done: float, total: float | None, message: str) -> None:
        """Draw a report, unless the last one was drawn a moment ago."""
        with self._lock:
            if not self._is_closed and (monotonic() >= self._next or done == total):
                self._next = monotonic() + _INTERVAL
                # After the last column a terminal would begin a new line.
                self._draw(f"{_bar(done, total)} {one_line(message)}".strip()[: terminal_width() - 1])

    def clear(self) -> None:
        """Erase the line; later reports, from abandoned threads, are not drawn."""
        with self._lock:
            self._is_closed = True
            if self._shown:
                self._draw("")
                sys.stderr.write("\r")
                sys.stderr.flush()

    def _draw(self, line: str) -> None:
        sys.stderr.write(f"\r{line.ljust(self._shown)}")  # spaces erase the rest of a longer line
        sys.stderr.flush()
        self._shown = len(line)


def _bar(done: float, total: float | None) -> str:
    if not total:
        return f"{done:g}"
    filled = round(_WIDTH * min(max(done / total, 0.0), 1.0))
    return f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {done:g}/{total:g}"
