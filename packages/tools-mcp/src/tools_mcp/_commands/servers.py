"""`ask-tools mcp add`, `list`, `update` and `remove`: servers whose tools are used here."""

from __future__ import annotations

import asyncio
import re
import sys
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools_core import Registry, ToolError
from tools_core.command import CommandError, counted, is_terminal, note, one_line, write, write_json, write_table
from tools_mcp import McpToolset
from tools_mcp._client._address import described, variables
from tools_mcp._client._configured import ConfiguredServer, read_servers, write_server
from tools_mcp._client._definition import Definition, differences, tool_names
from tools_mcp._client._source import file_path
from tools_mcp._commands._entries import pair, read_entries

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}")  # a server's name can be the prefix of a tool's name
_ADD = """\
The server is started, and its tools are shown. If you accept them, they appear in `ask-tools list`, `call` and `run`
from then on. Their definitions are stored in ~/.config/ask-tools/mcp.json: a tool that the server defines differently
later is not called before `ask-tools mcp update`. A secret need not be in the file: ${NAME} in a variable, a header
or an argument is the value of that variable when the server is used. A server of a file is started after you confirm
its command or URL and the names of the variables that it receives.
Exit codes: 0 done, 1 the server cannot be used or was not accepted, 2 wrong usage.

examples:
  ask-tools mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  ask-tools mcp add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GITHUB_TOKEN}'
  ask-tools mcp add linear https://mcp.linear.app/mcp --login
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
    text = "a variable for the command; only HOME, PATH and four similar variables are inherited"
    parser.add_argument("--env", metavar="KEY=VALUE", action="append", default=[], type=pair, help=text)
    text = "a header for the URL"
    parser.add_argument("--header", metavar="'KEY: VALUE'", action="append", default=[], type=pair, help=text)
    text = "add the servers of a client's file, or the one called NAME"
    parser.add_argument("--from", metavar="FILE", dest="file", type=Path, help=text)
    text = "for the start and for each call, from now on; 60 by default"
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=60.0, help=text)
    parser.add_argument("--login", action="store_true", help="log in to the URL in a browser (OAuth)")
    _add_parts(parser)
    parser.add_argument("--details", action="store_true", help="show whole definitions instead of one line per tool")
    parser.add_argument("--yes", "-y", action="store_true", help="start the servers of a file, and accept the tools")
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
    _add_parts(parser)
    parser.add_argument("--yes", "-y", action="store_true", help="accept the change")
    parser.set_defaults(run=_update, details=True)


def configure_login(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp login`."""
    parser.add_argument("name", metavar="NAME", help="the server")
    parser.set_defaults(run=_login)


