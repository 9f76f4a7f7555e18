"""Waiting until a text is in the output of a background job."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tools_core import ToolError
from tools_shell._background._reading import read
from tools_shell._text import encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_shell._background._job import Job
    from tools_shell._background._merged import Stream

_BLOCK = 1 << 16
_LONGEST_LINE = 1 << 12  # bytes of a line that are looked at together, while its end has not come
_SHOWN = 150  # characters of a line on either side of what was found


class Search:
    """Looks through what a job has written from a cursor on, and then through what it goes on to write.

    It sees what a reader sees: what is hidden cannot be guessed by asking whether it is there.
    """

    def __init__(self, job: Job, cursor: int, stream: Stream, pattern: str, *, regex: bool) -> None:
        self.found: str | None = None  # the line
        self._job = job
        self._cursor = cursor
        self._stream: Stream = stream
        self._seen = -1  # where the output ended when it was last looked at
        self._rest = b""  # of what was looked through: where what is yet to come may complete a match
        text = encoded(pattern)
        self._find = _regex(text) if regex else lambda data: _literal(data, text)
        self._overlap = 0 if regex else len(text) - 1

    def wait(self, until: float, cancelled: Callable[[], bool]) -> None:
        """Until it is found, the job is over, the time is up or the call is cancelled."""
        while not self._look():
            if not self._job.wait(until, cancelled, self._has_come):
                self._look()  # its last words
                return

    def _has_come(self) -> bool:
        return self._job.output.end("both") > self._seen

    def _look(self) -> bool:
        """Look through all that has come."""
        self._seen = self._job.output.end("both")
        while self.found is None:
            part = read(self._job, self._cursor, _BLOCK, self._stream)
            if part.next_cursor == self._cursor:
                return False
            if part.skipped:
                self._rest = b""
            self._cursor = part.next_cursor
            self._feed(part.text.encode())
        return True

    def _feed(self, data: bytes) -> None:
        data = self._rest + data
        if (place := self._find(data)) is not None:
            self.found = _line(data, *place)
        line = data.rfind(b"\n") + 1
        self._rest = data[max(min(line, len(data) - self._overlap), len(data) - _LONGEST_LINE, 0) :]


def _literal(data: bytes, text: bytes) -> tuple[int, int] | None:
    start = data.find(text)
    return None if start < 0 else (start, start + len(text))


def _regex(pattern: bytes) -> Callable[[bytes], tuple[int, int] | None]:
    """Only by an engine whose time is linear: a pattern is not to keep this process busy for ever."""
    try:
        re2: Any = import_module("re2")  # an extra, without types
    except ImportError as error:
        message = 'regular expressions need pip install "tools-shell[re2]"; with regex=false it is plain text'
        raise ToolError(message, "unavailable") from error
    options = re2.Options()
    options.never_nl = True  # each line for itself
    options.log_errors = False
    try:
        compiled = re2.compile(b"(?m)" + pattern, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error
        message = f"wait_for is no valid regular expression: {reason}; with regex=false it is plain text"
        raise ToolError(message, "validation_error") from None

    def find(data: bytes) -> tuple[int, int] | None:
        found = compiled.search(data)
        return None if found is None else (found.start(), found.end())

    return find


def _line(data: bytes, start: int, stop: int) -> str:
    """The line that something was found in, or what of it is near that."""
    begin = max(data.rfind(b"\n", 0, start) + 1, start - _SHOWN)
    end = data.find(b"\n", stop)
    end = min(len(data) if end < 0 else end, stop + _SHOWN)
    return data[begin:end].decode(errors="replace").rstrip("\r")
