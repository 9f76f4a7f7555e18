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
_toolsets: dict[str, McpToolset] = {}  # registries of one process share a server


class Configured(NamedTuple):
    """A server of the file, or one of its tools, as the group `ask_tools.sources` describes it.

    `error` says why the server cannot be used, and `remote` is its own name for the tool.
    """

    origin: str
    folder: str
    address: Address
    definitions: dict[str, Definition]
    error: str
    name: str = "server"
    remote: str = ""
    version: str = ""

    @property
    def value(self) -> str:
        return described(self.address)

    @property
    def fix(self) -> str:
        return f"ask-tools mcp update {self.origin}"

    def load(self) -> Tool:
        """Make the tool; its server is started when it is called."""
        toolset = _toolsets.get(self.origin)
        if toolset is None or (toolset.address, toolset.definitions) != (self.address, self.definitions):
            from tools_mcp._client._toolset import McpToolset  # not needed to list names

            toolset = _toolsets[self.origin] = McpToolset(self.address, name=self.origin, pins=self.definitions)
            toolset.fix = f"a person has to review that: {self.fix}"
        return toolset.tool(self.remote)


def server_tools(path: str) -> Iterator[Configured]:
    """Yield the tools of all servers in the file, and servers with an error; ValueError if it cannot be read."""
    for server in read_servers(path).values():
        names = tool_names(server.definitions) if not server.error else {"": "server"}
        yield from (server._replace(name=name, remote=remote) for remote, name in names.items())


def read_servers(path: str) -> dict[str, Configured]:
    """Return the servers of the file by name, if there is one; ValueError if it cannot be read."""
    return {name: _configured(name, path, entry) for name, entry in _entries(read_object(path), path).items()}


def _configured(name: str, path: str, entry: Any) -> Configured:
    address: Address = {}
    try:
        address = address_of(entry)
        return Configured(name, path, address, {tool["name"]: tool for tool in entry["tools"]}, "")
    except KeyError:
        return Configured(name, path, address, {}, "its tools were not accepted yet")
    except (ValueError, TypeError, AttributeError) as error:
        return Configured(name, path, address, {}, str(error))


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
