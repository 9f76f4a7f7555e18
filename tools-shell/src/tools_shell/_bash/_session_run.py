"""Running one script of a session: restore, run and save."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools_shell._bash._snapshot import LARGEST, Snapshot, parse, program, starting
from tools_shell._process._run import Ended, run
from tools_shell._sandbox._start import start

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_shell._output._output import Output
    from tools_shell._sandbox._command import Command

NOT_SAVED = "the state of this script was not saved: the session is as it was before"
_LOWEST = 20  # the snapshot's descriptor is at least this; scripts use lower numbers


def run_after(
    before: Snapshot,
    script: str,
    command: Command,
    output: Output,
    *,
    stdin: bytes,
    limit: float,
    cancelled: Callable[[], bool],
) -> tuple[Ended, Snapshot | None]:
    """Run a script in the shell `command` after the snapshot `before`; return the result and the new snapshot.

    The snapshot is None if the shell was killed before it was written, or if it is too large.
    """
    import fcntl  # not on Windows
    import tempfile  # not on Windows

    with tempfile.TemporaryFile(buffering=0) as file:
        shared = fcntl.fcntl(file.fileno(), fcntl.F_DUPFD_CLOEXEC, _LOWEST)
        text = program(before, script, shared)
        file.write(text)
        file.seek(0)
        arguments = [*command.arguments, "-c", starting(shared), "bash"]
        process = start(command._replace(arguments=arguments, extra=(shared,)))
        ended = run(process, output, stdin=stdin, limit=limit, cancelled=cancelled)
        saved = os.pread(file.fileno(), LARGEST + 1, len(text))
    return ended, parse(saved, command.environment) if len(saved) <= LARGEST else None
