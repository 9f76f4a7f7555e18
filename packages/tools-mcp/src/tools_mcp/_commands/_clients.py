"""MCP clients, and the files that list the servers they start."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client; its `file` is the user's, and `project` that of one project, relative to its folder."""

    title: str
    file: Callable[[], Path]
    project: str | None
    format: Literal["json", "jsonc", "toml"]  # jsonc: JSON with comments and trailing commas
    section: str = "mcpServers"
    typed: bool = False  # whether an entry says "type": "stdio"
    workspace: str = ""  # what stands for the project's folder in arguments; empty if servers start in that folder


def _application(path: str) -> Path:
    """Return a file in the system's folder for settings of applications."""
    return _home("Library/Application Support") / path if sys.platform == "darwin" else _config() / path


def _config() -> Path:
    return _home(".config", "XDG_CONFIG_HOME" if sys.platform != "darwin" else "")


def _home(path: str, variable: str = "") -> Path:
    """Return the folder in an environment variable, or else one below the home folder."""
    return Path(os.environ.get(variable) or Path.home() / path)


# The clients' documentation has these places.
CLIENTS = {
    "claude-desktop": Client(
        title="Claude Desktop",
        file=lambda: _application("Claude/claude_desktop_config.json"),
        project=None,
        format="json",
    ),
    "claude-code": Client(
        title="Claude Code",
        file=lambda: _home("", "CLAUDE_CONFIG_DIR") / ".claude.json",
        project=".mcp.json",
        format="json",
        typed=True,
    ),
    "cursor": Client(
        title="Cursor",
        file=lambda: _home(".cursor/mcp.json"),
        project=".cursor/mcp.json",
        format="jsonc",
        typed=True,
        workspace="${workspaceFolder}",
    ),
    "vscode": Client(
        title="VS Code",
        file=lambda: _application("Code/User/mcp.json"),
        project=".vscode/mcp.json",
        format="jsonc",
        section="servers",
        typed=True,
        workspace="${workspaceFolder}",
    ),
    "zed": Client(
        title="Zed",
        file=lambda: _config() / "zed/settings.json",
        project=".zed/settings.json",
        format="jsonc",
        section="context_servers",
    ),
    "codex": Client(
        title="Codex",
        file=lambda: _home(".codex", "CODEX_HOME") / "config.toml",
        project=".codex/config.toml",
        format="toml",
        section="mcp_servers",
    ),
    "gemini-cli": Client(
        title="Gemini CLI",
        file=lambda: _home(".gemini/settings.json"),
        project=".gemini/settings.json",
        format="jsonc",
    ),
}