def configure_remove(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp remove`."""
    parser.add_argument("name", metavar="NAME", help="the server")
    parser.set_defaults(run=_remove)


def _add_parts(parser: ArgumentParser) -> None:
    text = "also a tool NAME_resources, which lists and reads the resources of the server"
    parser.add_argument("--resources", action="store_true", help=text)
    text = "also a tool NAME_prompts, which lists and gets the prompts of the server"
    parser.add_argument("--prompts", action="store_true", help=text)


def _parts(options: Namespace) -> dict[str, bool]:
    return {name: True for name in ("resources", "prompts") if getattr(options, name)}


def _add(options: Namespace) -> int:
    entries, status = read_entries(options), 0
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
    _check_name(name)
    try:
        toolset = McpToolset(entry, name=name, prefix=True, timeout=options.timeout)
    except (TypeError, ValueError) as failure:
        raise CommandError(f"{name}: {failure}") from failure
    toolset.address |= _parts(options)
    if options.file is not None:  # of a repository, perhaps: its author chose the command and the variables
        note(f"{options.file} has the server {name}: {described(toolset.address)}")
        for key in ("env", "envFile", "headers", "cwd"):
            if value := toolset.address.get(key):
                note(f"  {key}: {one_line(value if isinstance(value, str) else ', '.join(value))}")
        note(f"  variables that it receives: {', '.join(variables(toolset.address)) or 'none'}")
        _confirm("Start it?" if "command" in toolset.address else "Connect to it?", options)
    if options.login:
        _log_in(toolset)
    note(f"{'starting' if 'command' in toolset.address else 'connecting to'} {described(toolset.address)} ...")
    if not _review(toolset, {}, options):
        raise CommandError(f"{name} has no tools", "nothing has changed", status=1)
    for doubled in _doubled(name):
        note(f"{doubled} is also the name of another tool: both are called by their full names, see `ask-tools list`")
    write(f'added {name}; list its tools: ask-tools list mcp:{name.lower()}; in a policy: tool = "mcp:{name}:*"')


def _check_name(name: str) -> None:
    """Raise CommandError for a name that is malformed, or that of another server."""
    if not _NAME.fullmatch(name):
        raise CommandError(f"a server's name has letters, digits, _ and -, at most 32, got {name!r}")
    for known in _servers():
        if _origin(known) == _origin(name):
            raise CommandError(f"there is a server {known} already", f"ask-tools mcp remove {known}")


def _origin(server: str) -> str:
    """Return the name of a server as the registry compares it, which is that of a distribution."""
    return re.sub("[-_.]+", "-", server).lower()


def _doubled(server: str) -> list[str]:
    """Return the names that tools of a server share with others, so that the registry lists them with their server."""
    registry = Registry()
    registry.discover()
    listed = set(registry)
    return [tool.name for tool in _servers()[server].tools() if f"mcp:{_origin(server)}:{tool.remote}" in listed]


def _login(options: Namespace) -> int:
    server = _find(options.name)
    if not server.address.get("login"):
        raise CommandError(f"{server.name} was added without --login")
    _log_in(server.toolset())
    write(f"logged in to {server.name}")
    return 0


def _log_in(toolset: McpToolset) -> None:
    from tools_mcp._client._login import log_in  # brings the SDK: 0.9 s

    def show(url: str) -> None:
        note(f"log in in your browser: {url}")
        webbrowser.open(url)

    try:
        asyncio.run(log_in(toolset.address, show))
    except Exception as failure:
        cause: BaseException = failure
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        text = "no login within five minutes" if isinstance(cause, TimeoutError) else str(cause)
        raise CommandError(f"{toolset.name}: the login failed: {text}", "nothing has changed", status=1) from failure


def _update(options: Namespace) -> int:
    server = _find(options.name)
    if not server.address:
        raise CommandError(f"{server.name}: {server.error}", server.fix, status=1)
    address = server.address | _parts(options)
    toolset = McpToolset(address, name=server.name, prefix=True, timeout=server.timeout)
    is_new = _review(toolset, server.definitions, options)
    write(f"updated {server.name}" if is_new else f"{server.name} has not changed")
    return 0


def _remove(options: Namespace) -> int:
    server = _find(options.name)
    write_server(file_path(), options.name, None)
    if server.address.get("login"):
        from tools_mcp._client._login import write_tokens  # brings the SDK: 0.9 s

        write_tokens(server.address["url"], None)
    write(f"removed {options.name}")
    return 0


def _list(options: Namespace) -> int:
    servers = _servers().values()
    with ThreadPoolExecutor(len(servers) + 1) as threads:
        states = list(threads.map(_state, servers))
    if options.json:
        write_json(states)
    elif states:
        rows = [[one_line(state[key]) for key in ("name", "state", "server")] for state in states]
        write_table([("SERVER", "STATE", "COMMAND"), *rows])
    else:
        note("no servers; add one: ask-tools mcp add NAME -- COMMAND")
    return 1 if any(state["error"] for state in states) else 0


def _state(server: ConfiguredServer) -> dict[str, Any]:
    problem = server.error and f"{server.error}; fix: {server.fix}"
    remarks: list[str] = []
    state = "disabled"
    if not problem and not server.is_disabled:
        try:
            with server.toolset() as toolset:
                problem = f"definitions have changed: {server.fix}" if toolset.changes() else ""
                remarks = [f"left out: {reason}" for reason in toolset.problems] + toolset.remarks
                state = counted(len(toolset), "tool") + (f"; {'; '.join(remarks)}" if remarks else "")
        except (ToolError, ValueError) as failure:
            problem = str(failure).removeprefix(f"{server.name}: ")
    return {
        "name": server.name,
        "server": described(server.address),
        "state": problem or state,
        "error": problem or None,
        "remarks": remarks,
        "tools": [*server.definitions],
    }


def _review(toolset: McpToolset, accepted: dict[str, Definition], options: Namespace) -> bool:
    """Show what differs from the accepted definitions, and store the new ones if the user agrees."""
    try:
        with toolset:
            listed, problems, remarks = toolset.definitions, toolset.problems, toolset.remarks
    except ToolError as failure:
        raise CommandError(str(failure), "nothing has changed", status=1) from failure
    lines = differences(accepted, listed)
    if not lines:
        return False
    note(f"{toolset.name}: {counted(len(listed), 'tool')} of {described(toolset.address)}")
    if options.details:
        write("\n".join(map(one_line, lines)))
    else:
        names = tool_names(listed, f"{toolset.name}_")
        for key, definition in sorted(listed.items()):
            summary = " ".join(definition.get("description", "").split())
            summary = one_line(summary if len(summary) <= 90 else f"{summary[:89]}…")
            write(f"+ {names[key]}: {summary}{_claim(definition)}")
    for problem in problems:
        note(f"left out: {problem}")
    for remark in remarks:
        note(remark)
    _confirm("Accept these definitions?", options, () if options.details else lines)
    entry = {**toolset.address, "timeout": toolset.timeout, "tools": [*listed.values()]}
    write_server(file_path(), toolset.name, entry)
    return True


def _claim(definition: Definition) -> str:
    """Return a remark about a tool that a policy allows by default because of its hints."""
    hints = definition.get("annotations", {})
    runs = hints.get("readOnlyHint") is True and hints.get("openWorldHint") is False
    return " [claims that it only reads: it runs without a question]" if runs else ""


def _confirm(question: str, options: Namespace, details: Sequence[str] = ()) -> None:
    """Ask the user, who can look at the `details` first; CommandError unless the answer is yes."""
    if options.yes:
        return
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise CommandError("this needs a confirmation, and there is no terminal", "nothing has changed; add --yes")
    while True:
        sys.stderr.write(f"{question} [y/N{'/d for details' if details else ''}] ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()
        if answer in ("y", "yes"):
            return
        if answer != "d" or not details:
            raise CommandError("nothing has changed", status=1)
        write("\n".join(map(one_line, details)))  # whole: a hidden line could mislead the model


def _servers() -> dict[str, ConfiguredServer]:
    try:
        return read_servers(file_path())
    except ValueError as failure:
        raise CommandError(str(failure), "correct the file, or remove it", status=1) from failure


def _find(name: str) -> ConfiguredServer:
    servers = _servers()
    if name not in servers:
        raise CommandError(f"there is no server {name}", f"there are {', '.join(sorted(servers)) or 'none'}")
    return servers[name]
