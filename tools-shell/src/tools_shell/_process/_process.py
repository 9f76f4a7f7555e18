"""`Launch`: what is started; and `Process`, what comes of it, with our ends of its streams."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_shell._settings import Resources

_SIZE = (24, 80)  # of a terminal: rows and columns


class Launch(NamedTuple):
    """A program to start, put into its sandbox already.

    `directory` is a descriptor of the folder to start in, `workdir` its path. `extra` are descriptors to pass on under
    their own numbers. What is executed first has the terminal if it `takes_terminal`. `policy` is what it gives up
    before that, `wrappers` the number of processes before the command itself, `temporary` a folder that is removed at
    the end. `guarding` are descriptors of mounts, for `numbers`, and then of `placeholders`, two for each name.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: int
    workdir: str
    resources: Resources
    has_stdin: bool = False
    terminal: bool = False
    merged: bool = False
    extra: Sequence[int] = ()
    takes_terminal: bool = True
    policy: dict[str, Any] | None = None
    wrappers: int = 0
    temporary: str = ""
    guarding: Sequence[int] = ()
    numbers: Sequence[int] = ()
    placeholders: Sequence[str] = ()


class Process(ABC):
    """A command: our ends of its streams, which do not block, and news of it.

    With a terminal `stdin` is `stdout`, and there is no `stderr`. `theirs` are its standard input, output and error.
    """

    news: int  # readable when there is news to take
    is_busy: bool = False  # an order to interrupt is still under way

    def __init__(self, *, has_stdin: bool, terminal: bool, merged: bool) -> None:
        self.stdin: int | None = None
        self.stdout = -1
        self.stderr: int | None = None
        self.theirs: list[int] = []
        self.exit: int | None = None  # the exit code, or minus the signal; None as long as the command runs
        self.is_gone = False  # the command has ended, and so has all that it started
        self.hit: str | None = None  # the limit that it was ended for
        with starting:
            _known.add(self)
            try:
                self._open(has_stdin=has_stdin, terminal=terminal, merged=merged)
            except OSError:  # too many are open
                Process.close(self)
                raise
        for descriptor in self.ours:
            os.set_blocking(descriptor, False)

    def _open(self, *, has_stdin: bool, terminal: bool, merged: bool) -> None:
        if terminal:
            import termios  # not on Windows

            self.stdout, end = os.openpty()
            termios.tcsetwinsize(end, _SIZE)
            self.stdin, self.theirs = self.stdout, [end, end, end]
            return
        self.stdout, out = os.pipe()
        self.theirs = [out, out]
        if not merged:
            self.stderr, self.theirs[1] = os.pipe()
        if has_stdin:
            source, self.stdin = os.pipe()
        else:
            source = os.open(os.devnull, os.O_RDONLY)
        self.theirs.insert(0, source)

    @abstractmethod
    def take_news(self) -> None:
        """Bring `exit`, `is_gone`, `hit` and `is_busy` up to date; called when `news` is readable."""

    @abstractmethod
    def interrupt(self) -> None:
        """Send SIGINT to all of the job."""

    @abstractmethod
    def terminate(self) -> None:
        """Ask all of the job to end."""

    @abstractmethod
    def kill(self) -> None:
        """Begin to end all of the job by force; news will say when it is done."""

    @property
    def ours(self) -> set[int]:
        return {one for one in (self.stdin, self.stdout, self.stderr) if one is not None and one >= 0}

    def close_stdin(self) -> None:
        """Close our end of the standard input, unless that is the terminal."""
        if self.stdin is not None and self.stdin != self.stdout:
            with starting:
                closed, self.stdin = self.stdin, None
                os.close(closed)

    def release(self) -> None:
        """Close the command's ends, so that ours end with it."""
        with starting:
            closed, self.theirs = set(self.theirs), []
            for descriptor in closed:
                os.close(descriptor)

    def close(self) -> None:
        """Give up all descriptors; what is still there is killed."""
        with starting:
            _known.discard(self)
            self.release()
            closed, self.stdin, self.stdout, self.stderr = self.ours, None, -1, None
            for descriptor in closed:
                os.close(descriptor)

    def abandon(self) -> None:
        """Let go of all descriptors, in a fork of the process that they belong to; their numbers stay taken."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in {*self.theirs, *self.held()}:
            os.dup2(nothing, descriptor, inheritable=False)
        os.close(nothing)

    def held(self) -> set[int]:
        """Return the descriptors that keep the command from seeing that this process is gone."""
        return self.ours


# Held while descriptors are opened or closed, and while this process itself starts a command: a fork in between would
# keep open a descriptor whose end a process waits for. A signal handler that forks may have it already.
starting = threading.RLock()
_known: weakref.WeakSet[Process] = weakref.WeakSet()


def _abandon_after_fork() -> None:
    """Keep a fork from holding open what a command waits for the end of."""
    for process in list(_known):
        process.abandon()
    _known.clear()
    starting.release()


os.register_at_fork(before=starting.acquire, after_in_parent=starting.release, after_in_child=_abandon_after_fork)
