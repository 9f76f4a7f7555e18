"""The shell program and its arguments."""

from __future__ import annotations

import functools
import os

from tools_core import ToolError
from tools_shell._output._text import encoded

_LONGEST_ARGUMENT = 128 * 1024  # bytes (MAX_ARG_STRLEN in Linux)


def check_script(command: str) -> None:
    """Raise ToolError for an empty script, or one with a NUL character."""
    if not command.strip():
        raise ToolError("command must not be empty: give the script to run", "validation_error")
    if "\0" in command:
        raise ToolError("command must not contain NUL characters", "validation_error")


def shell_program(chosen: str | None) -> str:
    """Return the configured shell, or the system's bash; ToolError if it cannot be executed."""
    shell = chosen or default_shell()
    if not os.access(shell, os.X_OK):  # checked here, because in a sandbox bwrap would report it
        raise ToolError(f"{shell} cannot be started: there is no such program", "unavailable")
    return shell


@functools.cache
def default_shell() -> str:
    """Return the system's bash, or else its `sh`."""
    found = (os.path.join(folder, "bash") for folder in ("/bin", *os.get_exec_path()))
    return next((path for path in found if os.access(path, os.X_OK)), "/bin/sh")


def script_arguments(shell: str, command: str) -> list[str]:
    """Return the arguments that make a shell run a script; ToolError if it is too long for the system."""
    if len(encoded(command)) >= _LONGEST_ARGUMENT:
        message = f"command is longer than the {_LONGEST_ARGUMENT // 1024} KiB that the system takes"
        raise ToolError(f"{message}; write it to a file and run that", "limit_exceeded")
    return [shell, "-c", "--", command]
