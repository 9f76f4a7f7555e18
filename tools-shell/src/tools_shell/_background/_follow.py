"""One thread that reads what all background jobs of this process write, and sees to it that they end in time."""

from __future__ import annotations

import atexit
import os
import select
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_shell._background._job import Job

_NEVER = float("inf")
_LONGEST_WAIT = 24 * 3600.0  # seconds: a limit may be further away than the milliseconds that `poll` can count
_PATIENCE = 10.0  # seconds that the end of this process waits for the jobs that it kills


class Follower:
    """The thread, which is there as long as there is something to follow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._added: deque[Job] = deque()
        self._is_ending = False
        self._followed: dict[Job, float] = {}  # and when each is due
        self._by_descriptor: dict[int, Job] = {}
        self._poll = select.poll()
        # Never closed, so that a late `wake` cannot hit a descriptor of somebody else.
        self._woken, self._wakes = os.pipe()
        self._pipe = os.fstat(self._woken)
        for end in (self._woken, self._wakes):
            os.set_blocking(end, False)
        self._poll.register(self._woken, select.POLLIN)

    def is_intact(self) -> bool:
        """Whether its descriptors are still its own: a host that closes all there are, as daemons do, closes these."""
        try:
            return all(os.path.samestat(os.fstat(end), self._pipe) for end in (self._woken, self._wakes))
        except OSError:
            return False

    def follow(self, job: Job) -> None:
        """Look after it from now on, until it is over."""
        with self._lock:
            self._added.append(job)
            self.wake()
            if self._thread is None or not self._thread.is_alive():
                # As a daemon it does not keep the process from ending, which ends the jobs first (`end_all`).
                self._thread = threading.Thread(target=self._run, name="tools-shell jobs", daemon=True)
                self._thread.start()

    def take_back(self, job: Job) -> None:
        """Do not begin with it, if that has not been done yet."""
        with self._lock, suppress(ValueError):  # it was begun with
            self._added.remove(job)

    def wake(self) -> None:
        """Let everything be advanced soon. Takes no lock: a finalizer may ask for it at any moment."""
        with suppress(BlockingIOError):  # it has been woken already, more often than it could take
            os.write(self._wakes, b"\0")

    def _run(self) -> None:
        while self._step():
            pass

    def _step(self) -> bool:
        """One round; False when there is nothing left to follow."""
        due = min(self._followed.values(), default=0.0)
        wait = None if due == _NEVER else min(max(due - time.monotonic(), 0), _LONGEST_WAIT) * 1000
        touched: set[Job] = set()
        for descriptor, events in self._poll.poll(wait):
            if descriptor == self._woken:
                os.read(self._woken, 1 << 12)
                touched.update(self._followed)  # whichever it was about
            elif (job := self._by_descriptor.get(descriptor)) is not None:
                self._handle(job, descriptor, events)
                touched.add(job)
        with self._lock:
            while self._added:
                touched.add(self._begin(self._added.popleft()))
        self._advance(touched)
        with self._lock:
            if self._followed or self._added:
                return True
            self._thread = None
            return False

    def _begin(self, job: Job) -> Job:
        self._followed[job] = 0
        job.begin(self._poll)
        self._by_descriptor |= dict.fromkeys(job.descriptors(), job)
        return job

    def _handle(self, job: Job, descriptor: int, events: int) -> None:
        try:
            job.handle(descriptor, events)
        except OSError as error:  # one that fails must not hold up the others
            job.fail(error)
        if descriptor not in job.descriptors():
            del self._by_descriptor[descriptor]

    def _advance(self, touched: set[Job]) -> None:
        now = time.monotonic()
        for job, due in list(self._followed.items()):
            if self._is_ending:
                job.kill()
            if job in touched or due <= now:
                self._advance_one(job)

    def _advance_one(self, job: Job) -> None:
        try:
            due = job.advance()
        except OSError as error:
            job.fail(error)
            due = None
        if due is not None:
            self._followed[job] = due
            return
        del self._followed[job]
        for descriptor in [number for number, owner in self._by_descriptor.items() if owner is job]:
            del self._by_descriptor[descriptor]

    def end_all(self) -> None:
        """Kill everything that is followed, and wait for that."""
        self._is_ending = True
        with self._lock:
            thread = self._thread
        if thread is not None:
            self.wake()
            thread.join(_PATIENCE)

    def abandon(self) -> None:
        """Let go of what is its own: this is a fork of the process that it belongs to."""
        os.close(self._woken)
        os.close(self._wakes)


_making = threading.Lock()
_follower: Follower | None = None
_inherited: list[Follower] = []  # those of parents, never finalized: that would touch what is theirs


def follower() -> Follower:
    """The one of this process."""
    global _follower  # noqa: PLW0603  (there is one per process)
    with _making:
        if _follower is not None and not _follower.is_intact():
            atexit.unregister(_follower.end_all)
            _follower = None
        if _follower is None:
            _follower = Follower()
            atexit.register(_follower.end_all)
        return _follower


def _forget_after_fork() -> None:
    global _follower, _making  # noqa: PLW0603  (as above)
    _making = threading.Lock()  # another thread may have held it
    if _follower is not None:
        atexit.unregister(_follower.end_all)
        _follower.abandon()
        _inherited.append(_follower)
        _follower = None


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_after_fork)
