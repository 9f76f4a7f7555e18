"""`Process`, a started command with its streams."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod

_SIZE = (24, 80)  # of a terminal: rows and columns


class Process(ABC):
    """A running command: the host's non-blocking ends of its streams, and its events.

    `stdout` has standard error as well, which keeps the order. With a terminal it is `stdin`, too.
    `child_ends` are the command's ends of its streams.
    """

    events: int  # readable when there are events
    is_busy: bool = False  # a signal to send is not acknowledged yet
    is_closing: bool = False  # nothing more is started
    is_closed: bool = True

    def __init__(self, *, has_stdin: bool, terminal: bool) -> None:
        self.stdin: int | None = None
        self.stdout = -1
        self.child_ends: list[int] = []
        self.exit: int | None = None  # the exit code, or minus the signal; None while the command runs
        self.is_gone = False  # the command and all its descendants have ended
        self.exceeded: str | None = None  # the limit that it exceeded
        with starting:
            self.is_closed = False
            _processes.add(self)
            try:
                self._open(has_stdin=has_stdin, terminal=terminal)
            except OSError:  # too many open files
                self.close()
                raise
        for descriptor in self.own_ends:
            os.set_blocking(descriptor, False)

    def _open(self, *, has_stdin: bool, terminal: bool) -> None:
        if terminal:
            import termios  # not on Windows

            self.stdout, end = os.openpty()
            termios.tcsetwinsize(end, _SIZE)
            self.stdin, self.child_ends = self.stdout, [end, end, end]
            return
        self.stdout, out = os.pipe()
        self.child_ends = [out, out]
        if has_stdin:
            source, self.stdin = os.pipe()
        else:
            source = os.open(os.devnull, os.O_RDONLY)
        self.child_ends.insert(0, source)

    @abstractmethod
    def read_events(self) -> None:
        """Read events and update `exit`, `is_gone`, `exceeded` and `is_busy`; called when `events` is readable."""

    @abstractmethod
    def interrupt(self) -> None:
        """Send SIGINT to all processes of the job."""

    @abstractmethod
    def terminate(self) -> None:
        """Send SIGTERM to all processes of the job."""

    @abstractmethod
    def kill(self) -> None:
        """Start to kill all processes of the job; an event reports the end."""

    @property
    def own_ends(self) -> set[int]:
        return {number for number in (self.stdin, self.stdout) if number is not None and number >= 0}

    def close_stdin(self) -> None:
        """Close the host's end of standard input, unless it is the terminal."""
        if self.stdin is not None and self.stdin != self.stdout:
            with starting:
                closed, self.stdin = self.stdin, None
                os.close(closed)

    def release(self) -> None:
        """Close the command's ends in the host, so that the streams end with the command."""
        with starting:
            closed, self.child_ends = set(self.child_ends), []
            for descriptor in closed:
                os.close(descriptor)

    def close(self) -> None:
        """Kill the remaining processes and close all descriptors; later calls do nothing."""
        try:
            self._close()
        except BaseException:  # a Ctrl-C
            self._close()
            raise

    def _close(self) -> None:
        """Close; if an exception interrupts it, the next call continues."""
        if self.is_closed:
            return
        with starting:
            self.is_closing = True
        self._end()
        with starting:
            self.release()
            closed, self.stdin, self.stdout = self.own_ends, None, -1
            for descriptor in closed:
                os.close(descriptor)
            self.is_closed = True
            _processes.discard(self)

    def __del__(self) -> None:
        self.close()  # an exception, such as a Ctrl-C, came before any caller had the process

    @abstractmethod
    def _end(self) -> None:
        """Kill the remaining processes; may be called again."""

    def abandon(self) -> None:
        """Replace all descriptors by /dev/null in a fork of the host; their numbers stay in use."""
        self.is_closed = True
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in {*self.child_ends, *self.host_ends()}:
            os.dup2(nothing, descriptor, inheritable=False)
        os.close(nothing)

    def host_ends(self) -> set[int]:
        """Return the descriptors whose closing tells the command that the host has exited."""
        return self.own_ends


# Held while descriptors are opened or closed, and while a command is started: a fork in between would keep a
# descriptor open that a process waits to be closed. Reentrant, because a signal handler may fork.
starting = threading.RLock()
_processes: weakref.WeakSet[Process] = weakref.WeakSet()


def _abandon_after_fork() -> None:
    """Keep a fork from holding descriptors open that a command waits to be closed."""
    for process in list(_processes):
        process.abandon()
    _processes.clear()
    starting.release()


os.register_at_fork(before=starting.acquire, after_in_parent=starting.release, after_in_child=_abandon_after_fork)
