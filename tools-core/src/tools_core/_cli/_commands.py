"""The sub-commands, those of other packages included, each with its parser.

All have one interface: `configure(parser)` adds arguments to an `argparse` parser and sets the default `run`, a
function of the parsed arguments that returns the exit code: 0 or None for success, 1 if a tool failed, 2 for wrong use.
"""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from tools_core._cli._terminal import CommandError, did_you_mean

if TYPE_CHECKING:
    from tools_core._registry._entry_points import EntryPoint

_GROUP = "ask_tools.commands"

# Sub-command -> the module with its `configure`, and its purpose.
BUILT_IN = {
    "list": ("tools_core._cli._list", "list the installed tools"),
    "show": ("tools_core._cli._show", "show the parameters of a tool, and where it comes from"),
    "call": ("tools_core._cli._call", "call a tool; needs no model"),
    "schema": ("tools_core._cli._schema", "print definitions as JSON, in the format of a provider"),
    "check": ("tools_core._cli._check", "find errors in definitions"),
    "lock": ("tools_core._cli._lock", "write the trusted tools to a lock file"),
    "verify": ("tools_core._cli._verify", "compare the installed tools with the lock file"),
    "new": ("tools_scaffold._new", "create a tool package"),
    "add": ("tools_scaffold._add", "add a tool to a package"),
    "doctor": ("tools_core._cli._doctor", "find problems of the installation, each with a fix"),
    "completion": ("tools_core._cli._completion", "print a completion script for bash, zsh or fish"),
}


class _Parser(ArgumentParser):
    """A parser whose errors look like those of the rest of the command."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(message, f"{self.prog} --help")


def make_parser(name: str) -> ArgumentParser:
    """Import the sub-command `name`, and no other, and let it configure its parser."""
    if name in BUILT_IN:
        module, summary = BUILT_IN[name]
        return configured(import_module(module).configure, name, summary)
    entry = _find(name)
    from tools_core._cli._installed import extension  # not needed for built-in sub-commands

    with extension(entry, f"has the command {name}"):
        return configured(entry.load(), name, f"A command of {entry.distribution} {entry.version}.")


def configured(configure: Any, name: str, summary: str) -> ArgumentParser:
    """Make the parser of the sub-command `name`, and let it be configured."""
    parser = _Parser(
        prog=f"ask-tools {name}",
        description=summary,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    configure(parser)
    if not callable(parser.get_default("run")):
        raise TypeError("its configure(parser) does not set the default `run`")
    return parser


def _find(name: str) -> EntryPoint:
    """Return the installed sub-command of this name; `distribution:name` is unique where two packages share one."""
    if name.startswith("-"):
        raise CommandError(f"unknown option {name}", "ask-tools --help")
    from tools_core._registry._entry_points import scan  # not needed for built-in sub-commands

    entries = external()
    found = [entry for entry in entries if name in (entry.name, entry.qualified)]
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandError(f"two packages have a command {name}", *(f"ask-tools {each.qualified}" for each in found))
    known = [*BUILT_IN, *(entry.name for entry in entries)]
    is_tool = any(name in (entry.name, entry.qualified) for entry in scan("ask_tools.tools"))
    call = f"it is a tool: ask-tools call {name}" if is_tool else ""
    raise CommandError(f"unknown command {name}", did_you_mean(name, known), call, "list of commands: ask-tools --help")


def external() -> list[EntryPoint]:
    """Return the sub-commands of other packages, from their metadata alone."""
    from tools_core._registry._entry_points import scan  # not needed for built-in sub-commands

    return [entry for entry in scan(_GROUP) if entry.name not in BUILT_IN]
