"""The tools of configured servers, for discovery: read from `mcp.json`, without a server and without the SDK."""

from __future__ import annotations

import os

from tools_core.files import config_path

TYPE_CHECKING = False  # importing typing costs 4 ms, and most users have no server
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools_mcp._client._configured import ConfiguredTool


def file_path() -> str:
    """Return the path of the user's file."""
    return config_path("mcp.json")


def source() -> Iterable[ConfiguredTool]:
    """Return the tools of all configured servers; ValueError if the file cannot be read."""
    path = file_path()
    if not os.path.exists(path):
        return ()
    from tools_mcp._client._configured import server_tools  # brings json

    return server_tools(path)
