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
_toolsets: dict[str, tuple[ConfiguredServer, McpToolset]] = {}  # registries of one process share a server


class ConfiguredServer(NamedTuple):
    """A server of the file; `error` says why it cannot be used."""

    name: str
    path: str
    address: Address = {}  # noqa: RUF012  (never changed)
    definitions: dict[str, Definition] = {}  # noqa: RUF012
    timeout: float = 60.0
    error: str = ""
    is_disabled: bool = False

    @property
    def fix(self) -> str:
        """The way to repair the server."""
        return f"ask-tools mcp update {self.name}" if self.address else f"correct {self.path}"

    def tools(self) -> Iterator[ConfiguredTool]:
        """Yield its tools, or the server as a whole if it has an error."""
        names, remotes = tool_names(self.definitions, f"{self.name}_"), tool_names(self.definitions)
        for key in self.definitions if not (self.error or self.is_disabled) else ():
            yield self._tool(key, names[key], remotes[key])
        if self.error and not self.is_disabled:
            yield self._tool("", "server", "")

    def _tool(self, key: str, name: str, remote: str) -> ConfiguredTool:
        command = described(self.address)
        return ConfiguredTool(self, key, name, remote, self.name, self.path, command, self.fix, self.error)

    def toolset(self) -> McpToolset:
        """Return a toolset of the server, which is started when a tool is called."""
        from tools_mcp._client._toolset import McpToolset  # not needed to list names

        toolset = McpToolset(self.address, name=self.name, prefix=True, timeout=self.timeout, pins=self.definitions)
        toolset.fix = f"a person has to review that: {self.fix}"
        return toolset


class ConfiguredTool(NamedTuple):
    """A tool of a server, or the server if it has an error, as the group `ask_tools.sources` describes it."""

    server: ConfiguredServer
    key: str  # as the server calls it
    name: str
    remote: str  # the key as a legal name
    origin: str
    folder: str
    value: str
    fix: str
    error: str
    version: str = ""

    def load(self) -> Tool:
        """Return the tool."""
        known_server, toolset = _toolsets.get(self.server.name, (None, None))
        if toolset is None or known_server != self.server:
            toolset = self.server.toolset()
            _toolsets[self.server.name] = self.server, toolset
        return toolset.tool(self.key)


def server_tools(path: str) -> Iterator[ConfiguredTool]:
    """Yield the tools of all servers in the file, and servers with an error; ValueError if it cannot be read."""
    for server in read_servers(path).values():
        yield from server.tools()


def read_servers(path: str) -> dict[str, ConfiguredServer]:
    """Return the servers of the file by name, if there is one; ValueError if it cannot be read."""
    return {name: _configured(name, path, entry) for name, entry in _entries(read_object(path), path).items()}


def _configured(name: str, path: str, entry: Any) -> ConfiguredServer:
    server = ConfiguredServer(name, path, is_disabled=is_disabled(entry))
    try:
        server = server._replace(address=address_of(entry), timeout=float(entry.get("timeout", 60)))
        return server._replace(definitions={tool["name"]: tool for tool in entry["tools"]})
    except KeyError:
        return server._replace(error="its tools were not accepted yet")
    except (ValueError, TypeError, AttributeError) as error:
        return server._replace(error=str(error))


def is_disabled(entry: Any) -> bool:
    """Return whether an entry says `"disabled": true` or `"enabled": false`."""
    if not isinstance(entry, dict):
        return False
    is_true = str(entry.get("disabled", False)).lower() in ("true", "1")
    return is_true or str(entry.get("enabled", True)).lower() in ("false", "0")


def write_server(path: str, name: str, entry: dict[str, Any] | None) -> None:
    """Add, change or remove an entry, and replace the file; another process waits for its turn."""
    from fcntl import LOCK_EX, flock  # not needed to read, like the next

    from tools_core.files import replace

    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(f"{path}.lock", "wb") as lock:
        flock(lock, LOCK_EX)
        document = read_object(path)
        entries = _entries(document, path)
        if entry is None:
            entries.pop(name, None)
        else:
            entries[name] = entry
        replace(path, (json.dumps(document, indent=2) + "\n").encode(), mode=0o600)  # it may have secrets


def _entries(document: dict[str, Any], path: str) -> dict[str, Any]:
    entries = document.setdefault(_SERVERS, {})
    if not isinstance(entries, dict):
        raise ValueError(f"{path} cannot be read: {_SERVERS} is not an object")  # noqa: TRY004  (of the file)
    return entries
