"""Serve installed tools over the Model Context Protocol, and use the tools of other servers.

The names below are loaded when they are first used: importing the SDK of the protocol takes most of a second.
"""

from __future__ import annotations

TYPE_CHECKING: bool = False  # with a type, jedi reads the block as well
if TYPE_CHECKING:
    from tools_mcp._client._toolset import McpToolset
    from tools_mcp._server._oauth import OAuth
    from tools_mcp._server._server import Server

__all__ = ["McpToolset", "OAuth", "Server"]

_HOMES = {
    "_client._toolset": ("McpToolset",),
    "_server._oauth": ("OAuth",),
    "_server._server": ("Server",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module  # built in

            value: object = getattr(import_module(f"tools_mcp.{home}"), name)
            globals()[name] = value  # found directly from now on
            return value
    raise AttributeError(f"module 'tools_mcp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
