"""`ask-tools serve`: the installed tools as a server of the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_core._cli._terminal import CommandError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `serve`."""
    parser.description = "Serve the installed tools over the Model Context Protocol, on standard input and output."
    text = "names or patterns of installed tools, separated by commas; by default all"
    parser.add_argument("--tools", metavar="TOOL,...", action="append", help=text)
    parser.add_argument("--http", metavar="[HOST:]PORT", help="serve HTTP at /mcp, on 127.0.0.1 by default")
    text = "tools that are called without approval: names or patterns, separated by commas"
    parser.add_argument("--allow", metavar="TOOL,...", action="append", help=text)
    parser.add_argument("--read-only", action="store_true", help="serve only tools that change nothing")
    parser.add_argument("--policy", metavar="FILE", action="append", help="rules in place of the user's policy file")
    parser.add_argument("--workspace", metavar="DIR", help="the folder that file tools are confined to")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=120.0, help="limit of a call; 120 by default"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Serve until the client is gone, or until SIGINT or SIGTERM."""
    import os
    from pathlib import Path

    from tools_mcp._server._installed_tools import InstalledTools
    from tools_mcp._server._server import Server
    from tools_runtime import Policy, PolicyError

    if options.read_only:
        os.environ["ASK_TOOLS_READ_ONLY"] = "1"
    rules = [{"decision": "allow", "tool": _words(options.allow)}] if options.allow else []
    try:
        policy = Policy(rules, files=options.policy)
    except PolicyError as error:
        raise CommandError(str(error)) from error
    tools = InstalledTools(_words(options.tools) or ["*"], read_only=options.read_only)
    server = Server(tools, policy=policy, workspace=options.workspace or Path.cwd(), timeout=options.timeout)
    if options.http is None:
        server.run_stdio()
    else:
        host, _, port = options.http.rpartition(":")
        server.run_http(host or "127.0.0.1", int(port))
    return 0


def _words(given: list[str] | None) -> list[str]:
    return [word.strip() for word in ",".join(given or ()).split(",") if word.strip()]
