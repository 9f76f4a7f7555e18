"""The Python that runs a model's code."""

from __future__ import annotations

import os
import subprocess
import sys

from tools_core import ToolError
from tools_shell._environment import clean_environment
from tools_shell._sandbox._visible import is_inside, leads_through

_ASK = "import sys; print(*{sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *sys.path}, sep='\\n')"
_told: dict[str, tuple[str, ...]] = {}  # by each interpreter that was asked


def executable(path: str | os.PathLike[str]) -> str:
    """The interpreter of a path to one, or to the folder of a virtual environment; ToolError when there is none."""
    found = os.path.abspath(os.path.expanduser(os.fspath(path)))
    if os.path.isdir(found):
        found = os.path.join(found, "bin", "python")
    if not os.access(found, os.X_OK):
        raise ToolError(f"there is no Python at {os.fspath(path)!r}", "unavailable")
    return found


def folders_of(python: str, limit: float, writable: tuple[str, ...]) -> tuple[str, ...]:
    """An interpreter, and where it has its libraries: what it must be able to read in a sandbox.

    It has `limit` seconds to tell; ToolError when it does not.

    It is asked outside of that. So of an environment that commands can write to, whose start would run what they have
    put there, it is the interpreter behind it that is asked, and none where they can change that one, too.
    """
    if leads_through(python, writable):
        python = os.path.realpath(python)
        if is_inside(python, writable):
            return ()
    if python not in _told:
        _told[python] = _asked(python, limit)
    return (python, *_told[python])


def _asked(python: str, limit: float) -> tuple[str, ...]:
    try:
        done = subprocess.run(
            [python, "-s", "-c", _ASK],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=clean_environment(),
            cwd="/",
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"{python} did not tell in {limit:.1f} s where its libraries are; nothing was run"
        raise ToolError(message, "timeout_error") from None
    found = {line for line in os.fsdecode(done.stdout).splitlines() if os.path.isabs(line)}
    return tuple(sorted(path for path in found if path != "/" and os.path.exists(path)))


def default_interpreter() -> str:
    """The interpreter that runs us; ToolError in a program that has none."""
    if not (sys.executable and os.access(sys.executable, os.X_OK)):
        raise ToolError("no Python executable is known; name one when the tool is made", "unavailable")
    return sys.executable
