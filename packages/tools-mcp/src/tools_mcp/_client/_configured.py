"""`mcp.json`: the servers that the user has added, with their accepted definitions.

    {"mcpServers": {"github": {"url": "https://...", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"},
                               "timeout": 300, "tools": [{"name": "search", "inputSchema": {...}}]}}}

It is in the user's configuration folder, in the format of other clients plus the accepted definitions.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_mcp._client._address import Address, address_of, described
from tools_mcp._client._definition import Definition, read_object, tool_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core import Tool
    from tools_mcp._client._toolset import McpToolset

_SERVERS = "mcpServers"
_toolsets: dict[str, tuple[Configured, McpToolset]] = {}  # registries of one process share a server


class Configured(NamedTuple):
    """A server of the file, or one of its tools, as the group `ask_tools.sources` describes it.

    `error` says why the server cannot be used, and `remote` is its own name for the tool.
    """

    origin: str
    folder: str
    address: Address = {}  # noqa: RUF012  (never changed)
    definitions: dict[str, Definition] = {}  # noqa: RUF012
    timeout: float = 60.0
    error: str = ""
    name: str = "server"
    remote: str = ""
    version: str = ""

    @property
    def value(self) -> str:
        return described(self.address)

    @property
    def fix(self) -> str:
        return f"ask-tools mcp update {self.origin}" if self.address else f"correct {self.folder}"

    def toolset(self) -> McpToolset:
        """Make a toolset of the server, which is started when a tool is called."""
        from tools_mcp._client._toolset import McpToolset  # not needed to list names

        made = McpToolset(self.address, name=self.origin, timeout=self.timeout, pins=self.definitions)
        made.fix = f"a person has to review that: {self.fix}"
        return made

    def load(self) -> Tool:
        """Make the tool."""
        server = self._replace(name="", remote="")
        known = _toolsets.get(self.origin)
        if known is None or known[0] != server:
            known = _toolsets[self.origin] = server, self.toolset()
        return known[1].tool(self.remote)


def server_tools(path: str) -> Iterator[Configured]:
    """Yield the tools of all servers in the file, and servers with an error; ValueError if it cannot be read."""
    for server in read_servers(path).values():
        names = tool_names(server.definitions) if not server.error else {"": "server"}
        yield from (server._replace(name=name, remote=remote) for remote, name in names.items())


def read_servers(path: str) -> dict[str, Configured]:
    """Return the servers of the file by name, if there is one; ValueError if it cannot be read."""
    return {name: _configured(name, path, entry) for name, entry in _entries(read_object(path), path).items()}


def _configured(name: str, path: str, entry: Any) -> Configured:
    server = Configured(name, path)
    try:
        server = server._replace(address=address_of(entry), timeout=float(entry.get("timeout", 60)))
        return server._replace(definitions={tool["name"]: tool for tool in entry["tools"]})
    except KeyError:
        return server._replace(error="its tools were not accepted yet")
    except (ValueError, TypeError, AttributeError) as error:
        return server._replace(error=str(error))


def write_server(path: str, name: str, entry: dict[str, Any] | None) -> None:
    """Add, change or remove an entry, and write the file in one step."""
    from tools_core.files import replace  # not needed to read

    document = read_object(path)
    entries = _entries(document, path)
    if entry is None:
        entries.pop(name, None)
    else:
        entries[name] = entry
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # it may have secrets
    replace(path, (json.dumps(document, indent=2) + "\n").encode())


def _entries(document: dict[str, Any], path: str) -> dict[str, Any]:
    entries = document.setdefault(_SERVERS, {})
    if not isinstance(entries, dict):
        raise ValueError(f"{path} cannot be read: {_SERVERS} is not an object")  # noqa: TRY004  (of the file)
    return entries
