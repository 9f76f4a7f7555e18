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
from tools_mcp._client._definition import Definition, tool_names

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tools_mcp._client._toolset import McpTool, McpToolset

_SERVERS = "mcpServers"


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

    def toolset(self) -> McpToolset:
        """Make a toolset that offers the accepted tools."""
        from tools_mcp._client._toolset import McpToolset  # not needed to list names

        made = McpToolset(self.address, name=self.name, pins=self.definitions)
        made.fix = f"a person has to review that: {self.fix}"
        return made


class ServerTool(NamedTuple):
    """A tool as the group `ask_tools.sources` describes it."""

    server: Configured
    folder: str
    name: str
    remote: str = ""
    version: str = ""

    @property
    def origin(self) -> str:
        return self.server.name

    @property
    def value(self) -> str:
        return described(self.server.address)

    @property
    def fix(self) -> str:
        return self.server.fix

    @property
    def error(self) -> str:
        return self.server.error

    def load(self) -> McpTool:
        """Make the tool; its server is started when it is called."""
        server, toolset = _toolsets.get(self.origin, (None, None))
        if server != self.server or toolset is None:
            toolset = self.server.toolset()
            _toolsets[self.origin] = self.server, toolset
        return toolset.tool(self.remote)


_toolsets: dict[str, tuple[Configured, McpToolset]] = {}  # registries of one process share a server


def server_tools(path: str) -> Iterator[ServerTool]:
    """Yield the tools of all servers in the file; ValueError if it cannot be read."""
    for server in read_servers(path).values():
        if server.error:
            yield ServerTool(server, path, "server")
        for remote, name in tool_names(server.definitions).items():
            yield ServerTool(server, path, name, remote)


def read_servers(path: str) -> dict[str, Configured]:
    """Return the servers of the file by name; none if there is no file, ValueError if it cannot be read."""
    return {name: _configured(name, entry) for name, entry in _read(path).get(_SERVERS, {}).items()}


def _configured(name: str, entry: Any) -> Configured:
    try:
        address = address_of(entry)
    except (ValueError, TypeError, AttributeError) as error:
        return Configured(name, {}, {}, str(error))
    try:
        return Configured(name, address, {tool["name"]: tool for tool in entry["tools"]}, "")
    except (KeyError, TypeError):
        return Configured(name, address, {}, "its tools were not accepted yet")


@contextmanager
def changed_servers(path: str) -> Generator[dict[str, Any]]:
    """Give the entries by name to change, and write the file in one step; other processes wait for that."""
    from tools_core._registry._replace_file import replace  # not needed to read

    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        document = _read(path)
        yield document.setdefault(_SERVERS, {})
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # it may have secrets
        replace(path, (json.dumps(document, indent=2) + "\n").encode())
    finally:
        os.close(lock)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if isinstance(document, dict) and isinstance(document.get(_SERVERS, {}), dict):
        return document
    raise ValueError(f"{path} has no object {_SERVERS} with servers by name")
