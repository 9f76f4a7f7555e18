"""`Launch`: what is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_shell._settings import Resources


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
