"""`ask-tools mcp list`: the servers that were added, with their state."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tools_core import ToolError
from tools_core._cli._terminal import counted, note, one_line, write_json, write_table
from tools_mcp import McpToolset
from tools_mcp._client._definition import digest
from tools_mcp._commands._servers import configured

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from tools_mcp._client._configured import Configured

_EPILOG = "Each server is started, or reached, to see whether it works.\nExit codes: 0 all work, 1 one does not.\n"


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp list`."""
    parser.epilog = _EPILOG
    parser.add_argument("--json", action="store_true", help="print a JSON array, with the tools of each server")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=20.0, help="for a server; 20 by default")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print a line for each server; 1 if one cannot be used."""
    servers = list(configured().values())
    with ThreadPoolExecutor(max(1, len(servers))) as threads:
        found = list(threads.map(lambda each: _facts(each, options.timeout), servers))
    if options.json:
        write_json(found)
    elif found:
        rows = [[str(each[key]) for key in ("name", "state", "server")] for each in found]
        write_table([("SERVER", "STATE", "COMMAND"), *(list(map(one_line, row)) for row in rows)])
    else:
        note("no servers; add one: ask-tools mcp add NAME -- COMMAND")
    return 1 if any(each["error"] for each in found) else 0


def _facts(server: Configured, timeout: float) -> dict[str, Any]:
    error = server.error and f"{server.error}; fix: ask-tools mcp update {server.name}"
    if not error:
        try:
            with McpToolset(server.entry, name=server.name, timeout=timeout, pins=server.definitions) as toolset:
                if toolset.changes():
                    error = f"definitions have changed: ask-tools mcp update {server.name}"
        except ToolError as failure:
            error = str(failure).removeprefix(f"{server.name}: ")
    return {
        "name": server.name,
        "server": str(server.server),
        "version": server.version,
        "state": error or counted(len(server.definitions), "tool"),
        "error": error or None,
        "tools": [{"name": name, "sha256": digest(each)} for name, each in server.definitions.items()],
    }
