"""Probing sandboxes: run a command in each that tries what it must not be able to do."""

from __future__ import annotations

import os
import stat
import tempfile
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_core.files import is_inside
from tools_shell._output import Output
from tools_shell._process._run import run
from tools_shell._sandbox._bubblewrap import PASSING
from tools_shell._sandbox._command import Command
from tools_shell._sandbox._start import start
from tools_shell._settings import Resources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._process._network import Network
    from tools_shell._sandbox._isolation import Isolation

# The workspace is writable, another file is neither readable nor writable, and system calls are filtered.
_TEST = """
test -w . || test "$2" = no || exit 10
if test -n "$1"; then
    (read -r line < "$1") 2> /dev/null && exit 11
    (: >> "$1") 2> /dev/null && exit 12
fi
while read -r name value; do test "$name" = Seccomp: && filtered=$value; done < /proc/self/status
test "$filtered" = 2 || exit 13
exit 42
"""
_WORKS = 42
_FAILURES = {
    10: "the workspace cannot be written in it (does it belong to another user?)",
    11: "files outside can be read in it",
    12: "files outside can be written in it",
    13: "system calls are not filtered in it",
}
_ABSENT = {
    "bubblewrap": "it is not installed; install it",
    "landlock": "it needs Linux 5.13 or newer with landlock among the security modules (lsm=)",
}
_PATIENCE = 30.0


def first_that_works(candidates: Sequence[Isolation], root: str, levels: Sequence[str]) -> Isolation | str:
    """Return the first candidate that works, or a description of the problems.

    ToolError if the machine is too busy or too full for a probe: that is not cached, and does not lower the level.
    """
    problems: dict[str, str] = {}
    for candidate in candidates:
        problem = _try(candidate, root)
        if problem is None:
            return candidate
        problems.setdefault(candidate.level, problem)
    return "; ".join(f"{level}: {problems.get(level, _ABSENT[level])}" for level in levels)


def _try(candidate: Isolation, root: str) -> str | None:
    """Run the probe in a candidate; return what is wrong with it."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="ask-tools-")
    except OSError as error:
        raise ToolError(f"{error.strerror}; set TMPDIR to a folder that can be written", "unavailable") from error
    try:
        with folder as outside, open(f"{outside}/file", "w") as file:
            print("a line", file=file, flush=True)
            is_seen = is_inside(file.name, (*candidate.view.readable, *candidate.view.writable))
            return _run(candidate, root, "" if is_seen else file.name)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno not in PASSING:
            return reason
        raise ToolError(f"the sandbox cannot be tested now: {reason}; try again", "unavailable") from error


def _is_writable(root: str) -> bool:
    """Return whether a sandbox can write to the workspace, where the file mode limits even root.

    A command can remove its user's rights to the workspace, which must not lower the level of the next command.
    ToolError if the sandbox cannot be entered for that reason.
    """
    status = os.stat(root)
    mode = status.st_mode if status.st_uid == os.geteuid() else stat.S_IRWXU
    if not mode & stat.S_IXUSR:
        raise ToolError(f"workspace {root!r} is closed to its own user; chmod u+rwx it", "denied")
    return bool(mode & stat.S_IWUSR) and os.access(root, os.W_OK)


def works_in_network(isolation: Isolation, root: str, network: Network) -> bool:
    """Return whether a sandbox starts in a private network."""
    return _run(isolation, root, "", network) is None


def _run(candidate: Isolation, root: str, hidden: str, network: Network | None = None) -> str | None:
    pin = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        command = Command(
            arguments=["/bin/sh", "-c", _TEST, "sh", hidden, "yes" if _is_writable(root) else "no"],
            environment={"PATH": os.defpath},
            directory=pin,
            workdir=root,
            isolation=candidate,
            resources=Resources(),
            network=network,
        )
        # Under a supervisor, like all commands, so that the host's signal handling does not matter.
        output = Output()
        outcome = run(start(command), output, limit=_PATIENCE, cancelled=lambda: False)
    finally:
        os.close(pin)
    if outcome.reason is not None:
        raise ToolError(f"the sandbox was not tested within {_PATIENCE:g} s; try again", "unavailable")
    if outcome.returncode == _WORKS:
        return None
    words = output.text().strip().splitlines() or ["it does not start"]
    return _FAILURES.get(outcome.returncode or 0) or words[-1]
