"""The tools of configured servers, for discovery: read from `mcp.json`, without a server and without the SDK."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tools_core._user_path import user_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_mcp._client._configured import Configured
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


def source() -> Iterator[ServerTool]:
    """Yield the tools of all configured servers; ValueError if the file cannot be read."""
    path = user_path("XDG_CONFIG_HOME", "~/.config", "mcp.json")
    if not os.path.exists(path):
        return  # at once: most users have none
    from tools_mcp._client._configured import read_servers  # brings json
    from tools_mcp._client._names import tool_names

    for configured in read_servers(path).values():
        if configured.error:
            yield ServerTool(configured, path, "server", error=configured.error)
            continue
        for remote, name in tool_names(configured.definitions).items():
            yield ServerTool(configured, path, name, remote)


def toolset_of(configured: Configured) -> McpToolset:
    """Return the toolset of a configured server."""
    if configured not in _toolsets:
        from tools_mcp._client._toolset import McpToolset  # not needed to list names

        made = McpToolset(configured.server.to_dict(), name=configured.name, pins=configured.definitions)
        made.fix = f"a person has to review that: ask-tools mcp update {configured.name}"
        _toolsets.setdefault(configured, made)
    return _toolsets[configured]
