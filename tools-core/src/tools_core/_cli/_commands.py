"""The sub-commands of this package and of others, each with its parser.

A sub-command is a function `configure(parser)` that adds arguments to an `argparse` parser and sets the default `run`,
a function of the parsed arguments that returns the exit code: 0 or None for success, 1 if a tool failed, 2 for wrong
use.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from shlex import quote
from typing import NoReturn

from tools_core._cli._install import install_command, pip
from tools_core._cli._output import CommandError, did_you_mean
from tools_core._registry._admission import extensions
from tools_core._registry._entry_points import EntryPoint, scan
from tools_core._registry._lock_file import LockError

# Sub-command -> the function that configures its parser, and its purpose.
BUILT_IN = {
    "list": ("tools_core._cli._list:configure", "list the installed tools"),
    "show": ("tools_core._cli._show:configure", "show the parameters and the origin of tools"),
    "call": ("tools_core._cli._call:configure", "call a tool; needs no model"),
    "schema": ("tools_core._cli._show:configure_schema", "print definitions as JSON, in the format of a provider"),
    "check": ("tools_core._cli._check:configure", "find errors in definitions"),
    "lock": ("tools_core._cli._lock:configure", "write the trusted tools to a lock file"),
    "verify": ("tools_core._cli._lock:configure_verify", "compare the installed tools with the lock file"),
    "new": ("tools_scaffold._new:configure", "create a tool package"),
    "add": ("tools_scaffold._add:configure", "add a tool to a package"),
    "doctor": ("tools_core._cli._doctor:configure", "find problems of the installation, each with a fix"),
    "skill": ("tools_scaffold._skill:configure", "teach coding agents to write tools"),
    "completion": ("tools_core._cli._completion:configure", "print a completion script for bash, zsh or fish"),
}
# Sub-commands of our other packages -> package and purpose. `--help` describes them without importing the package.
COMPANIONS = {
    "run": ("tools-cli", "run an agent with the tools"),
    "chat": ("tools-cli", "chat with an agent that has the tools"),
    "sessions": ("tools-cli", "list, show, fork and delete the sessions of agents"),
    "eval": ("tools-eval", "ask models questions, and show which tools they choose"),
    "changes": ("tools-workspace", "show what tools changed in a copy of the workspace"),
    "apply": ("tools-workspace", "apply the changes of a copy to the workspace"),
    "undo": ("tools-workspace", "restore the content from before changes were applied"),
    "serve": ("tools-mcp", "serve the tools to MCP clients"),
    "mcp": ("tools-mcp", "use MCP servers, and let MCP clients use the tools"),
    "ui": ("tools-studio", "try tools and follow sessions in the browser"),
    "policy": ("tools-runtime", "explain and check the policy, and manage approvals"),
    "hooks": ("tools-runtime", "list the hooks around calls"),
    "search": ("tools-runtime", "find tools by what they do"),
}


class _Parser(ArgumentParser):
    """A parser that raises CommandError."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(message, f"{self.prog} --help")


def sub_command(name: str) -> ArgumentParser:
    """Import the sub-command `name`, and no other, and return its parser."""
    if name in BUILT_IN:
        reference, summary = BUILT_IN[name]
        module, _, function = reference.partition(":")
        return make_parser(getattr(import_module(module), function), name, summary)
    entry = _find(name)
    with extension(entry, f"has the command {name}"):
        return make_parser(entry.load(), name, f"A command of {entry.distribution} {entry.version}.")


def make_parser(configure: Callable[[ArgumentParser], None], name: str, summary: str) -> ArgumentParser:
    """Return the parser of `ask-tools NAME`, with the arguments that `configure` adds."""
    prog, formatter = f"ask-tools {name}", RawDescriptionHelpFormatter
    parser = _Parser(prog=prog, description=summary, formatter_class=formatter, allow_abbrev=False)
    configure(parser)
    if not callable(parser.get_default("run")):
        raise TypeError("its configure(parser) does not set the default `run`")
    return parser


def run_parser(parser: ArgumentParser, words: list[str]) -> int:
    """Parse the words after the sub-command, run it, and return its exit code."""
    # Options may stand between arguments if the sub-command declares that its parser supports it.
    intermixed = parser.get_default("intermixed")
    options, unknown = (parser.parse_known_intermixed_args if intermixed else parser.parse_known_args)(words)
    if unknown:
        raise _unknown_word(parser, options, unknown[0], words)
    return int(options.run(options) or 0)


