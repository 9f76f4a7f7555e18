"""`ask-tools mcp update`: review and accept changed definitions of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core._cli._terminal import note, one_line, write
from tools_mcp import McpToolset
from tools_mcp._client._configured import entry_of
from tools_mcp._commands._servers import changed, confirm, find, reachable, version_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
Read new descriptions as text that your model will read: one that tells it what to do is an attack.
Exit codes: 0 done, or nothing to do; 1 the server cannot be used, or the change was not accepted; 2 wrong usage.
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp update`."""
    parser.epilog = _EPILOG
    parser.add_argument("name", metavar="NAME", help="the server")
    parser.add_argument("--yes", "-y", action="store_true", help="accept the change")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Show what the server defines differently, and write it to the file if the user accepts it."""
    known = find(options.name)
    pins = known.definitions
    with reachable(), McpToolset(known.entry, name=known.name, pins=pins) as toolset:
        lines, version = toolset.changes(), version_of(toolset)
        if not lines and not known.error:
            write(f"{known.name} has not changed")
            return 0
        write("\n".join(map(one_line, lines)))
        confirm("Accept these definitions?", yes=options.yes)
        toolset.refresh()
    for problem in toolset.problems:
        note(f"left out: {problem}")
    with changed() as entries:
        entries[known.name] = entry_of(toolset.server, version, toolset.definitions)
    write(f"updated {known.name}")
    return 0
