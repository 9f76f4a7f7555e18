"""`ScriptTool`, the base class of tools that run a shell script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_shell._bash._effects import script_effects
from tools_shell._tools._shell_tool import ShellTool

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Unpack

    from tools_core import Context, Effects
    from tools_shell._tools._shell_tool import Settings

    class ScriptSettings(Settings, total=False):
        """The settings of every tool that runs a script; see `ScriptTool`."""

        shell: str | None
        trusts_repository: bool


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

        With `trusts_repository`, `git status`, `diff`, `log` and similar count as reading, although git runs programs
        that the repository's configuration names.
        """
        super().__init__(root, **settings)
        self._shell = shell
        self._trusts_repository = trusts_repository

    def effects(self, arguments: Mapping[str, Any], context: Context | None = None) -> Effects:
        """Return the hints and commands of this script, as far as its text proves them; see Tool."""
        usual = super().effects(arguments, context)
        return script_effects(arguments, self._shell, usual, trusts_repository=self._trusts_repository)

    def _approval_settings(self) -> dict[str, Any]:
        return {**super()._approval_settings(), "shell": self._shell, "trusts_repository": self._trusts_repository}
