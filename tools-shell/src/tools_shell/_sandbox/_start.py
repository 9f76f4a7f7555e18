"""`start`: wrap a command in its sandbox and start it."""

from __future__ import annotations

import functools
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from tools_core.files import is_inside
from tools_shell._sandbox._bubblewrap import WRAPPERS, options
from tools_shell._sandbox._visible import top_entries
from tools_shell._supervisor._request import Request

if TYPE_CHECKING:
    from tools_shell._process._process import Process
    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._sandbox._command import Command

_MAX_DESCRIPTORS = 64  # of the leader; higher numbers are for the supervisor and for mounts
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")


def start(command: Command) -> Process:
    """Wrap a command in its sandbox and start it; OSError if that fails."""
    streams = {"has_stdin": command.has_stdin, "terminal": command.terminal}
    try:
        # Imported here: most programs need only one of these.
        if command.isolation.level == "none":
            from tools_shell._process._direct import Direct

            return Direct(command.arguments, command.environment, command.workdir, command.extra, **streams)
        from tools_shell._process._supervised import Supervised

        guard = command.isolation.guard
        guarding = guard.descriptors if guard is not None else ()
        namespaces = command.network.descriptors if command.network is not None else ()
        descriptors = [*command.extra, *guarding, *namespaces, command.directory]
        process = Supervised(wrap(command), descriptors, **streams)
    finally:
        for descriptor in command.extra:
            os.close(descriptor)
    process.network = command.network
    return process


def wrap(command: Command) -> Request:
    """Return the request for a supervisor to start a command in its sandbox."""
    isolation, folder = command.isolation, command.isolation.folder
    request = Request(
        arguments=[*command.arguments],
        environment={**command.environment},
        numbers=[0, 1, 2, *command.extra],
        resources=asdict(command.resources),
        terminal=command.terminal,
    )
    if isolation.bubblewrap is not None:
        return _in_bubblewrap(request, command, isolation.bubblewrap)
    if isolation.level != "landlock":
        return request
    writable = [*(top_entries() if "/" in isolation.view.writable else isolation.view.writable)]
    environment = {**command.environment}
    if folder is not None:
        writable += folder.writable
        mine = {"HOME": folder.home, **dict.fromkeys(_TEMPORARY, folder.tmp)}
        environment |= {
            name: path
            for name, path in mine.items()
            if not is_inside(environment.get(name, ""), isolation.view.writable)
        }
    policy = {
        "level": isolation.level,
        "network": isolation.network or command.network is not None,
        "readable": [*isolation.view.readable, *([folder.home] if folder is not None else [])],
        "writable": writable,
    }
    return request._replace(environment=environment, confine=policy)


def _in_bubblewrap(request: Request, command: Command, bubblewrap: Bubblewrap) -> Request:
    isolation, guard = command.isolation, command.isolation.guard
    first = max((2, *command.extra)) + 1  # for the filter, then the arguments
    mounts = guard.mounts if guard is not None else []
    lowest = max(_MAX_DESCRIPTORS, first + 2)
    numbers = range(lowest, lowest + len(mounts))
    arguments = options(
        bubblewrap,
        isolation.view,
        command.environment,
        os.path.realpath(command.workdir),
        network=isolation.network or command.network is not None,
        terminal=command.terminal,
        folder=isolation.folder,
        guarded=list(zip(numbers, mounts, strict=True)),
        copy=command.copy,
    )
    # Ctrl-C is for the command; it would end bwrap and everything in it.
    opener = _terminal_opener() if command.terminal else []
    return request._replace(
        # bwrap itself gets an empty environment: LD_PRELOAD would run code outside the sandbox.
        arguments=[bubblewrap.program, "--args", str(first + 1), "--", *opener, *command.arguments],
        environment={},
        numbers=[0, 1, 2, *command.extra, *numbers],
        terminal=command.terminal and not opener,
        wrappers=WRAPPERS,
        confine={
            "level": isolation.level,
            "network": isolation.network,
            "filter": first,
            "arguments": first + 1,
            "options": [*arguments, "--seccomp", str(first)],
        },
    )


@functools.cache
def _terminal_opener() -> list[str]:
    """Return the command that starts a session on the terminal (setsid of util-linux), if it is installed."""
    import shutil  # not on Windows

    program = shutil.which("setsid", path="/usr/bin:/bin")
    return [program, "-c"] if program else []  # which busybox also supports
