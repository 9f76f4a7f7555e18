"""`ScriptTool`, the base class of tools that run a shell script."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from tools_core import Effects, ToolError
from tools_core.files import workspace_path
from tools_shell._effects._commands import UnknownCommandsError, commands_of
from tools_shell._effects._reading import paths_read, reads_only
from tools_shell._environment import clean_environment
from tools_shell._redactor import encoded
from tools_shell._tools._shell_tool import ShellTool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from tools_core import Context
    from tools_shell._effects._commands import Word
    from tools_shell._tools._shell_tool import Settings

_MAX_ARGUMENT = 128 * 1024  # bytes (MAX_ARG_STRLEN in Linux)


class ScriptTool(ShellTool, abstract=True):
    """A tool whose argument `command` is a shell script."""

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        shell: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """`shell` is a program that accepts `-c -- script`; sessions need a bash."""
        super().__init__(root, **settings)
        self._shell = shell

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """Return the commands, files and hints of a script of plain words; see `Tool`.

        Everything is unknown for other scripts, for a shell other than bash, and in a session, in which earlier scripts
        may have redefined words. A file that the script opens with `<` or `>` is a command as well, and a `workdir` is
        the command `cd`. The files are known only for programs such as `cat` that open what they name.
        """
        workdir, commands = arguments.get("workdir", "."), self._commands(arguments)
        if commands is None:
            return self._effects(paths=None, commands=None)
        folder = os.path.realpath(workspace_path(self._root or (context.workspace if context else None)))
        if set(workdir) - {".", "/"} or ".." in workdir or workdir[:1] == "/":
            commands = [["cd", workdir], *commands]
        is_reading = reads_only(commands, {**clean_environment(), **self._env}, folder)
        return self._effects(paths=paths_read(commands, folder), commands=commands, reads_only=is_reading)

    def _commands(self, arguments: Mapping[str, Any]) -> list[list[Word]] | None:
        """Return the commands of a script, or None if they are unknown."""
        script = arguments.get("command")
        is_bash = os.path.basename(self._shell or default_shell()) == "bash"
        if not is_bash or not isinstance(script, str) or arguments.get("session"):
            return None
        try:
            return commands_of(script)
        except UnknownCommandsError:
            return None

    def _approval_settings(self) -> dict[str, Any]:
        return {**super()._approval_settings(), "shell": self._shell}


def check_script(command: str) -> None:
    """Raise ToolError for an empty script, or one with a NUL character."""
    if not command.strip():
        raise ToolError("command must not be empty", "validation_error")
    if "\0" in command:
        raise ToolError("command must not contain NUL characters", "validation_error")


def shell_program(chosen: str | None) -> str:
    """Return the configured shell, or the system's bash; ToolError if it cannot be executed."""
    shell = chosen or default_shell()
    if not os.access(shell, os.X_OK):  # checked here, because in a sandbox bwrap would report it
        raise ToolError(f"{shell} does not exist or is not executable", "unavailable")
    return shell


@functools.cache
def default_shell() -> str:
    """Return the system's bash, or else its `sh`."""
    programs = (os.path.join(folder, "bash") for folder in ("/bin", *os.get_exec_path()))
    return next((path for path in programs if os.access(path, os.X_OK)), "/bin/sh")


def script_arguments(shell: str, command: str) -> list[str]:
    """Return the arguments that make a shell run a script; ToolError if it is too long for the system."""
    if len(encoded(command)) >= _MAX_ARGUMENT:
        message = f"command is longer than {_MAX_ARGUMENT // 1024} KiB"
        raise ToolError(f"{message}; write it to a file and run the file", "limit_exceeded")
    return [shell, "-c", "--", command]
