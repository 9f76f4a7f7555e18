"""MCP clients, and the files that list the servers they start."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_IS_MACOS = sys.platform == "darwin"
_CONFIG = ("~/.config", "" if _IS_MACOS else "XDG_CONFIG_HOME")
_APPLICATIONS = ("~/Library/Application Support", "") if _IS_MACOS else _CONFIG


class Client(NamedTuple):
    """A client: the user's file, in a folder that a variable may move, and the file of a project."""

    title: str
    folder: tuple[str, str]
    file: str
    project: str = ""
    section: str = "mcpServers"
    is_typed: bool = False  # an entry has "type": "stdio"
    workspace: str = ""  # the variable for the project's folder; empty if servers start in that folder
    more: Mapping[str, Any] = {}  # other members of an entry
    remark: str = ""  # about approvals in this client
    permission: tuple[str, str, str] = ("", "", "")  # a remark, its part for each allowed tool, and their separator

    @property
    def path(self) -> Path:
        """The path of the user's file."""
        folder, variable = self.folder
        return Path(os.environ.get(variable) or folder).expanduser() / self.file

    def remark_on(self, entry: str, allowed: Sequence[str], install: str) -> str:
        """Return what the user of an entry should know about its approvals; `install` is the command without tools."""
        if not allowed:
            return self.remark.format(install=install)
        text, part, separator = self.permission
        parts = dict.fromkeys(part.format(entry=entry, tool=tool) for tool in allowed)
        return text.format(entry=entry) + separator.join(parts)


# The clients' documentation has these places.
# fmt: off
CLIENTS = {
    "claude-desktop": Client("Claude Desktop", _APPLICATIONS, "Claude/claude_desktop_config.json"),
    "claude-code": Client(
        "Claude Code", ("~", "CLAUDE_CONFIG_DIR"), ".claude.json", ".mcp.json", is_typed=True,
        remark="Claude Code asks before each tool, and ask-tools before calls that change something. If its question "
        "is enough, and for `claude -p`, which answers ours itself, allow the tools: {install}bash,write_file",
        permission=(
            "For `claude -p`, which cannot ask, allow the tools there too: --allowedTools ", "mcp__{entry}__{tool}", ","
        ),
    ),
    "cursor": Client(
        "Cursor", ("~", ""), ".cursor/mcp.json", ".cursor/mcp.json", is_typed=True, workspace="${workspaceFolder}"
    ),
    "vscode": Client(
        "VS Code", _APPLICATIONS, "Code/User/mcp.json", ".vscode/mcp.json", "servers", True, "${workspaceFolder}"
    ),
    "zed": Client("Zed", _CONFIG, "zed/settings.json", ".zed/settings.json", "context_servers"),
    "codex": Client(
        "Codex", ("~/.codex", "CODEX_HOME"), "config.toml", ".codex/config.toml", "mcp_servers",
        # Without these the first request of `codex exec` does not wait for the tools.
        more={"required": True, "startup_timeout_sec": 60},
        remark="`codex exec` answers our questions itself: allow the tools that it may use: {install}bash,write_file",
        permission=(
            "For `codex exec`, which cannot ask, allow the tools there too; below [mcp_servers.{entry}] write:\n",
            '  tools.{tool}.approval_mode = "approve"', "\n",
        ),
    ),
    "gemini-cli": Client(
        "Gemini CLI", ("~", ""), ".gemini/settings.json", ".gemini/settings.json",
        remark="Gemini CLI does not show our questions: allow the tools that it may use: {install}bash,edit_file",
        permission=(
            'For `gemini -p`, which cannot ask, add "trust": true to {entry} in its file; it then runs ', "{tool}", ", "
        ),
    ),
}
# fmt: on
