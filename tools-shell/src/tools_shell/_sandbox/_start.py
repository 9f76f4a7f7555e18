"""`start`: wrap a command in its sandbox and start it."""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tools_core.files import is_inside
from tools_shell._sandbox._bubblewrap import WRAPPERS, options
from tools_shell._sandbox._visible import top_entries

if TYPE_CHECKING:
    from tools_shell._process._process import Process
    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._sandbox._command import Command

_MOST_DESCRIPTORS = 64  # of the leader; higher numbers are for the supervisor and for mounts
_TEMPORARY = ("HOME", "TMPDIR", "TEMP", "TMP")


def start(command: Command) -> Process:
    """Wrap a command in its sandbox and start it; OSError if that fails."""
    temporary = ""
    streams = {"has_stdin": command.has_stdin, "terminal": command.terminal}
    try:
        # Imported here: most programs need only one of these.
        if command.isolation.level == "none":
            from tools_shell._process._direct import Direct

            return Direct(command.arguments, command.environment, command.workdir, command.extra, **streams)
        from tools_shell._process._supervised import Supervised

        if command.isolation.level == "landlock":
            import tempfile  # not on Windows

            temporary = tempfile.mkdtemp(prefix="ask-tools-")
        guarding = command.guard.descriptors if command.guard is not None else ()
        descriptors = [*command.extra, *guarding, command.directory]
        process = Supervised(wrap(command, temporary), descriptors, **streams)
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


def wrap(command: Command, temporary: str = "") -> dict[str, Any]:
    """Return the request for a supervisor to start a command in its sandbox.

    `numbers` are those that the passed descriptors get in the command, and `placeholders` the names of those that
    follow, two each. `confine` describes the rights to drop before exec, `wrappers` is the number of processes before
    the command. The supervisor removes the private folder `temporary`, if there is one, since it may outlive the host.
    """
    isolation = command.isolation
    request: dict[str, Any] = {
        "host": os.getpid(),
        "arguments": command.arguments,
        "environment": command.environment,
        "numbers": [0, 1, 2, *command.extra],
        "placeholders": [],
        "terminal": command.terminal,  # the first program gets the controlling terminal
        "resources": asdict(command.resources),
        "confine": None,
        "temporary": temporary,
        "wrappers": 0,
    }
    if isolation.bubblewrap is not None:
        return request | _in_bubblewrap(command, isolation.bubblewrap)
    if isolation.level != "landlock":
        return request
    # A writable home and temporary folder.
    mine = [name for name in _TEMPORARY if not is_inside(command.environment.get(name, ""), isolation.seen.writable)]
    policy = {
        "level": isolation.level,
        "network": isolation.network,
        "readable": isolation.seen.readable,
        "writable": [*(top_entries() if "/" in isolation.seen.writable else isolation.seen.writable), temporary],
    }
    return request | {"environment": {**command.environment, **dict.fromkeys(mine, temporary)}, "confine": policy}


def _in_bubblewrap(command: Command, bubblewrap: Bubblewrap) -> dict[str, Any]:
    isolation, guard = command.isolation, command.guard
    first = max((2, *command.extra)) + 1  # for the filter, then the arguments, then the git ignore file
    mounts = guard.mounts if guard is not None else []
    lowest = max(_MOST_DESCRIPTORS, first + 3)
    numbers = range(lowest, lowest + len(mounts))
    # `git clean` and `git stash -u` would fail to remove the placeholders. A limit on file sizes would apply to the
    # files that bwrap writes, too.
    ignore = guard.ignore if guard is not None and command.resources.file_size is None else ""
    arguments = options(
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
    # Ctrl-C is for the command; it would end bwrap and everything in it.
    opener = _terminal_opener() if command.terminal else []
    return {
        # bwrap itself gets an empty environment: LD_PRELOAD would run code outside the sandbox.
        "arguments": [bubblewrap.program, "--args", str(first + 1), "--", *opener, *command.arguments],
        "environment": {},
        "numbers": [0, 1, 2, *command.extra, *numbers],
        "placeholders": [each.name for each in guard.placeholders] if guard is not None else [],
        "terminal": command.terminal and not opener,
        "wrappers": WRAPPERS,
        "confine": {
            "level": isolation.level,
            "network": isolation.network,
            "filter": first,
            "arguments": first + 1,
            "options": [*arguments, "--seccomp", str(first)],
            "ignore": ignore,
        },
    }


@functools.cache
def _terminal_opener() -> list[str]:
    """Return the command that starts a session on the terminal (setsid of util-linux), if it is installed."""
    import shutil  # runs once

    program = shutil.which("setsid", path="/usr/bin:/bin")
    return [program, "-c"] if program else []  # which busybox also supports
