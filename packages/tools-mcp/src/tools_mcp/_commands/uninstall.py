"""`ask-tools mcp uninstall`: take `ask-tools serve` out of an MCP client's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_mcp._commands import _edit
from tools_mcp._commands._configuration import Configuration, add_arguments

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
Removes what `ask-tools mcp install` has added, and no other entry.
Exit codes: 0 done, or nothing to do; 1 the file cannot be edited; 2 wrong usage.

examples:
  ask-tools mcp uninstall claude-code
  ask-tools mcp uninstall cursor --project --dry-run
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp uninstall`."""
    parser.epilog = _EPILOG
    add_arguments(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Remove the entry from the client's file."""
    found = Configuration.of(options)
    text = found.text
    if found.entry is not None:
        text = _edit.remove(text, found.client.format, found.client.section, found.name)
    found.change(text, options)
    return 0
