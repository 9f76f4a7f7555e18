"""`ServerTool`: a tool of a configured server, which is made when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools_mcp._client._configured import Configured, read_servers
from tools_mcp._client._names import tool_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_mcp._client._tool import McpTool
    from tools_mcp._client._toolset import McpToolset

_toolsets: dict[Configured, McpToolset] = {}  # registries of one process share a server


class ServerTool(NamedTuple):
    """A tool as the group `ask_tools.sources` describes it."""

    configured: Configured
    folder: str
    name: str
    remote: str = ""
    error: str = ""

    @property
    def origin(self) -> str:
        return self.configured.name

    @property
    def version(self) -> str:
        return self.configured.version

    @property
    def value(self) -> str:
        return str(self.configured.server)

    @property
    def fix(self) -> str:
        return f"ask-tools mcp update {self.configured.name}"

    def load(self) -> McpTool:
        """Make the tool; its server is started when it is called."""
        return toolset_of(self.configured).tool(self.remote)


def toolset_of(configured: Configured) -> McpToolset:
    """Return the toolset of a configured server."""
    if configured not in _toolsets:
        from tools_mcp._client._toolset import McpToolset  # not needed to list names

        made = McpToolset(configured.server.to_dict(), name=configured.name, pins=configured.definitions)
        made.fix = f"a person has to review that: ask-tools mcp update {configured.name}"
        _toolsets.setdefault(configured, made)
    return _toolsets[configured]


def server_tools(path: str) -> Iterator[ServerTool]:
    """Yield the tools of all servers in the file; ValueError if it cannot be read."""
    for configured in read_servers(path).values():
        if configured.error:
            yield ServerTool(configured, path, "server", error=configured.error)
            continue
        for remote, name in tool_names(configured.definitions).items():
            yield ServerTool(configured, path, name, remote)
