"""`ask-tools mcp`: use MCP servers, and configure MCP clients."""

from __future__ import annotations

from argparse import REMAINDER
from typing import TYPE_CHECKING

from tools_core.command import make_parser, run_parser
from tools_mcp._commands import install, servers

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

# Each has the interface of a sub-command.
_ACTIONS = {
    "add": (servers.configure_add, "use the tools of a server"),
    "list": (servers.configure_list, "list the servers that were added, with their state"),
    "update": (servers.configure_update, "review and accept changed definitions of a server"),
    "login": (servers.configure_login, "log in to a server again"),
    "remove": (servers.configure_remove, "stop using a server"),
    "install": (install.configure_install, "let a client, such as Cursor, use the tools of this machine"),
    "uninstall": (install.configure_uninstall, "undo install"),
}


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp`; each action parses its own."""
    actions = [f"  {name:<12}{summary}\n" for name, (_, summary) in _ACTIONS.items()]
    parser.description = "Use the tools of MCP servers, and let MCP clients use the tools of this machine."
    parser.epilog = f"actions:\n{''.join(actions)}\n  ask-tools mcp ACTION --help shows the options of an action\n"
    parser.add_argument("action", metavar="ACTION", choices=list(_ACTIONS), help="see below")
    parser.add_argument("rest", metavar="...", nargs=REMAINDER, help="arguments of the action")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run the action; `command` is the words after `--`."""
    configure_action, summary = _ACTIONS[options.action]
    parser = make_parser(configure_action, f"mcp {options.action}", summary)
    words: list[str] = options.rest
    if parser.get_default("command") is not None and "--" in words:
        end = words.index("--")
        words, command = words[:end], words[end + 1 :]
        parser.set_defaults(command=command)
    return run_parser(parser, words)
