"""What is known of one call of a shell before it is made."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tools_core import Effects
from tools_shell._bash._program import default_shell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools_shell._script._parts import Redirection, Script, SimpleCommand, Word


def script_effects(arguments: Mapping[str, Any], shell: str | None, usual: Effects) -> Effects:
    """Return the effects that the parts of the script `command` prove; `usual` are those of any call of the tool.

    The hints are proved ones, or the tool's own. The commands are all of the script. Variables precede the command that
    they are set for, as in the script, or stand alone. A file that is read or written is a command `<` or `>` of its
    own. Nothing is proved in a session, where earlier scripts may have changed what words mean, for another shell than
    bash, or without `tools-shell[parser]`.
    """
    if not _is_readable(shell, arguments):
        return Effects(usual.annotations, paths=None, commands=None, settings=usual.settings)
    from tools_shell._script._effects import effects_of  # only for policies, which few callers have
    from tools_shell._script._parse import WITHOUT_PARSER, parse_script

    script, env = parse_script(arguments["command"]), arguments.get("env") or {}
    proved = asdict(effects_of(script, environment=env))
    is_known = script.is_known and not any(command.name in _SIGNS for command in script.commands)
    return Effects(
        {**usual.annotations, **{name: value for name, value in proved.items() if value is not None}},
        paths=() if is_known else None,
        commands=_commands(script, env) if is_known else None,
        settings=usual.settings,
        missing=["tools-shell[parser]"] if WITHOUT_PARSER in script.unknown else (),
    )


_SIGNS = (None, "<", ">")  # a program of such a name would be taken for a file


def _commands(script: Script, env: Mapping[str, str]) -> list[list[str | None]]:
    variables: list[list[str | None]] = [[f"{name}={value}"] for name, value in env.items()]
    commands = [words for command in script.commands if (words := _words(command))]
    files = [words for each in script.redirections for words in _files(each)]
    return [*variables, *commands, *files]


def _words(command: SimpleCommand) -> list[str | None]:
    variables: list[str | None] = [
        None if (value := _word(each.value)) is None else f"{each.name}={value}" for each in command.assignments
    ]
    return [*variables, *([command.name] if command.name else ()), *map(_word, command.arguments)]


def _word(word: Word) -> str | None:
    return word if isinstance(word, str) else None


def _files(redirection: Redirection) -> Iterator[list[str | None]]:
    from tools_shell._script._names import is_descriptor  # only for policies, see above

    operator, target = redirection.operator, _word(redirection.target)
    if operator in ("<<", "<<-", "<<<"):  # text of the script itself
        return
    is_open = operator in (">&", "<&") and target is not None and (target == "-" or is_descriptor(target))
    if not (is_open or target == "/dev/null"):
        if "<" in operator:
            yield ["<", target]
        if ">" in operator:
            yield [">", target]


def _is_readable(shell: str | None, arguments: Mapping[str, Any]) -> bool:
    """Whether the words of a script mean what they mean in a new bash."""
    is_bash = os.path.basename(shell or default_shell()) == "bash"
    is_script = isinstance(arguments.get("command"), str) and _is_environment(arguments.get("env") or {})
    return is_bash and is_script and not arguments.get("session")


def _is_environment(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(part, str) for item in value.items() for part in item)
