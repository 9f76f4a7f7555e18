"""What is known of one call of a shell before it is made."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tools_shell._shell._program import default_shell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools_core import Context
    from tools_shell._script._parts import Redirection, SimpleCommand, Word


class JudgedByParts:
    """A tool whose argument `command` is a script for the program `_shell`."""

    _shell: str | None
    annotations: Mapping[str, bool]

    def annotations_for(self, arguments: Mapping[str, Any]) -> Mapping[str, bool]:
        """See Tool: the hints that the parts of the script prove, else the tool's own.

        Nothing is proved in a session, where earlier scripts may have changed what words mean, and for another shell
        than bash; nor without `tools-shell[parser]`. The arguments need not be valid.
        """
        if not _is_readable(self._shell, arguments):
            return self.annotations
        from tools_shell._script._effects import effects_of  # only for who asks
        from tools_shell._script._parse import parse_script

        command, env = arguments["command"], arguments.get("env") or {}
        proved = asdict(effects_of(parse_script(command), environment=env))
        return {**self.annotations, **{name: value for name, value in proved.items() if value is not None}}

    def resources_for(
        self,
        arguments: Mapping[str, Any],
        context: Context | None = None,  # noqa: ARG002  (commands are the same in any workspace)
    ) -> Mapping[str, Sequence[Any]] | None:
        """See Tool: all commands of the script, each as its words; None where it is not understood for certain.

        Variables stand in front of the command that they are set for, as in the script, or alone. What is read from or
        written to a file is a command `<` or `>` of its own. Words that are known only when it runs are None.
        """
        if not _is_readable(self._shell, arguments):
            return None
        from tools_shell._script._parse import parse_script  # only for who asks

        script = parse_script(arguments["command"])
        if not script.is_known or any(command.name in _SIGNS for command in script.commands):
            return None
        variables = [[f"{name}={value}"] for name, value in (arguments.get("env") or {}).items()]
        commands = [words for command in script.commands if (words := _words(command))]
        files = [words for each in script.redirections for words in _files(each)]
        return {"commands": [*variables, *commands, *files]}


_SIGNS = (None, "<", ">")  # a program of such a name would be taken for a file


def _words(command: SimpleCommand) -> list[str | None]:
    variables: list[str | None] = [
        None if (value := _word(each.value)) is None else f"{each.name}={value}" for each in command.assignments
    ]
    return [*variables, *([command.name] if command.name else ()), *map(_word, command.arguments)]


def _word(word: Word) -> str | None:
    return word if isinstance(word, str) else None


def _files(redirection: Redirection) -> Iterator[list[str | None]]:
    from tools_shell._script._names import is_descriptor  # only for who asks

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
