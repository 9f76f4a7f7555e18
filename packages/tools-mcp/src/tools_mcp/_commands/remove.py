"""`ask-tools mcp remove`: use a server no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core._cli._terminal import write
from tools_mcp._commands._servers import changed, find

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp remove`."""
    parser.add_argument("name", metavar="NAME", help="the server")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Remove the server from the file."""
    find(options.name)
    with changed() as entries:
        entries.pop(options.name, None)
    write(f"removed {options.name}")
    return 0
