"""`ask-tools mcp add`, `list`, `update` and `remove`: servers whose tools are used here."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentTypeError
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_core import ToolError
from tools_core.command import CommandError, counted, is_terminal, note, one_line, write, write_json, write_table
from tools_mcp import McpToolset
from tools_mcp._client._address import described
from tools_mcp._client._configured import Configured, read_servers, write_server
from tools_mcp._client._definition import Definition, differences, digest
from tools_mcp._client._source import file_path
from tools_mcp._commands import _edit

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}")  # a server's name can be the prefix of a tool's name
_SECTIONS = ("mcpServers", "servers", "context_servers", "mcp_servers")

_ADD = """\
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
_UPDATE = """\
Read new descriptions as text that your model will read: one that tells it what to do is an attack.
Exit codes: 0 done, or nothing to do; 1 the server cannot be used, or the change was not accepted; 2 wrong usage.
"""
_LIST = "Each server is started, or reached, to see whether it works.\nExit codes: 0 all work, 1 one does not.\n"


def configure_add(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp add`."""
    parser.epilog = _ADD
    parser.usage = "ask-tools mcp add [OPTIONS] NAME (URL | -- COMMAND ARG...)"
    parser.add_argument("name", metavar="NAME", nargs="?", help="the server's name here, which can prefix its tools")
    parser.add_argument("url", metavar="URL", nargs="?", help="of a server with streamable HTTP")
    text = "a variable for the command, which otherwise gets HOME, PATH and the like alone"
    parser.add_argument("--env", metavar="KEY=VALUE", action="append", default=[], type=_pair, help=text)
    text = "a header for the URL"
    parser.add_argument("--header", metavar="'KEY: VALUE'", action="append", default=[], type=_pair, help=text)
    text = "add the servers of a client's file, or the one called NAME"
    parser.add_argument("--from", metavar="FILE", dest="file", type=Path, help=text)
    text = "for the start and for each call, from now on; 60 by default"
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=60.0, help=text)
    parser.add_argument("--yes", "-y", action="store_true", help="accept the tools")
    parser.set_defaults(run=_add, intermixed=True, command=[])


def configure_list(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp list`."""
    parser.epilog = _LIST
    parser.add_argument("--json", action="store_true", help="print a JSON array, with the tools of each server")
    parser.set_defaults(run=_list)


def configure_update(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp update`."""
    parser.epilog = _UPDATE
    parser.add_argument("name", metavar="NAME", help="the server")
    parser.add_argument("--yes", "-y", action="store_true", help="accept the change")
    parser.set_defaults(run=_update)


def configure_remove(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp remove`."""
    parser.add_argument("name", metavar="NAME", help="the server")
    parser.set_defaults(run=_remove)


def _add(options: Namespace) -> int:
    entries, status = _given(options), 0
    for name, entry in entries.items():
        try:
            _add_server(name, entry, options)
        except CommandError as failure:  # the other servers of a file do not depend on it
            if len(entries) == 1:
                raise
            note("\n  ".join([f"error: {failure}", *failure.hints]))
            status = 1
    return status


def _add_server(name: str, entry: Any, options: Namespace) -> None:
    if not _NAME.fullmatch(name):
        raise CommandError(f"a server's name has letters, digits, _ and -, at most 32, got {name!r}")
    if name in _known():
        raise CommandError(f"there is a server {name} already", f"ask-tools mcp remove {name}")
    try:
        toolset = McpToolset(entry, name=name, timeout=options.timeout)
    except (TypeError, ValueError) as failure:
        raise CommandError(f"{name}: {failure}") from failure
    if not _review(toolset, {}, options):
        raise CommandError(f"{name} has no tools", "nothing has changed", status=1)
    write(f"added {name}; its tools are in: ask-tools list mcp:{name.lower()}")


def _update(options: Namespace) -> int:
    server = _find(options.name)
    if not server.address:
        raise CommandError(f"{server.origin}: {server.error}", server.fix, status=1)
    toolset = McpToolset(server.address, name=server.origin, timeout=server.timeout)
    is_new = _review(toolset, server.definitions, options)
    write(f"updated {server.origin}" if is_new else f"{server.origin} has not changed")
    return 0


def _remove(options: Namespace) -> int:
    _find(options.name)
    write_server(file_path(), options.name, None)
    write(f"removed {options.name}")
    return 0


def _list(options: Namespace) -> int:
    servers = _known().values()
    with ThreadPoolExecutor(len(servers) + 1) as threads:
        found = list(threads.map(_facts, servers))
    if options.json:
        write_json(found)
    elif found:
        rows = [[one_line(each[key]) for key in ("name", "state", "server")] for each in found]
        write_table([("SERVER", "STATE", "COMMAND"), *rows])
    else:
        note("no servers; add one: ask-tools mcp add NAME -- COMMAND")
    return 1 if any(each["error"] for each in found) else 0


def _facts(server: Configured) -> dict[str, Any]:
    problem = server.error and f"{server.error}; fix: {server.fix}"
    if not problem:
        try:
            with server.toolset() as toolset:
                problem = f"definitions have changed: {server.fix}" if toolset.changes() else ""
        except (ToolError, ValueError) as failure:
            problem = str(failure).removeprefix(f"{server.origin}: ")
    return {
        "name": server.origin,
        "server": server.value,
        "state": problem or counted(len(server.definitions), "tool"),
        "error": problem or None,
        "tools": [{"name": name, "sha256": digest(each)} for name, each in server.definitions.items()],
    }


def _review(toolset: McpToolset, accepted: dict[str, Definition], options: Namespace) -> bool:
    """Show what differs from the accepted definitions, and store the new ones if the user agrees."""
    try:
        with toolset:
            listed, problems = toolset.definitions, toolset.problems
    except ToolError as failure:
        raise CommandError(str(failure), "nothing has changed", status=1) from failure
    lines = differences(accepted, listed)  # not truncated: hidden lines could mislead the model
    if not lines:
        return False
    note(f"{toolset.name}: {counted(len(listed), 'tool')} of {described(toolset.address)}")
    write("\n".join(map(one_line, lines)))
    for problem in problems:
        note(f"left out: {problem}")
    if not options.yes:
        if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            raise CommandError("this needs a confirmation, and there is no terminal", "nothing has changed; add --yes")
        sys.stderr.write("Accept these definitions? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise CommandError("nothing has changed", status=1)
    entry = {**toolset.address, "timeout": toolset.timeout, "tools": [*listed.values()]}
    write_server(file_path(), toolset.name, entry)
    return True


def _known() -> dict[str, Configured]:
    try:
        return read_servers(file_path())
    except ValueError as failure:
        raise CommandError(str(failure), "correct the file, or remove it", status=1) from failure


def _find(name: str) -> Configured:
    servers = _known()
    if name not in servers:
        raise CommandError(f"there is no server {name}", f"there are {', '.join(sorted(servers)) or 'none'}")
    return servers[name]


def _given(options: Namespace) -> dict[str, Any]:
    """Return the entries of the servers to add, by name."""
    if options.file is not None:
        if options.command or options.url or options.env or options.header:
            raise CommandError("--from takes everything but the NAME from the file")
        return _from_file(options.file, options.name)
    if options.name is None or bool(options.url) == bool(options.command):
        raise CommandError("give a NAME, and a URL or -- COMMAND", "ask-tools mcp add --help")
    if options.url and not options.url.startswith(("http://", "https://")):
        raise CommandError(f"not a URL: {options.url}", f"a command follows --: -- {options.url}")
    command, *arguments = options.command or [""]
    if os.sep in command:
        command = os.path.abspath(command)  # noqa: PTH100  (links stay)
    variables = {"env": dict(options.env), "headers": dict(options.header)}
    return {options.name: {"url": options.url, "command": command, "args": arguments, **variables}}


def _from_file(path: Path, name: str | None) -> dict[str, Any]:
    try:
        document = _edit.read(path.read_text(encoding="utf-8"), is_toml=path.suffix == ".toml")
    except (OSError, ValueError) as failure:
        raise CommandError(f"{path} cannot be read: {failure}") from failure
    entries: dict[str, Any] = next((document[key] for key in _SECTIONS if isinstance(document.get(key), dict)), {})
    found = {key: entry for key, entry in entries.items() if name in (None, key)}
    if not found:
        raise CommandError(f"{path} has no {f'server {name}' if name else 'servers'}")
    return found


def _pair(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"([^:=\s]+)(?:=|\s*:\s*)(.*)", text, re.DOTALL)
    if found is None:
        raise ArgumentTypeError(f"expected KEY=VALUE, or 'KEY: VALUE' for a header, got {text!r}")
    return found[1], found[2]
