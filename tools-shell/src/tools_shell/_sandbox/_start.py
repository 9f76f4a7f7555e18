"""`start`: wrap a command in its sandbox and start it."""

from __future__ import annotations

import functools
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from tools_core.files import is_inside
from tools_shell._sandbox import _seatbelt as seatbelt
from tools_shell._sandbox._bubblewrap import WRAPPERS, options
from tools_shell._sandbox._visible import top_entries
from tools_shell._supervisor._request import GIT_CONFIG, Request

if TYPE_CHECKING:
    from tools_shell._process._process import Process
    from tools_shell._sandbox._bubblewrap import Bubblewrap
    from tools_shell._sandbox._command import Command

_MAX_DESCRIPTORS = 64  # of the leader; higher numbers are for the supervisor and for mounts
_BYTES = "surrogateescape"
_TEMPORARY = ("HOME", "TMPDIR", "TEMP", "TMP")


def start(command: Command) -> Process:
    """Wrap a command in its sandbox and start it; OSError if that fails."""
    temporary = ""
    streams = {"has_stdin": command.has_stdin, "terminal": command.terminal}
    try:
        # Imported here: most programs need only one of these.
        if command.isolation.level in {"none", "seatbelt"}:
            from tools_shell._process._direct import Direct

            arguments, environment = command.arguments, command.environment
            if command.isolation.level == "seatbelt":
                arguments, environment = _in_seatbelt(command)
            return Direct(arguments, environment, command.workdir, command.extra, **streams)
        from tools_shell._process._supervised import Supervised

        if command.isolation.level == "landlock":
            temporary = _temporary_home(command)
        guard = command.isolation.guard
        guarding = guard.descriptors if guard is not None else ()
        namespaces = command.network.descriptors if command.network is not None else ()
        descriptors = [*command.extra, *guarding, *namespaces, command.directory]
        process = Supervised(wrap(command, temporary), descriptors, **streams)
    except BaseException:
        if temporary:
            import shutil  # not on Windows

            shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        for descriptor in command.extra:
            os.close(descriptor)
    process.network = command.network
    if guard is not None:
        process.warnings = guard.restored
    return process


def _in_seatbelt(command: Command) -> tuple[list[str], dict[str, str]]:
    isolation = command.isolation
    places = isolation.guard.places if isolation.guard is not None else ()
    return seatbelt.wrap(command.arguments, command.environment, isolation.view, places, network=isolation.network)


def _temporary_home(command: Command) -> str:
    """Create the private folder of a command, with the user's git settings."""
    import tempfile  # not on Windows

    folder = tempfile.mkdtemp(prefix="ask-tools-")
    if command.git_settings:
        with open(os.path.join(folder, GIT_CONFIG), "w", errors="surrogateescape") as file:
            file.write(command.git_settings)
    return folder


def wrap(command: Command, temporary: str = "") -> Request:
    """Return the request for a supervisor to start a command in its sandbox."""
    isolation, guard = command.isolation, command.isolation.guard
    request = Request(
        arguments=[*command.arguments],
        environment={**command.environment},
        numbers=[0, 1, 2, *command.extra],
        resources=asdict(command.resources),
        terminal=command.terminal,
        temporary=temporary,
        watched=tuple(guard.watched) if guard is not None else (),
        git=guard.git if guard is not None else "",
    )
    if isolation.bubblewrap is not None:
        return _in_bubblewrap(request, command, isolation.bubblewrap)
    if isolation.level != "landlock":
        return request
    # A writable home and temporary folder.
    mine = [name for name in _TEMPORARY if not is_inside(command.environment.get(name, ""), isolation.view.writable)]
    policy = {
        "level": isolation.level,
        "network": isolation.network or command.network is not None,
        "readable": isolation.view.readable,
        "writable": [
            *(top_entries() if "/" in isolation.view.writable else isolation.view.writable),
            temporary,
        ],
    }
    environment = {**command.environment, **dict.fromkeys(mine, temporary)}
    return request._replace(environment=environment, confine=policy)


def _in_bubblewrap(request: Request, command: Command, bubblewrap: Bubblewrap) -> Request:
    isolation, guard = command.isolation, command.isolation.guard
    first = max((2, *command.extra)) + 1  # for the filter, then the arguments, then the git settings
    mounts = guard.mounts if guard is not None else []
    lowest = max(_MAX_DESCRIPTORS, first + 3)
    numbers = range(lowest, lowest + len(mounts))
    # A limit on file sizes applies to the files that bwrap writes, too.
    limit = command.resources.file_size
    settings = command.git_settings if limit is None or len(command.git_settings.encode(errors=_BYTES)) < limit else ""
    arguments = options(
        bubblewrap,
        isolation.view,
        command.environment,
        os.path.realpath(command.workdir),
        network=isolation.network or command.network is not None,
        terminal=command.terminal,
        memory=command.resources.memory,
        guarded=list(zip(numbers, mounts, strict=True)),
        git_settings=first + 2 if settings else None,
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
            "git_settings": settings,
        },
    )


@functools.cache
def _terminal_opener() -> list[str]:
    """Return the command that starts a session on the terminal (setsid of util-linux), if it is installed."""
    import shutil  # not on Windows

    program = shutil.which("setsid", path="/usr/bin:/bin")
    return [program, "-c"] if program else []  # which busybox also supports