def external() -> list[EntryPoint]:
    """Return the sub-commands of other packages, from their metadata alone; blocked ones are left out."""
    return [entry for entry in admitted("ask_tools.commands")[0] if entry.name not in BUILT_IN]


def admitted(group: str) -> tuple[list[EntryPoint], list[EntryPoint]]:
    """Return the entry points of a group that may be imported, and the blocked ones; CommandError for a bad list."""
    try:
        return extensions(group)
    except ValueError as broken:
        raise invalid_list(broken) from broken


def invalid_list(broken: ValueError) -> CommandError:
    """Return the error for a malformed allow or deny list, or a lock that cannot be read."""
    is_lock = isinstance(broken, LockError)
    hint = (
        "without a valid lock, no tool is used; write one: ask-tools lock" if is_lock else "no tool is used until then"
    )
    return CommandError(str(broken), hint)


def check_blocked(entries: list[EntryPoint], purpose: str) -> None:
    """Raise CommandError if there are entry points that a list or the lock blocks."""
    for entry in entries:
        message = f"{entry.distribution} {entry.version} {purpose}, and ASK_TOOLS_DENY or ASK_TOOLS_LOCK blocks it"
        raise CommandError(message, "allow it, or lock it: ask-tools lock", status=1)


def summary_of(entry: EntryPoint) -> str:
    """Return the purpose of a sub-command of another package, or the package if the purpose is unknown."""
    package, summary = COMPANIONS.get(entry.name, ("", ""))
    return summary if package == entry.distribution else f"from {entry.distribution} {entry.version}"


@contextmanager
def extension(entry: EntryPoint, purpose: str) -> Generator[None]:
    """Turn any failure of another package's code into a CommandError that names the package."""
    try:
        yield
    except (Exception, SystemExit) as broken:
        message = f"{entry} {purpose} and cannot be loaded: {type(broken).__name__}: {broken}"
        fix = f"{install_command(entry.distribution)}, or {pip('uninstall', entry.distribution)}"
        raise CommandError(message, f"fix: {fix}", status=1) from broken


def _find(name: str) -> EntryPoint:
    """Return the installed sub-command with this name; `PACKAGE:NAME` is unique if two packages share a name."""
    if name.startswith("-"):
        hint = did_you_mean(name, ["--debug", "--help", "--version"])
        raise CommandError(f"unknown option {name}", hint, "ask-tools --help")
    entries = external()
    matches = [entry for entry in entries if name in (entry.name, entry.qualified)]
    if len(matches) == 1:
        return matches[0]
    blocked = [entry for entry in admitted("ask_tools.commands")[1] if name in (entry.name, entry.qualified)]
    if not matches:
        check_blocked(blocked, f"has the command {name}")
    if matches:
        raise CommandError(
            f"two packages have a command {name}", *(f"ask-tools {entry.qualified}" for entry in matches)
        )
    if name in COMPANIONS:
        package, _ = COMPANIONS[name]
        raise CommandError(f"{name} is part of {package}, which is not installed", f"fix: {install_command(package)}")
    similar = did_you_mean(name, [*BUILT_IN, *COMPANIONS, *(entry.name for entry in entries)])
    is_tool = any(name in (entry.name, entry.qualified) for entry in scan("ask_tools.tools"))
    call = f"it is a tool: ask-tools call {name}" if is_tool else ""
    raise CommandError(f"unknown command {name}", similar, call, "list of commands: ask-tools --help")


def _unknown_word(parser: ArgumentParser, options: Namespace, word: str, words: list[str]) -> CommandError:
    if not word.startswith("-"):
        return CommandError(f"unexpected argument {word}", f"{parser.prog} --help")
    option, equals, value = word.partition("=")
    hints = [did_you_mean(option, parser._option_string_actions)]
    if hasattr(options, "words"):  # it takes the arguments of a tool
        following = [*words[words.index(word) + 1 :], "-"][0]
        if not equals:
            value = "true" if following.startswith("-") or "=" in following else following
        key = option.lstrip("-").replace("-", "_")
        hints.append(f"write arguments of the tool as {key}={quote(value)}")
    return CommandError(f"unknown option {option}", *hints, f"{parser.prog} --help")
