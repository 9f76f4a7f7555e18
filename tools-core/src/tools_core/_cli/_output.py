"""Output to terminals, files and pipes; text of tools cannot control a terminal."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import threading
import traceback
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any, Self, TextIO

from tools_core.text import closest, replace_hidden, visible

_PROGRESS_INTERVAL = 0.05  # seconds between two lines: a tool may report a million times


class CommandError(Exception):
    """An error that ends the command: a message, hints that are printed below it, and the exit code.

    `type` is the error type in the JSON of `ask-tools call --json`.
    """

    def __init__(self, message: str, *hints: str, status: int = 2, type: str = "validation_error") -> None:
        super().__init__(message)
        self.hints = [hint for hint in hints if hint]
        self.status = status
        self.type = type


def is_terminal(stream: TextIO) -> bool:
    """Return whether `stream` is a terminal."""
    return not stream.closed and stream.isatty()


def one_line(text: str) -> str:
    """Return `text` on one line: line ends, tabs and invisible characters become escapes."""
    return visible(text, keep_layout=True).replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def json_text(value: Any, *, pretty: bool) -> str:
    """Return `value` as JSON, with invisible characters as escapes; ASCII if standard output is not Unicode."""
    layout: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = json.dumps(value, ensure_ascii=not encoding.lower().startswith("utf"), **layout)
    return replace_hidden(text, lambda char: json.dumps(char)[1:-1], keep_layout=True)


def write(text: str) -> None:
    """Print text as lines; control characters become escapes on a terminal, and stay in a file or pipe."""
    if is_terminal(sys.stdout):
        text = visible(text, keep_layout=True)
    sys.stdout.write(text + "\n" if text and not text.endswith("\n") else text)


def write_json(value: Any) -> None:
    """Print `value` as JSON, indented on a terminal and on one line elsewhere."""
    sys.stdout.write(json_text(value, pretty=is_terminal(sys.stdout)) + "\n")


def write_table(rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns; on a terminal each row is cut to its width."""
    lines = aligned(rows)
    if is_terminal(sys.stdout):
        width = _terminal_width()
        lines = [line if len(line) <= width else line[: width - 1] + "…" for line in lines]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line for each row, with columns that begin below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def note(text: str) -> None:
    """Print to standard error."""
    sys.stdout.flush()  # keeps the order where both streams are one file
    sys.stderr.write(visible(text, keep_layout=True) + "\n")
    sys.stderr.flush()


def error(message: str, hints: Iterable[str] = ()) -> None:
    """Print an error, and below it what to do."""
    note("\n  ".join([f"error: {message}", *hints]))


def show_traceback(failure: BaseException | None) -> None:
    """Print the traceback of a failure if `ASK_TOOLS_DEBUG` is set."""
    if failure is not None and os.environ.get("ASK_TOOLS_DEBUG"):
        note("".join(traceback.format_exception(failure)).rstrip())


def location(failure: BaseException | None, package: str) -> str:
    """Return `FILE:LINE` of the innermost code of a top-level package in a traceback, or an empty string."""
    if isinstance(failure, SyntaxError) and failure.filename:
        return f"{failure.filename}:{failure.lineno}"
    frames = traceback.walk_tb(failure.__traceback__ if failure else None)
    places = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in frames
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package
    ]
    return places[-1] if places else ""


def counted(number: int, noun: str) -> str:
    """Return `1 tool`, `2 tools`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return `did you mean list?` if a candidate is similar, else an empty string."""
    similar = closest(name, candidates)
    return f"did you mean {' or '.join(similar)}?" if similar else ""


class ProgressLine:
    """Progress of a tool on one line of a terminal; each report overwrites it, and leaving the context erases it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # a tool may report from several threads
        self._width = 0
        self._next = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._next = math.inf  # threads that the call has abandoned may still report
            if self._width:
                self._draw("")
                sys.stderr.write("\r")
                sys.stderr.flush()

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Draw a report, unless another one was drawn within the interval."""
        with self._lock:
            if monotonic() >= self._next or (done == total and self._next < math.inf):
                self._next = monotonic() + _PROGRESS_INTERVAL
                amount = f"{done:g}/{total:g}" if total else f"{done:g}"
                # After the last column a terminal would begin a new line.
                self._draw(f"{amount} {one_line(message)}".strip()[: _terminal_width() - 1])

    def _draw(self, line: str) -> None:
        sys.stderr.write(f"\r{line.ljust(self._width)}")  # spaces erase the rest of a longer line
        sys.stderr.flush()
        self._width = len(line)


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns
