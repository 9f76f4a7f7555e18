"""The sub-commands, the command's own and those of other packages, and how one becomes a parser."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tools_core._cli._terminal import CommandError, did_you_mean, terminal_width

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from tools_core._registry._entry_points import EntryPoint

GROUP = "ask_tools.commands"

# Sub-command -> the module with its `configure`, and what it is for.
BUILT_IN = {
    "list": ("tools_core._cli._list", "show what is installed; runs no code of it"),
    "show": ("tools_core._cli._show", "show what a tool takes and where it comes from"),
    "call": ("tools_core._cli._call", "run a tool; no model needed"),
    "schema": ("tools_core._cli._schema", "print definitions as JSON, in the shape of a provider"),
    "check": ("tools_core._cli._check", "find what is wrong with definitions, and who would refuse them"),
    "lock": ("tools_core._cli._lock", "write down which tools are trusted, and as what"),
    "verify": ("tools_core._cli._verify", "compare what is installed with the lock"),
    "new": ("tools_scaffold._new", "generate a tool package"),
    "add": ("tools_scaffold._add", "add a tool to a package"),
    "doctor": ("tools_core._cli._doctor", "find what is broken, with the fix"),
    "completion": ("tools_core._cli._completion", "print a completion script for bash, zsh or fish"),
}


def make_parser(name: str) -> ArgumentParser:
    """Load the sub-command `name`, and no other, and let it configure its parser."""
    if name.startswith("-"):
        raise CommandError(f"unknown option {name}", "ask-tools --help")
    if name in BUILT_IN:
        module, summary = BUILT_IN[name]
        return _configured(import_module(module).configure, name, summary)
    entry = find(name)
    try:
        return _configured(entry.load(), name, f"A command of {entry.distribution} {entry.version}.")
    except (Exception, SystemExit) as broken:  # another package's code: its failure is reported as its own
        raise CommandError(
            f"ask-tools {name} does not load: {type(broken).__name__}: {broken}",
            f"it comes from {entry}",
            f"fix: pip install --upgrade {entry.distribution}, or pip uninstall {entry.distribution}",
            status=1,
        ) from broken


def find(name: str) -> EntryPoint:
    """The one installed sub-command of this name; `distribution:name` tells two of one name apart."""
    entries = external()
    found = [entry for entry in entries if name in (entry.name, entry.qualified)]
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandError(f"two packages have a command {name}", *(f"ask-tools {each.qualified}" for each in found))
    known = [*BUILT_IN, *(entry.name for entry in entries)]
    raise CommandError(
        f"unknown command {name}", did_you_mean(name, known), _as_tool(name), "ask-tools --help lists the commands"
    )


def _as_tool(name: str) -> str:
    """Who types the name of a tool wants to call it."""
    from tools_core._registry._entry_points import scan  # loaded already, to look for the command

    is_tool = any(name in (entry.name, entry.qualified) for entry in scan("ask_tools.tools"))
    return f"it is a tool: ask-tools call {name}" if is_tool else ""


def external() -> list[EntryPoint]:
    """The sub-commands of other packages, by their metadata alone."""
    from tools_core._registry._entry_points import scan  # 7 ms, which the command's own sub-commands need not pay

    return [entry for entry in scan(GROUP) if entry.name not in BUILT_IN]


def _configured(configure: Any, name: str, summary: str) -> ArgumentParser:
    from argparse import ArgumentParser, RawDescriptionHelpFormatter  # 3 ms, only for a sub-command

    # argparse finds the width out by importing shutil, at 3 ms for each start.
    width = terminal_width(sys.stdout) - 2

    def layout(prog: str) -> RawDescriptionHelpFormatter:
        return RawDescriptionHelpFormatter(prog, width=width)

    parser = ArgumentParser(prog=f"ask-tools {name}", description=summary, formatter_class=layout, allow_abbrev=False)
    configure(parser)
    if not callable(parser.get_default("run")):
        raise TypeError("its configure(parser) sets no default `run`")
    return parser
