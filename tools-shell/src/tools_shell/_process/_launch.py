"""What is started, and the process that comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_shell._settings import Resources


class Launch(NamedTuple):
    """A program to start, put into its sandbox already.

    `directory` is a descriptor of the folder to start in, `workdir` its path. `extra` are descriptors to pass on under
    their own numbers. `policy` is what the first process gives up before it becomes the program, `wrappers` the number
    of processes before the command itself, `temporary` a folder that is removed at the end. `guarding` are descriptors
    of mounts, for `numbers`, and then of `placeholders`, two for each name.
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
    supervised: bool = False
    takes_terminal: bool = True
    policy: dict[str, Any] | None = None
    wrappers: int = 0
    temporary: str = ""
    guarding: Sequence[int] = ()
    numbers: Sequence[int] = ()
    placeholders: Sequence[str] = ()


class Process(Protocol):
    """A command that was started: our ends of its streams, and news of it.

    The descriptors do not block. With a terminal `stdin` is `stdout`, and there is no `stderr`.
    """

    @property
    def stdin(self) -> int | None: ...
    @property
    def stdout(self) -> int: ...
    @property
    def stderr(self) -> int | None: ...

    @property
    def is_busy(self) -> bool:
        """Return whether an order to interrupt is still under way."""
        ...

    news: int  # readable when there is news to take
    exit: int | None  # the exit code, or minus the signal; None as long as the command runs
    is_gone: bool  # the command has ended, and so has all that it started
    hit: str | None  # the limit that it was ended for

    def take_news(self) -> None:
        """Bring `exit`, `is_gone`, `hit` and `is_busy` up to date."""
        ...

    def close_stdin(self) -> None:
        """End what the command reads."""
        ...

    def interrupt(self) -> None:
        """Send SIGINT to all of the job."""
        ...

    def terminate(self) -> None:
        """Ask all of the job to end."""
        ...

    def kill(self) -> None:
        """Begin to end all of the job by force; news will say when it is done."""
        ...

    def close(self) -> None:
        """Give up all descriptors; what is still there is killed."""
        ...
