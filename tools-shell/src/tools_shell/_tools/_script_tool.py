"""`ScriptTool`, the base class of tools that run a shell script."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tools_shell._bash._effects import script_effects
from tools_shell._environment import clean_environment
from tools_shell._tools._shell_tool import ShellTool
from tools_shell._workspace import workspace_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from tools_core import Context, Effects
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
        """Return the hints and commands of this script, as far as its text proves them; see Tool."""
        usual = super().effects(arguments, context)
        root = os.path.realpath(workspace_path(self._root or (context.workspace if context else None)))
        is_trusted = self._trusts_repository and os.path.exists(os.path.join(root, ".git"))
        environment = {**clean_environment(), **self._env}
        return script_effects(arguments, self._shell, usual, environment, root if is_trusted else None)

    def _approval_settings(self) -> dict[str, Any]:
        return {**super()._approval_settings(), "shell": self._shell, "trusts_repository": self._trusts_repository}
