"""The entries of the servers that `ask-tools mcp add` adds: of its arguments, or of a client's file."""

from __future__ import annotations

import os
import re
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_core.command import CommandError, note
from tools_mcp._client._address import in_project
from tools_mcp._client._configured import is_disabled
from tools_mcp._commands import _edit

if TYPE_CHECKING:
    from argparse import Namespace

_SECTIONS = ("mcpServers", "servers", "context_servers", "mcp_servers", "amp.mcpServers")
_DISABLED = ("disabledMcpServers", "disabledMcpjsonServers", "disabledServers")


def read_entries(options: Namespace) -> dict[str, Any]:
    """Return the entries of the servers to add, by name."""
    if options.file is not None:
        if options.command or options.url or options.env or options.header or options.login:
            raise CommandError("--from takes everything but the NAME from the file")
        return _from_file(options.file, options.name)
    if options.name is None or bool(options.url) == bool(options.command):
        raise CommandError("give a NAME, and a URL or -- COMMAND", "ask-tools mcp add --help")
    if options.url and not options.url.startswith(("http://", "https://")):
        raise CommandError(f"not a URL: {options.url}", f"a command follows --: -- {options.url}")
    command, *arguments = options.command or [""]
    if os.sep in command:
        command = os.path.abspath(command)  # noqa: PTH100  (links stay)
    entry = {"env": dict(options.env), "headers": dict(options.header), "login": options.login}
    return {options.name: {"url": options.url, "command": command, "args": arguments, **entry}}


def _from_file(path: Path, name: str | None) -> dict[str, Any]:
    try:
        document = _edit.read(path.read_text(encoding="utf-8-sig"), is_toml=path.suffix == ".toml")
    except (OSError, ValueError) as failure:
        raise CommandError(f"{path} cannot be read: {failure}") from failure
    places = _places(document)
    sections = [place[key] for place in places for key in _SECTIONS if isinstance(place.get(key), dict)]
    sections = sections or [place for place in places if all(map(_is_server, place.values()))]
    entries = {key: entry for section in sections for key, entry in section.items()}
    folder = path.absolute().parent
    project = str(folder.parent if folder.name.startswith(".") else folder)
    selected = {key: in_project(entry, project) for key, entry in entries.items() if name in (None, key)}
    if not selected:
        raise CommandError(f"{path} has no {f'server {name}' if name else 'servers'}")
    enabled = {key: entry for key, entry in selected.items() if not _is_disabled(key, entry, places)}
    for key in selected.keys() - enabled.keys():
        note(f"left out: {key} is disabled in {path}")
    if not enabled:
        raise CommandError(f"{path} has no server that is enabled", "enable it there, or add it by its command")
    return enabled


def _places(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a client's file that may have servers."""
    projects = document.get("projects")  # of Claude Code
    project = projects.get(str(Path.cwd())) if isinstance(projects, dict) else None
    return [place for place in (document, document.get("mcp"), project) if isinstance(place, dict)]


def _is_server(entry: Any) -> bool:
    """Return whether an entry is that of a server, as opencode and pages of servers have it without a section."""
    return isinstance(entry, dict) and ("command" in entry or "url" in entry)


def _is_disabled(name: str, entry: Any, places: list[dict[str, Any]]) -> bool:
    """Return whether a client's file has disabled a server, in one of the words of the clients."""
    return is_disabled(entry) or any(name in (place.get(key) or ()) for place in places for key in _DISABLED)


def pair(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"([^:=\s]+)(?:=|\s*:\s*)(.*)", text, re.DOTALL)
    if match is None:
        raise ArgumentTypeError(f"expected KEY=VALUE, or 'KEY: VALUE' for a header, got {text!r}")
    return match[1], match[2]
