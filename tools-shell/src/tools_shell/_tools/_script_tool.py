"""`ScriptTool`, the base class of tools that run a shell script."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tools_core import Effects
from tools_core.files import workspace_path
from tools_shell._bash._program import default_shell
from tools_shell._environment import clean_environment
from tools_shell._script._parts import Dynamic, Unreadable
from tools_shell._tools._shell_tool import ShellTool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from tools_core import Context
    from tools_shell._script._parts import Command
    from tools_shell._tools._shell_tool import Settings


class ScriptTool(ShellTool, abstract=True):
    """A tool whose argument `command` is a shell script."""

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        shell: str | None = None,
        trusts_repository: bool = False,
        **settings: Unpack[Settings],
    ) -> None:
        """`shell` is a program that accepts `-c -- script`; sessions need a bash.

        With `trusts_repository`, `git status`, `diff`, `log` and similar count as reading in the repository of the
        workspace itself, although git runs programs that its configuration names.
        """
        super().__init__(root, **settings)
        self._shell = shell
        self._trusts_repository = trusts_repository

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """Return the hints and commands of this script, as far as its text proves them; see Tool.

        The commands are lists of words; variable assignments come before their command, or stand alone. Redirections
        are separate commands `<` or `>`. Nothing is proved in a session, where earlier scripts may have redefined
        words, for a shell other than bash, or without `tools-shell[parser]`. A `workdir` counts as the command
        `cd`. Paths are unknown: programs open more files than their words name.
        """
        from tools_shell._script._parse import parse  # only policies need it
        from tools_shell._script._reads import reads_only

        annotations, settings, missing = self.annotations, self._approval_settings(), []
        commands = None
        try:
            if self._is_readable(arguments):
                commands = parse(arguments["command"])
        except Unreadable:
            pass
        except ImportError:
            missing = ["tools-shell[parser]"]
        if commands is None:
            return Effects(annotations, paths=None, commands=None, settings=settings, missing=missing)
        if reads_only(commands, {**clean_environment(), **self._env}, self._repository(arguments, context)):
            annotations = {**annotations, "read_only": True, "destructive": False, "open_world": False}
        workdir = arguments.get("workdir", ".")
        entered = [["cd", workdir]] if set(workdir) - {".", "/"} or ".." in workdir or workdir[:1] == "/" else []
        words = [*entered, *filter(None, map(_words, commands))]
        return Effects(annotations, paths=None, commands=words, settings=settings)

    def _is_readable(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether words have the meaning that they have in a new bash."""
        is_bash = os.path.basename(self._shell or default_shell()) == "bash"
        return is_bash and isinstance(arguments.get("command"), str) and not arguments.get("session")

    def _repository(self, arguments: Mapping[str, Any], context: Context | None) -> str | None:
        """Return the folder that the script runs in, if that is a trusted repository."""
        root = os.path.realpath(workspace_path(self._root or (context.workspace if context else None)))
        is_trusted = self._trusts_repository and arguments.get("workdir", ".") == "."
        return root if is_trusted and os.path.exists(os.path.join(root, ".git")) else None

    def _approval_settings(self) -> dict[str, Any]:
        return {**super()._approval_settings(), "shell": self._shell, "trusts_repository": self._trusts_repository}


def _words(command: Command) -> list[str | None]:
    variables = [None if isinstance(value, Dynamic) else f"{name}={value}" for name, value in command.variables]
    arguments = [None if isinstance(word, Dynamic) else word for word in command.arguments]
    return [*variables, *([command.name] if command.name else ()), *arguments]
