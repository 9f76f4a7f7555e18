"""One thread that reads what all background jobs of this process write, and sees to it that they end in time."""

from __future__ import annotations

import atexit
import os
import select
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

_NEVER = float("inf")
_LONGEST_WAIT = 24 * 3600.0  # seconds: a limit may be further away than the milliseconds that `poll` can count
_PATIENCE = 10.0  # seconds that the end of this process waits for the jobs that it kills


class Followed(Protocol):
    """What the thread looks after; nobody else calls these, but `kill` is called by any thread, at any moment."""

    def begin(self, poll: select.poll) -> None:
        """Register the descriptors to follow."""
        ...

    def descriptors(self) -> Collection[int]:
        """What is being polled at present."""
        ...

    def handle(self, descriptor: int, events: int) -> None:
        """Do what there is to do at a descriptor, without waiting."""
        ...

    def advance(self) -> float | None:
        """Do what is due; returns when something will be due again, infinity for never, None when all is over."""
        ...

    def kill(self) -> None:
        """Let the next `advance` end it by force."""
        ...

    def fail(self, error: OSError) -> None:
        """End it at once: it cannot be followed any more."""
        ...

    def abandon(self) -> None:
        """Close, in a fork of the process that it belongs to, what would keep it from ending."""
        ...


class Follower:
    """The thread, which is there as long as there is something to follow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._added: deque[Followed] = deque()
        self._is_ending = False
        self._followed: dict[Followed, float] = {}  # and when each is due
        self._by_descriptor: dict[int, Followed] = {}
        self._poll = select.poll()
        # Never closed, so that a late `wake` cannot hit a descriptor of somebody else.
        self._woken, self._wakes = os.pipe()
        for end in (self._woken, self._wakes):
            os.set_blocking(end, False)
        self._poll.register(self._woken, select.POLLIN)

    def follow(self, followed: Followed) -> None:
        """Look after it from now on, until it is over."""
        with self._lock:
            self._added.append(followed)
            self.wake()
            if self._thread is None or not self._thread.is_alive():
                # As a daemon it does not keep the process from ending, which ends the jobs first (`_end_all`).
                self._thread = threading.Thread(target=self._run, name="tools-shell jobs", daemon=True)
                self._thread.start()

    def take_back(self, followed: Followed) -> None:
        """Do not begin with it, if that has not been done yet."""
        with self._lock, suppress(ValueError):
            self._added.remove(followed)

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
        touched: set[Followed] = set()
        for descriptor, events in self._poll.poll(wait):
            if descriptor == self._woken:
                os.read(self._woken, 1 << 12)
                touched.update(self._followed)  # whichever it was about
            elif (followed := self._by_descriptor.get(descriptor)) is not None:
                self._handle(followed, descriptor, events)
                touched.add(followed)
        with self._lock:
            while self._added:
                touched.add(self._begin(self._added.popleft()))
        self._advance(touched)
        with self._lock:
            if self._followed or self._added:
                return True
            self._thread = None
            return False

    def _begin(self, followed: Followed) -> Followed:
        self._followed[followed] = 0
        followed.begin(self._poll)
        self._by_descriptor |= dict.fromkeys(followed.descriptors(), followed)
        return followed

    def _handle(self, followed: Followed, descriptor: int, events: int) -> None:
        try:
            followed.handle(descriptor, events)
        except OSError as error:  # one that fails must not hold up the others
            followed.fail(error)
        if descriptor not in followed.descriptors():
            del self._by_descriptor[descriptor]

    def _advance(self, touched: set[Followed]) -> None:
        now = time.monotonic()
        for followed, due in list(self._followed.items()):
            if self._is_ending:
                followed.kill()
            if followed in touched or due <= now:
                self._advance_one(followed)

    def _advance_one(self, followed: Followed) -> None:
        try:
            due = followed.advance()
        except OSError as error:
            followed.fail(error)
            due = None
        if due is not None:
            self._followed[followed] = due
            return
        del self._followed[followed]
        for descriptor in [number for number, owner in self._by_descriptor.items() if owner is followed]:
            del self._by_descriptor[descriptor]

    def end_all(self) -> None:
        """Kill everything that is followed, and wait for that."""
        self._is_ending = True
        self.wake()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(_PATIENCE)

    def abandon(self) -> None:
        """Let go of everything: this is a fork of the process that it belongs to."""
        for followed in (*self._followed, *self._added):
            followed.abandon()
        os.close(self._woken)
        os.close(self._wakes)


_making = threading.Lock()
_follower: Follower | None = None
_inherited: list[Follower] = []  # those of parents, never finalized: that would touch what is theirs


def follower() -> Follower:
    """The one of this process."""
    global _follower  # noqa: PLW0603  (there is one per process)
    with _making:
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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
