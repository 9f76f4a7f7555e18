"""One script of a session: restored, run and saved by a separate bash."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tools_shell._bash._snapshot import LARGEST, Snapshot, parse, program, starting
from tools_shell._nameless import nameless_file
from tools_shell._process._run import Ended, run
from tools_shell._sandbox._start import start

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools_shell._output._output import Output
    from tools_shell._sandbox._command import Command

NOT_SAVED = "the state of this script was not saved: the session is as it was before"
_LOWEST = 20  # our descriptors have numbers from here on: scripts use those below


class Request(NamedTuple):
    """The request of a call: `stays` in the folder that the command starts in, `variables` are exported."""

    script: str
    stays: bool
    variables: Mapping[str, str]
    stdin: bytes


def run_after(
    before: Snapshot,
    request: Request,
    command: Command,
    output: Output,
    limit: float,
    cancelled: Callable[[], bool],
) -> tuple[Ended, Snapshot | None]:
    """Run a script in the shell `command` after the snapshot `before`; returns its end and the new snapshot.

    That is None when the shell did not live to write it.
    """
    saved = bytearray()
    ours, theirs = os.pipe()
    with nameless_file("script") as source, open(ours, "rb", buffering=0) as pipe:
        os.set_blocking(ours, False)
        out, given = _moved(theirs), _moved(os.dup(source.fileno()))
        source.write(program(before, request.script, out, stays=request.stays, variables=request.variables))
        source.seek(0)
        arguments = [*command.arguments, "-c", starting(given), "bash"]
        ended = run(
            start(command._replace(arguments=arguments, extra=(out, given))),
            output,
            stdin=request.stdin,
            limit=limit,
            cancelled=cancelled,
            more={pipe.fileno(): lambda chunk: saved.extend(chunk[: LARGEST - len(saved)])},
        )
    inherited = {name: value for name, value in command.environment.items() if name not in request.variables}
    return ended, parse(bytes(saved), inherited)


def _moved(descriptor: int) -> int:
    import fcntl  # not on Windows

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    os.close(descriptor)
    return moved
