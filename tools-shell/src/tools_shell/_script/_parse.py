"""`parse_script`: two readings of a script that must agree, made into commands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tools_shell._script._lexer import lex
from tools_shell._script._parts import Redirection, Script, SimpleCommand
from tools_shell._script._runs import Runs, simple_command, split_redirections
from tools_shell._script._suspects import suspicions
from tools_shell._script._tokens import Unreadable
from tools_shell._script._tree import outline
from tools_shell._script._wrappers import inner

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from tools_shell._script._lexer import Lexed
    from tools_shell._script._parts import Place
    from tools_shell._script._tree import Outline

WITHOUT_PARSER = 'no parser is installed: pip install "tools-shell[parser]"'
_DEEPEST = 8  # wrappers in wrappers
_MOST = 4000  # commands


def parse_script(text: str) -> Script:
    """Read a shell script without running it.

    Commands inside substitutions, and those that are handed to `bash -c`, `xargs`, `find -exec`, `env` and their
    like, are among its commands. `is_known` is False where not all of it can be read with certainty, or where
    the parser is not installed.
    """
    found = _Found()
    found.read(text, 0)
    return Script(tuple(found.commands), tuple(found.redirections), tuple(dict.fromkeys(found.unknown)))


class _Found:
    """What has been found so far, in a script and in those that it hands on."""

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.redirections: list[Redirection] = []
        self.unknown: list[str] = []

    def read(self, text: str, depth: int, places: tuple[Place, ...] = ()) -> None:
        try:
            commands, closing, reasons = _read(text)
        except Unreadable as reason:
            self.unknown.append(str(reason))
            return
        except ImportError:
            self.unknown.append(WITHOUT_PARSER)
            return
        self.unknown += reasons
        self.redirections += closing
        for command in commands:
            self._add(replace(command, places=(*places, *command.places)), depth)

    def _add(self, command: SimpleCommand, depth: int) -> None:
        if depth > _DEEPEST or len(self.commands) >= _MOST:
            self.unknown.append("it runs commands by way of too many others")
            return
        self.commands.append(command)
        self.redirections += command.redirections
        self.unknown += suspicions(command)
        runs = inner(command)
        if runs.unknown:
            self.unknown.append(runs.unknown)
        for each in runs.commands:
            self._add(each, depth + 1)
        for script in runs.scripts:
            self.read(script, depth + 1, (*command.places, "wrapper"))


def _read(text: str) -> tuple[list[SimpleCommand], list[Redirection], list[str]]:
    """The commands of a script, the redirections of its loops and groups, and what is unknown about it."""
    lexed = lex(text)
    all_runs = [Runs(level) for level in lexed.levels]
    closing = _closing(all_runs)
    commands = {run[0].start: simple_command(run) for runs in all_runs for run in runs.commands}
    tree = outline(text.encode())  # the last, since of nonsense it takes long
    _compare(lexed, all_runs, commands.keys(), tree)
    found = {start: replace(command, places=tree.commands[start]) for start, command in commands.items()}
    for runs in all_runs:
        for start, variable in runs.variables.items():
            places = tree.headers[start][1]
            found[start] = SimpleCommand(name="", assignments=(variable,), places=places, text=f"for {variable.name}")
    reasons = [reason for runs in all_runs for reason in runs.reasons]
    if lexed.has_arithmetic:
        reasons.append("it computes with variables, and values may hold commands")
    return [found[start] for start in sorted(found)], closing, reasons


def _compare(lexed: Lexed, all_runs: list[Runs], starts: AbstractSet[int], tree: Outline) -> None:
    """Both readings must have found the same commands, substitutions and comments at the same places."""
    headers = {start: kind for runs in all_runs for start, kind in runs.headers.items()}
    agree = (
        starts == tree.commands.keys()
        and headers == {start: kind for start, (kind, _) in tree.headers.items()}
        and set().union(*(runs.functions for runs in all_runs)) == tree.functions
        and lexed.substitutions == tree.substitutions
        and lexed.comments == tree.comments
        and lexed.here_documents == tree.here_documents
    )
    if not agree:
        raise Unreadable("it can be read in more than one way")


def _closing(all_runs: list[Runs]) -> list[Redirection]:
    """The redirections of loops and groups."""
    closing: list[Redirection] = []
    for runs in all_runs:
        for tokens in runs.closing:
            words, redirections = split_redirections(tokens)
            if words:
                raise Unreadable("a word behind the end of a loop or a group")
            closing += redirections
    return closing
