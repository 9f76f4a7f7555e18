"""What a tool reports of its progress, as a bar on a terminal or as plain lines; never in the output."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from math import isfinite
from time import monotonic
from typing import TYPE_CHECKING

from tools_core._cli._terminal import is_terminal, note, one_line, terminal_width

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Report = Callable[[float, float | None, str], None]

_WIDTH = 24  # columns of the bar itself
_PAUSE = 0.05  # seconds between two bars: a tool may report a million times


@contextmanager
def shown_progress(style: str | None) -> Generator[Report | None]:
    """Where to report to; the line of a terminal is clean again at the end. By default a bar where a person sees it."""
    style = style or ("bar" if is_terminal(sys.stderr) else "none")
    if style == "bar" and is_terminal(sys.stderr):
        bar = _Bar()
        try:
            yield bar.show
        finally:
            bar.clear()
    else:
        yield _plain if style == "plain" else None


def _plain(done: float, total: float | None, message: str) -> None:
    note(f"{_counted(done, total)} {one_line(message)}".rstrip())


def _counted(done: float, total: float | None) -> str:
    return f"{done:g}" if total is None else f"{done:g}/{total:g}"


class _Bar:
    """One line at the bottom of a terminal, written over itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # a tool may report from several threads
        self._columns = 0
        self._next = 0.0
        self._is_over = False

    def show(self, done: float, total: float | None, message: str) -> None:
        now = monotonic()
        is_end = total is not None and done >= total
        with self._lock:
            if self._is_over or (now < self._next and not is_end):
                return
            self._next = now + _PAUSE
            self._draw(_fitting(f"{_bar(done, total)}{_counted(done, total)} {one_line(message)}".rstrip()))

    def clear(self) -> None:
        with self._lock:
            self._is_over = True  # a thread that was left behind draws no more
            if self._columns:
                self._draw("")
                sys.stderr.write("\r")
                sys.stderr.flush()

    def _draw(self, line: str) -> None:
        columns = _columns(line)
        # Blanks wipe what was longer; an escape sequence would not be understood everywhere.
        sys.stderr.write(f"\r{line}{' ' * (self._columns - columns)}")
        sys.stderr.flush()
        self._columns = columns


def _bar(done: float, total: float | None) -> str:
    if total is None or not (isfinite(done) and isfinite(total)) or total <= 0:
        return ""
    filled = int(_WIDTH * min(max(done / total, 0.0), 1.0))
    return f"[{'#' * filled}{'-' * (_WIDTH - filled)}] "


def _fitting(line: str) -> str:
    """What of a line fits; the last column stays free, for a terminal would go on to the next line."""
    most = terminal_width(sys.stderr) - 1
    while _columns(line) > most:
        line = line[: max(0, most - 1)] if len(line) > most else line[:-1]
    return line


def _columns(text: str) -> int:
    """How many columns a text takes: two for a wide character, none for one that joins another."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # a table of 1 MB, for such text alone

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
