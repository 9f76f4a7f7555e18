"""Commands put into their sandbox."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_shell._sandbox._bubblewrap import options
from tools_shell._sandbox._visible import is_inside, top_entries

if TYPE_CHECKING:
    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._sandbox._command import Command
    from tools_shell._sandbox._isolation import Isolation

_MOST_DESCRIPTORS = 64  # of a leader; those above are the supervisor's, and for mounts
_TEMPORARY = ("HOME", "TMPDIR", "TEMP", "TMP")


class Wrapped(NamedTuple):
    """The program to execute, its environment, and the policy for `confine`.

    `takes_terminal` is whether what is executed first is to have the terminal, and is interrupted by it.
    """

    arguments: list[str]
    environment: dict[str, str]
    policy: dict[str, Any] | None
    takes_terminal: bool = True
    numbers: range = range(0)  # of the descriptors of the guard's mounts


def wrap(command: Command, temporary: str = "") -> Wrapped:
    """Put the command into its sandbox; `temporary` is its private folder, where it needs one."""
    isolation = command.isolation
    if isolation.bubblewrap is not None:
        return _in_bubblewrap(isolation.bubblewrap, isolation, command)
    arguments, environment = list(command.arguments), dict(command.environment)
    if isolation.level != "landlock":
        return Wrapped(arguments, environment, None)
    # Programs find a home and a place for temporary files that they can write to.
    mine = [name for name in _TEMPORARY if not is_inside(environment.get(name, ""), isolation.seen.writable)]
    return Wrapped(arguments, environment | dict.fromkeys(mine, temporary), _policy(isolation, temporary))


def _in_bubblewrap(bubblewrap: Bubblewrap, isolation: Isolation, command: Command) -> Wrapped:
    first = max((2, *command.extra)) + 1  # for the filter; then the arguments, and names for git to ignore
    mounts = command.guard.mounts if command.guard is not None else []
    lowest = max(_MOST_DESCRIPTORS, first + 3)
    numbers = range(lowest, lowest + len(mounts))
    # git would fail to remove the placeholders in `git clean` and `git stash -u`. A limit on the size of files would
    # hold for what bwrap writes, too.
    ignore = command.guard.ignore if command.guard is not None and command.resources.file_size is None else ""
    told = options(
        bubblewrap,
        isolation.seen,
        command.environment,
        os.path.realpath(command.workdir),
        network=isolation.network,
        terminal=command.terminal,
        memory=command.resources.memory,
        guarded=list(zip(numbers, mounts, strict=True)),
        ignore=first + 2 if ignore else None,
    )
    policy = {
        "level": isolation.level,
        "network": isolation.network,
        "scopes": isolation.has_scopes,
        "filter": first,
        "arguments": first + 1,
        "options": [*told, "--seccomp", str(first)],
        "ignore": ignore,
    }
    # bwrap itself must see nothing of the command's environment: LD_PRELOAD would run code outside of the sandbox.
    arguments = [bubblewrap.program, "--args", str(first + 1), "--"]
    # A Ctrl-C is for the command: it would end bwrap, and everything with it.
    opener = _terminal_opener() if command.terminal else []
    return Wrapped([*arguments, *opener, *command.arguments], {}, policy, not opener, numbers)


def _policy(isolation: Isolation, temporary: str) -> dict[str, Any]:
    writable = top_entries() if "/" in isolation.seen.writable else isolation.seen.writable
    return {
        "level": isolation.level,
        "network": isolation.network,
        "readable": isolation.seen.readable,
        "writable": [*writable, temporary],
    }


@functools.cache
def _terminal_opener() -> list[str]:
    """Return the command that begins a session on the terminal of its standard input (setsid of util-linux), if any."""
    import shutil  # once

    program = shutil.which("setsid", path="/usr/bin:/bin")
    return [program, "-c"] if program else []  # as that of busybox has it, too
