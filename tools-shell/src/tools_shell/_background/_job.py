"""A command that runs in the background, from its start until nothing of it is left."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._process._pump import Pump
from tools_shell._process._run import DRAIN, GRACE, KILL, SLICE

if TYPE_CHECKING:
    import select
    from collections.abc import Callable, Collection

    from tools_shell._background._merged import Merged
    from tools_shell._process._command import Process
    from tools_shell._sandbox._isolation import Isolation

_NEVER = float("inf")


class About(NamedTuple):
    """What is known of a job before it starts."""

    id: str
    name: str
    command: str
    has_stdin: bool
    terminal: bool
    limit: float | None  # seconds that it may run
    isolation: Isolation


class Job:
    """Followed by the thread of `_follow`; `changed` guards what is written, and is notified of all that happens.

    That thread alone calls `begin`, `descriptors`, `handle`, `advance` and `fail`; the others any thread may call.
    """

    def __init__(self, about: About, process: Process, output: Merged, wake: Callable[[], None]) -> None:
        self.about = about
        self.output = output
        self.changed = threading.Condition()
        self.input = threading.Lock()  # held by who writes, so that the texts of two do not mix
        self.begun = 0  # bytes of a line that stand on its terminal without their end; for who holds that lock
        self.started = time.monotonic()
        self.ended: float | None = None  # when it was over; what follows is final then
        self.exit: int | None = None
        self.limit: str | None = None  # the one that it was ended for
        self.is_stopping = False
        self.left_behind = False  # something that it had started was still there, and was ended
        self.is_gone = False  # nothing of it is there any more
        self.problem: str | None = None  # why it could not be followed to its end
        self._process = process
        self._wake = wake
        self._pump: Pump | None = None
        self._poll: select.poll | None = None
        self._orders: deque[float] = deque()  # to end, with so many seconds of grace
        self._limit_at = self.started + (about.limit or _NEVER)
        self._kill_at = _NEVER
        self._finish_at = _NEVER
        self._has_killed = False

    def stop(self, grace: float) -> None:
        """Begin to end it: ask it to, and end it by force after `grace` seconds; with 0 seconds by force at once."""
        self.is_stopping = True
        self._orders.append(grace)
        self._wake()

    def kill(self) -> None:
        """Let the next `advance` end it by force."""
        if not self._has_killed and self.ended is None:
            self.stop(0)

    def wait(self, until: float, cancelled: Callable[[], bool], is_enough: Callable[[], bool]) -> bool:
        """Wait until it is over or `is_enough`, which is asked at every change; returns whether it was enough."""
        with self.changed:
            while not is_enough():
                left = until - time.monotonic()
                if self.ended is not None or left <= 0 or cancelled():
                    return False
                self.changed.wait(min(left, SLICE))
        return True

    def write(self, data: bytes) -> int | None:
        """Hand it some of the data; returns how many bytes, None when it takes no more at all."""
        with self.changed:
            descriptor = self._process.stdin
            if self.ended is not None or descriptor is None:
                return None
            try:
                return os.write(descriptor, data)
            except BlockingIOError:
                return 0
            except OSError:  # nobody reads it any more
                self._process.close_stdin()
                return None

    def close_stdin(self) -> None:
        """End what it reads, unless that is a terminal."""
        with self.changed:
            if self.ended is None:
                self._process.close_stdin()

    @property
    def stdin(self) -> int | None:
        """The descriptor to poll before `write`."""
        return None if self.ended is not None else self._process.stdin

    @property
    def is_followed(self) -> bool:
        """Whether the thread has begun to follow it, which then ends it, too."""
        return self._pump is not None

    def begin(self, poll: select.poll) -> None:
        """Register the descriptors to follow."""
        self._poll = poll
        stdout, stderr = partial(self._take, "stdout"), partial(self._take, "stderr")
        self._pump = Pump(self._process, stdout, stderr, stdin=None, poll=poll)

    def _take(self, stream: str, chunk: bytes) -> None:
        with self.changed:
            self.output.add(stream, chunk)
            self.changed.notify_all()

    def descriptors(self) -> Collection[int]:
        """What is being polled at present."""
        return () if self._pump is None or self.ended is not None else self._pump.descriptors

    def handle(self, descriptor: int, events: int) -> None:
        """Do what there is to do at a descriptor, without waiting."""
        if self._pump is not None:
            self._pump.handle(descriptor, events)

    def advance(self) -> float | None:
        """Do what is due; returns when something will be due again, infinity for never, None when all is over."""
        if self.ended is not None:
            return None
        now = time.monotonic()
        while self._orders:
            self._end(now, self._orders.popleft())
        if self._process.exit is not None:
            self._limit_at = _NEVER
            self._settle(now)
        if now >= self._limit_at:
            self._limit_at = _NEVER
            self.limit = f"time limit {self.about.limit:g} s"
            self._end(now, GRACE)
        if now >= self._kill_at:
            self._kill_at = _NEVER
            self._kill(now)
        if now >= self._finish_at:
            self._finish()
            return None
        return min(self._limit_at, self._kill_at, self._finish_at)

    def _end(self, now: float, grace: float) -> None:
        if grace and not self._has_killed:
            self._process.terminate()
        self._kill_at = min(self._kill_at, now + grace)

    def _settle(self, now: float) -> None:
        """The command has ended: what it has left behind gets no more time than its last words take."""
        is_dry = self._pump is None or self._pump.is_dry
        if self._process.is_gone and is_dry:
            self._finish_at = now
        elif not self._has_killed:
            self._kill_at = min(self._kill_at, now + DRAIN)
        elif self._process.is_gone:  # who holds the output now is no part of the job
            self._finish_at = min(self._finish_at, now + DRAIN)

    def _kill(self, now: float) -> None:
        if self._has_killed:
            return
        self._has_killed = True
        self.left_behind = self._process.exit is not None and not self.is_stopping and self.limit is None
        self._process.kill()
        self._finish_at = now + KILL

    def fail(self, error: OSError) -> None:
        """End it at once: it cannot be followed any more."""
        self.problem = error.strerror or str(error)
        self._finish()

    def _finish(self) -> None:
        if self._poll is not None:
            for descriptor in self.descriptors():
                self._poll.unregister(descriptor)
        with self.changed:
            self.is_gone = self._process.is_gone
            self._process.close()
            self.exit = self._process.exit
            self.limit = self._process.hit or self.limit
            self.output.finish()
            self.ended = time.monotonic()
            self.changed.notify_all()
