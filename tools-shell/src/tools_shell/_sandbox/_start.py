"""`start`: wrap a command in its sandbox and start it."""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_shell._process._process import Launch
from tools_shell._sandbox._bubblewrap import WRAPPERS, options
from tools_shell._sandbox._visible import is_inside, top_entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_shell._process._process import Process
    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._sandbox._command import Command

_MOST_DESCRIPTORS = 64  # of the leader; higher numbers are for the supervisor and for mounts
_TEMPORARY = ("HOME", "TMPDIR", "TEMP", "TMP")


def start(command: Command) -> Process:
    """Wrap a command in its sandbox and start it; OSError if that fails."""
    temporary = ""
    try:
        if command.isolation.level == "landlock":
            import tempfile  # not on Windows

            temporary = tempfile.mkdtemp(prefix="ask-tools-")
        process = _program(command.isolation.level)(wrap(command, temporary))
    except BaseException:
        with suppress(OSError):  # there is none, or the supervisor removes it
            os.rmdir(temporary)
        raise
    finally:
        for descriptor in command.extra:
            os.close(descriptor)
    if command.guard is not None:
        command.guard.is_taken = True
    return process


def _program(level: str) -> Callable[[Launch], Process]:
    """Return the class that starts a program: `Supervised`, or `Direct` at level "none"."""
    if level == "none":
        from tools_shell._process._direct import Direct  # most programs need only one of these

        return Direct
    from tools_shell._process._supervised import Supervised

    return Supervised


def wrap(command: Command, temporary: str = "") -> Launch:
    """Wrap a command in its sandbox; `temporary` is its private folder, if it needs one."""
    isolation = command.isolation
    launch = Launch(
        arguments=list(command.arguments),
        environment=dict(command.environment),
        directory=command.directory,
        workdir=command.workdir,
        resources=command.resources,
        has_stdin=command.has_stdin,
        terminal=command.terminal,
        merged=command.merged,
        extra=command.extra,
    )
    if isolation.bubblewrap is not None:
        return _in_bubblewrap(launch, isolation.bubblewrap, command)
    if isolation.level != "landlock":
        return launch
    # A writable home and temporary folder.
    mine = [name for name in _TEMPORARY if not is_inside(command.environment.get(name, ""), isolation.seen.writable)]
    environment = {**command.environment, **dict.fromkeys(mine, temporary)}
    policy = {
        "level": isolation.level,
        "network": isolation.network,
        "readable": isolation.seen.readable,
        "writable": [*(top_entries() if "/" in isolation.seen.writable else isolation.seen.writable), temporary],
    }
    return launch._replace(environment=environment, temporary=temporary, policy=policy)


def _in_bubblewrap(launch: Launch, bubblewrap: Bubblewrap, command: Command) -> Launch:
    isolation, guard = command.isolation, command.guard
    first = max((2, *command.extra)) + 1  # for the filter, then the arguments, then the git ignore file
    mounts = guard.mounts if guard is not None else []
    lowest = max(_MOST_DESCRIPTORS, first + 3)
    numbers = range(lowest, lowest + len(mounts))
    # `git clean` and `git stash -u` would fail to remove the placeholders. A limit on file sizes would apply to the
    # files that bwrap writes, too.
    ignore = guard.ignore if guard is not None and command.resources.file_size is None else ""
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
        "filter": first,
        "arguments": first + 1,
        "options": [*told, "--seccomp", str(first)],
        "ignore": ignore,
    }
    # Ctrl-C is for the command; it would end bwrap and everything in it.
    opener = _terminal_opener() if command.terminal else []
    return launch._replace(
        # bwrap itself gets an empty environment: LD_PRELOAD would run code outside the sandbox.
        arguments=[bubblewrap.program, "--args", str(first + 1), "--", *opener, *command.arguments],
        environment={},
        policy=policy,
        wrappers=WRAPPERS,
        takes_terminal=not opener,
        guarding=guard.descriptors if guard is not None else (),
        numbers=numbers,
        placeholders=[each.name for each in guard.placeholders] if guard is not None else (),
    )


@functools.cache
def _terminal_opener() -> list[str]:
    """Return the command that starts a session on the terminal (setsid of util-linux), if it is installed."""
    import shutil  # runs once

    program = shutil.which("setsid", path="/usr/bin:/bin")
    return [program, "-c"] if program else []  # which busybox also supports
