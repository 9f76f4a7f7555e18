"""`mcp.json`: the servers that the user has added, with their accepted definitions.

    {"mcpServers": {"github": {"url": "https://...", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"},
                               "tools": [{"name": "search", "inputSchema": {...}}]}}}

It is in the user's configuration folder, and has the form that other clients use, with the definitions besides.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_mcp._client._address import Address, address_of, described
from tools_mcp._client._definition import Definition, read_object, tool_names

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tools_core import Tool
    from tools_mcp._client._toolset import McpToolset

_SERVERS = "mcpServers"
_toolsets: dict[str, tuple[Configured, McpToolset]] = {}  # registries of one process share a server


class Configured(NamedTuple):
    """A server of the file; `error` says why it cannot be used."""

    name: str
    address: Address
    definitions: dict[str, Definition]
    error: str

    @property
    def fix(self) -> str:
        """The command that repairs it."""
        return f"ask-tools mcp update {self.name}"


class ServerTool(NamedTuple):
    """A tool as the group `ask_tools.sources` describes it."""

    name: str
    remote: str
    origin: str
    value: str
    folder: str
    fix: str
    error: str
    server: Configured
    version: str = ""

    def load(self) -> Tool:
        """Make the tool; its server is started when it is called."""
        known, toolset = _toolsets.get(self.origin, (None, None))
        if toolset is None or known != self.server:
            from tools_mcp._client._toolset import McpToolset  # not needed to list names

            toolset = McpToolset(self.server.address, name=self.origin, pins=self.server.definitions)
            toolset.fix = f"a person has to review that: {self.fix}"
            _toolsets[self.origin] = self.server, toolset
        return toolset.tool(self.remote)


def server_tools(path: str) -> Iterator[ServerTool]:
    """Yield the tools of all servers in the file, and one for a server with an error; ValueError for a bad file."""
    for server in read_servers(path).values():
        names = tool_names(server.definitions) if not server.error else {"": "server"}
        for remote, name in names.items():
            value = described(server.address)
            yield ServerTool(name, remote, server.name, value, path, server.fix, server.error, server)


def read_servers(path: str) -> dict[str, Configured]:
    """Return the servers of the file by name; none if there is no file, ValueError if it cannot be read."""
    return {name: _configured(name, entry) for name, entry in _entries(read_object(path), path).items()}


def _configured(name: str, entry: Any) -> Configured:
    address: Address = {}
    try:
        address = address_of(entry)
        return Configured(name, address, {tool["name"]: tool for tool in entry["tools"]}, "")
    except KeyError:
        return Configured(name, address, {}, "its tools were not accepted yet")
    except (ValueError, TypeError, AttributeError) as error:
        return Configured(name, address, {}, str(error))


@contextmanager
def changed_servers(path: str) -> Generator[dict[str, Any]]:
    """Give the entries by name to change, and write the file in one step; other processes wait for that."""
    from tools_core._registry._replace_file import replace  # not needed to read

    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        document = read_object(path)
        yield _entries(document, path)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # it may have secrets
        replace(path, (json.dumps(document, indent=2) + "\n").encode())
    finally:
        os.close(lock)


def _entries(document: dict[str, Any], path: str) -> dict[str, Any]:
    entries = document.setdefault(_SERVERS, {})
    if not isinstance(entries, dict):
        raise ValueError(f"{path} cannot be read: {_SERVERS} is not an object")  # noqa: TRY004  (of the file)
    return entries
