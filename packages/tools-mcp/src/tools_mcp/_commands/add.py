"""`ask-tools mcp add`: use the tools of a server."""

from __future__ import annotations

import os
import re
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_core._cli._terminal import CommandError, counted, note, one_line, write
from tools_mcp import McpToolset
from tools_mcp._client._address import Address
from tools_mcp._client._configured import entry_of
from tools_mcp._commands import _edit
from tools_mcp._commands._servers import changed, configured, confirm, reachable, version_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}")  # it can be the prefix of a tool's name
_SECTIONS = ("mcpServers", "servers", "context_servers")

_EPILOG = """\
The server is started, and its tools are shown. If you accept them, they appear in `ask-tools list`, `call` and `run`
from then on. Their definitions are kept in ~/.config/ask-tools/mcp.json: a tool that the server defines differently
later is not called before `ask-tools mcp update`. A secret need not be in the file: ${NAME} in a variable, a header
or an argument is the value of that variable when the server is used.
Exit codes: 0 done, 1 the server cannot be used or was not accepted, 2 wrong usage.

examples:
  ask-tools mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  ask-tools mcp add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GITHUB_TOKEN}'
  ask-tools mcp add --from .vscode/mcp.json
"""


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp add`."""
    parser.epilog = _EPILOG
    parser.usage = "ask-tools mcp add [OPTIONS] NAME (URL | -- COMMAND ARG...)"
    parser.add_argument("name", metavar="NAME", nargs="?", help="the server's name here, which can prefix its tools")
    parser.add_argument("url", metavar="URL", nargs="?", help="of a server with streamable HTTP")
    text = "a variable for the command, which otherwise gets HOME, PATH and the like alone"
    parser.add_argument("--env", metavar="KEY=VALUE", action="append", default=[], type=_pair("="), help=text)
    parser.add_argument(
        "--header", metavar="'KEY: VALUE'", action="append", default=[], type=_pair(":"), help="a header for the URL"
    )
    text = "add the servers of a client's file, or the one called NAME"
    parser.add_argument("--from", metavar="FILE", dest="file", type=Path, help=text)
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=60.0, help="for the start; 60 by default")
    parser.add_argument("--yes", "-y", action="store_true", help="accept the tools")
    parser.set_defaults(run=run, intermixed=True, command=[])


def run(options: Namespace) -> int:
    """Add the server, or those of a file."""
    servers = _servers(options)
    known = configured()
    for name in servers:
        if not _NAME.fullmatch(name):
            raise CommandError(f"a server's name has letters, digits, _ and -, at most 32, got {name!r}")
        if name in known:
            raise CommandError(f"there is a server {name} already", f"ask-tools mcp remove {name}")
    for name, server in servers.items():
        _add(name, server, options)
    return 0


def _add(name: str, server: Address, options: Namespace) -> None:
    with reachable(), McpToolset(server.to_dict(), name=name, timeout=options.timeout) as toolset:
        tools, definitions, version = toolset.tools, toolset.definitions, version_of(toolset)
    note(f"{name}: {counted(len(tools), 'tool')} of {server}")
    for tool in tools:  # whole: a line that is not shown could mislead the model
        lines = [f"    {one_line(line)}" for line in tool.description.splitlines()]
        write("\n".join([f"{tool.name} ({', '.join(_facts(tool)) or 'no hints'})", *lines]))
    for problem in toolset.problems:
        note(f"left out: {problem}")
    confirm("Use these tools?", yes=options.yes)
    with changed() as entries:
        entries[name] = entry_of(server, version, definitions)
    write(f"added {name}; its tools are in: ask-tools list mcp:{name.lower()}")


def _servers(options: Namespace) -> dict[str, Address]:
    """Return the servers to add, by name."""
    try:
        if options.file is not None:
            if options.command or options.url or options.env or options.header:
                raise CommandError("--from takes everything but the NAME from the file")
            return _from_file(options.file, options.name)
        if options.name is None or bool(options.url) == bool(options.command):
            raise CommandError("give a NAME, and a URL or -- COMMAND", "ask-tools mcp add --help")
        if options.url and not options.url.startswith(("http://", "https://")):
            raise CommandError(f"not a URL: {options.url}", f"a command follows --: -- {options.url}")
        given = options.url or options.command
        if options.command and os.sep in given[0]:
            given = [os.path.abspath(given[0]), *given[1:]]  # noqa: PTH100  (links stay)
        return {options.name: Address.of(given, dict(options.env), dict(options.header))}
    except ValueError as error:
        raise CommandError(str(error)) from error


def _from_file(path: Path, name: str | None) -> dict[str, Address]:
    try:
        document = _edit.read(path.read_text(encoding="utf-8"), "toml" if path.suffix == ".toml" else "jsonc")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    except _edit.SyntaxProblem as error:
        raise CommandError(f"{path}:{error.line}:{error.column} cannot be parsed: {error}") from error
    entries: dict[str, Any] = next((document[key] for key in (*_SECTIONS, "mcp_servers") if key in document), {})
    if name is not None:
        entries = {key: entry for key, entry in entries.items() if key == name}
    if not entries:
        raise CommandError(f"{path} has no {f'server {name}' if name else 'servers'}")
    return {key: Address.of(entry) for key, entry in entries.items()}


def _facts(tool: Any) -> list[str]:
    return [hint.replace("_", "-") for hint, value in tool.annotations.items() if value]


def _pair(mark: str) -> Any:
    def pair(text: str) -> tuple[str, str]:
        key, found, value = text.partition(mark)
        if not (found and key.strip()):
            raise ArgumentTypeError(f"expected KEY{mark}VALUE, got {text!r}")
        return key.strip(), value.strip() if mark == ":" else value

    return pair
