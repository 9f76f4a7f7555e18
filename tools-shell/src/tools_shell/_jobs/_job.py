"""`Job`: a command in the background, with a thread that reads its output."""

from __future__ import annotations

import os
import select
import threading
import time
from typing import TYPE_CHECKING, Any

from tools_shell._output import Ring
from tools_shell._process._pump import Pump
from tools_shell._process._run import GRACE, SLICE, conclude, wait_for_end
from tools_shell._redactor import RedactedStream, printable
from tools_shell._report import BACKGROUND, SURVIVORS, exit_of, exit_text
from tools_shell._sandbox._start import start

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_shell._process._run import Outcome
    from tools_shell._redactor import Redactor
    from tools_shell._sandbox._command import Command

_KEEP = 1 << 20  # characters of output
_CHUNK = 1 << 16  # bytes of input at a time


class Job:
    """`changed` is the lock of the output and the result, and is notified when they change."""

    def __init__(self, id: str, script: str, limit: float, command: Command, redactor: Redactor) -> None:
        """Start the job with a limit in seconds; OSError if that fails."""
        self.id = id
        self.script = script
        self._limit = limit
        self.isolation = command.isolation
        self.is_reachable = command.isolation.network or command.network is not None  # by other calls of the run
        self.has_stdin = command.has_stdin
        self.terminal = command.terminal
        self.changed = threading.Condition()
        self._input = threading.Lock()  # held during a write, so that texts do not mix
        self.started = time.monotonic()
        self.ended: Outcome | None = None
        self.is_stopping = False
        self._ring = Ring(_KEEP)
        self._stream = RedactedStream(redactor)
        self._process = start(command)
        try:
            self._pump = Pump(self._process, self._add, stdin=None)
            threading.Thread(target=self._follow, name=f"tools-shell {id}", daemon=True).start()
        except BaseException:
            self._process.close()
            raise

    def _follow(self) -> None:
        process, pump = self._process, self._pump
        reason = wait_for_end(process, pump, self.started + self._limit, GRACE, None)
        ended = conclude(process, pump, reason, time.monotonic() - self.started)
        with self.changed:
            self._add(b"", is_last=True)
            process.close()
            self.isolation.settle()
            self.ended = ended

    def _add(self, chunk: bytes, *, is_last: bool = False) -> None:
        with self.changed:
            self._ring.add(self._stream.feed(chunk, is_last=is_last))
            self.changed.notify_all()

    def terminate(self) -> None:
        """Send SIGTERM."""
        with self.changed:
            if self.ended is None:
                self.is_stopping = True
                self._process.terminate()

    def kill(self) -> None:
        """Start to kill the job."""
        with self.changed:
            if self.ended is None:
                self.is_stopping = True
                self._process.kill()

    def wait(self, until: float, cancelled: Callable[[], bool] = bool, is_enough: Callable[[], bool] = bool) -> None:
        """Wait until the job has ended, or `is_enough`, which is called at every change."""
        with self.changed:
            while not is_enough() and self.ended is None:
                left = until - time.monotonic()
                if left <= 0 or cancelled():
                    return
                self.changed.wait(min(left, SLICE))

    @property
    def end(self) -> int:
        """Return the position after the last character of output."""
        return self._ring.end

    def position(self, cursor: int) -> int:
        """Return the position of a cursor; a negative one counts from the end."""
        return min(cursor, self.end) if cursor >= 0 else max(self.end + cursor, self._ring.start)

    def read(self, cursor: int, limit: int) -> tuple[int, str, int]:
        """Return the output from a position, as far as it is kept, with its start and end positions."""
        with self.changed:
            start = max(cursor, self._ring.start)
            text = self._ring.read(start, limit)
        return start, printable(text), start + len(text)

    def find(self, text: str, start: int) -> str | None:
        """Return the line that contains `text` in the output from `start` on."""
        with self.changed:
            output = self._ring.read(start, _KEEP)
        before, match, after = output.partition(text)
        if not match:
            return None
        return printable(before.rpartition("\n")[2] + text + after.partition("\n")[0]).rstrip("\r")

    def status(self) -> dict[str, Any]:
        """Return whether the job runs and how it ended; rare facts are present only if they apply."""
        with self.changed:
            if self.ended is None:
                return {"status": "stopping" if self.is_stopping else "running"}
            match = {
                "stopped": self.is_stopping,
                "limit": f"time limit {self._limit:g} s" if self.ended.reason == "limit" else self.ended.reason,
                "background": BACKGROUND if self.ended.had_background and not self.is_stopping else None,
                "survivors": None if self.ended.is_gone else SURVIVORS,
            }
            facts = {"status": "ended", **exit_of(self.ended.returncode)}
            return facts | {name: value for name, value in match.items() if value}

    @property
    def age(self) -> float:
        """Return the age of the job in seconds."""
        return time.monotonic() - self.started if self.ended is None else self.ended.duration

    def remark(self) -> str:
        """Return the status as text."""
        facts = self.status()
        if facts["status"] != "ended":
            return f"{facts['status']} for {self.age:.1f} s"
        how = facts.get("limit") or exit_text(facts)
        return f"ended after {self.age:.1f} s: {how}"

    def write(self, data: bytes, until: float, cancelled: Callable[[], bool], *, is_last: bool) -> int:
        """Write to standard input until a deadline, and return the number of bytes written; `is_last` closes it."""
        written_bytes = 0
        with self._input:
            while written_bytes < len(data) and (descriptor := self.stdin) is not None:
                try:
                    with self.changed:
                        if self.stdin == descriptor:
                            written_bytes += os.write(descriptor, data[written_bytes : written_bytes + _CHUNK])
                except BlockingIOError:
                    left = until - time.monotonic()
                    if left <= 0 or cancelled():
                        break
                    poll = select.poll()
                    poll.register(descriptor, select.POLLOUT)
                    poll.poll(min(left, SLICE) * 1000)
                except OSError:  # no process reads the input
                    self._close_stdin()
            if is_last and written_bytes == len(data):
                self._close_stdin()
        return written_bytes

    def _close_stdin(self) -> None:
        with self.changed:
            if self.ended is None:
                self._process.close_stdin()

    @property
    def stdin(self) -> int | None:
        return None if self.ended is not None else self._process.stdin
