"""`ask-tools mcp install`: let an MCP client start `ask-tools serve`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools_core._cli._terminal import CommandError
from tools_mcp._commands import _edit
from tools_mcp._commands._configuration import Configuration, add_arguments

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
Arguments after -- are given to `ask-tools serve`, whose --help has all. An entry that exists is updated, and what was
added to it stays, such as env. No other entry is touched.
Exit codes: 0 done, or nothing to do; 1 the file cannot be edited; 2 wrong usage.

examples:
  ask-tools mcp install claude-code
  ask-tools mcp install cursor --project --tools 'read_*' --dry-run
  ask-tools mcp install claude-desktop --workspace ~/notes -- --read-only
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp install`."""
    parser.epilog = _EPILOG
    add_arguments(parser)
    parser.add_argument("--tools", metavar="TOOL,...", help="names or patterns of tools to serve; by default all")
    text = "the folder that file tools are confined to; by default that of the project in the client"
    parser.add_argument("--workspace", metavar="DIR", help=text)
    parser.set_defaults(run=run, command=[])


def run(options: Namespace) -> int:
    """Put an entry into the client's file."""
    found = Configuration.of(options)
    client = found.client
    folder = str(Path(options.workspace).expanduser().absolute()) if options.workspace else client.workspace
    if client.project is None and not folder:
        raise CommandError(f"{client.title} has no projects; say which folder file tools may use", "--workspace DIR")
    given = [("--tools", options.tools), ("--workspace", folder)]
    words = [word for pair in given if pair[1] for word in pair]
    # Absolute, since clients have another PATH. -P keeps modules in the folder of a project from being imported.
    arguments = ["-P", "-m", "tools_core", "serve", *words, *options.command]
    kind = {"type": "stdio"} if client.typed else {}
    entry = {**kind, "command": sys.executable, "args": arguments}
    text = found.text
    if found.entry is None or found.entry != {**found.entry, **entry}:
        text = _edit.put(text, client.format, client.section, found.name, entry)
    found.change(text, options)
    return 0
