"""`start`: a command is put into its sandbox and started."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_shell._process._launch import Launch
from tools_shell._sandbox._wrap import wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_shell._process._process import Process
    from tools_shell._sandbox._command import Command


def start(command: Command) -> Process:
    """Put a command into its sandbox and start it; OSError when that is not possible."""
    isolation, guard = command.isolation, command.guard
    temporary = ""
    try:
        if isolation.needs_temporary:
            import tempfile  # not where nothing can be run

            temporary = tempfile.mkdtemp(prefix="ask-tools-")
        wrapped = wrap(command, temporary)
        process = _program(isolation.level)(
            Launch(
                arguments=wrapped.arguments,
                environment=wrapped.environment,
                directory=command.directory,
                workdir=command.workdir,
                resources=command.resources,
                has_stdin=command.has_stdin,
                terminal=command.terminal,
                merged=command.merged,
                extra=command.extra,
                takes_terminal=wrapped.takes_terminal,
                policy=wrapped.policy,
                wrappers=isolation.wrappers,
                temporary=temporary,
                guarding=guard.descriptors if guard is not None else (),
                numbers=wrapped.numbers,
                placeholders=[each.name for each in guard.placeholders] if guard is not None else (),
            )
        )
    except BaseException:
        with suppress(OSError):  # there is none, or a supervisor removes it
            os.rmdir(temporary)
        raise
    finally:
        for descriptor in command.extra:
            os.close(descriptor)
    if guard is not None:
        guard.is_taken = True
    return process


def _program(level: str) -> Callable[[Launch], Process]:
    """Return how a program is started: by a supervisor that ends everything it starts, or, at level none, directly."""
    if level == "none":
        from tools_shell._process._direct import Direct  # one of the two is enough for most

        return Direct
    from tools_shell._process._supervised import Supervised

    return Supervised
