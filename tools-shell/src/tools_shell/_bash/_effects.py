"""The effects of a script, determined before it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tools_core import Effects
from tools_shell._bash._program import default_shell
from tools_shell._script._parts import Dynamic, Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools_shell._script._parts import Command, Word

_READS = {"read_only": True, "destructive": False, "open_world": False}


def script_effects(
    arguments: Mapping[str, Any],
    shell: str | None,
    usual: Effects,
    environment: Mapping[str, str],
    repository: str | None,
) -> Effects:
    """Return the effects of the script `command` as far as its text proves them, else `usual`.

    The commands are lists of words; variable assignments come before their command, or stand alone. Redirections are
    separate commands `<` or `>`. Nothing is proved in a session, where earlier scripts may have redefined words, for
    a shell other than bash, or without `tools-shell[parser]`. `repository` is the workspace if its repository is
    trusted.
    """
    from tools_shell._script._parse import parse  # only policies need it
    from tools_shell._script._reads import reads_only

    env, commands, missing = arguments.get("env") or {}, None, []
    try:
        if _is_readable(shell, arguments):
            commands = parse(arguments["command"])
    except Unreadable:
        pass
    except ImportError:
        missing = ["tools-shell[parser]"]
    if commands is None:
        return Effects(usual.annotations, paths=None, commands=None, settings=usual.settings, missing=missing)
    is_elsewhere = arguments.get("workdir", ".") != "."
    does_read = not env and reads_only(commands, environment, None if is_elsewhere else repository)
    return Effects(
        {**usual.annotations, **(_READS if does_read else {})},
        commands=[*([f"{name}={value}"] for name, value in env.items()), *filter(None, map(_words, commands))],
        settings=usual.settings,
    )


def _words(command: Command) -> list[str | None]:
    variables = [None if isinstance(value, Dynamic) else f"{name}={value}" for name, value in command.variables]
    return [*variables, *([command.name] if command.name else ()), *map(_text, command.arguments)]


def _text(word: Word) -> str | None:
    return None if isinstance(word, Dynamic) else word


def _is_readable(shell: str | None, arguments: Mapping[str, Any]) -> bool:
    """Return whether words have the meaning that they have in a new bash."""
    is_bash = os.path.basename(shell or default_shell()) == "bash"
    is_script = isinstance(arguments.get("command"), str) and _is_environment(arguments.get("env") or {})
    return is_bash and is_script and not arguments.get("session")


def _is_environment(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(part, str) for item in value.items() for part in item)
