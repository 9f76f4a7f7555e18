"""`ask-tools mcp install` and `uninstall`: add `ask-tools serve` to an MCP client, or remove it."""

from __future__ import annotations

import difflib
import json
import re
import shlex
import sys
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING, Any

from tools_core.command import CommandError, make_parser, note, write
from tools_core.files import replace
from tools_mcp._commands import _edit, serve
from tools_mcp._commands._arguments import arguments, by_option, merged
from tools_mcp._commands._clients import CLIENTS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

_DEFAULT_NAME = "ask-tools"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # part of the names of tools in some clients
_INSTALL = """\
Arguments after -- are given to `ask-tools serve`, whose --help has all. An entry that exists is updated: tools of
--allow are added, other options replace their old values, and all else stays, such as env. To start afresh, uninstall
it first. No other entry is touched.
Exit codes: 0 done, or nothing to do; 1 the file cannot be edited; 2 wrong usage.

examples:
  ask-tools mcp install claude-code
  ask-tools mcp install cursor --project --tools 'read_*' --dry-run
  ask-tools mcp install claude-desktop --workspace ~/notes -- --read-only
  ask-tools mcp install codex -- --allow bash,write_file
"""
_UNINSTALL = """\
Removes what `ask-tools mcp install` has added, and no other entry.
Exit codes: 0 done, or nothing to do; 1 the file cannot be edited; 2 wrong usage.
"""


def configure_install(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp install`."""
    configure_uninstall(parser)
    parser.epilog = _INSTALL
    text = f"the tools to serve: {serve.PATTERNS}; by default all installed tools"
    parser.add_argument("--tools", metavar="TOOL,...", help=text)
    text = "the folder that file tools are confined to; by default that of the project in the client"
    parser.add_argument("--workspace", metavar="DIR", help=text)
    parser.set_defaults(run=_install, command=[])


def configure_uninstall(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp uninstall`, which name an entry of a file."""
    parser.epilog = _UNINSTALL
    parser.add_argument("client", metavar="CLIENT", choices=list(CLIENTS), help=", ".join(CLIENTS))
    parser.add_argument("--name", metavar="NAME", default=_DEFAULT_NAME, help="the entry's name; by default ask-tools")
    parser.add_argument("--project", action="store_true", help="edit the file of the project in this folder")
    parser.add_argument("--dry-run", action="store_true", help="show the change without writing it")
    parser.set_defaults(run=lambda options: _change(options, None))


def _install(options: Namespace) -> int:
    client = CLIENTS[options.client]
    if not _NAME.fullmatch(options.name):
        raise CommandError(f"the name of an entry has letters, digits, _ and -, at most 64, got {options.name!r}")
    old = arguments(_read(options)[2])
    folder = None if "--workspace" in by_option(old) else client.workspace
    if options.workspace:
        folder = str(Path(options.workspace).expanduser().absolute())
        if not Path(folder).is_dir():
            raise CommandError(f"the workspace {folder} is not a folder")
    if folder == "" and not (client.project or options.project):
        raise CommandError(f"{client.title} has no projects; say which folder file tools may use", "--workspace DIR")
    selection = _selection(options)
    options_of_server = ["--entry", selection] if selection != options.client else []
    options_of_server += ["--tools", _absolute(options.tools)] if options.tools is not None else []
    options_of_server += ["--workspace", folder] if folder else []
    options_of_server += options.command
    words = merged(old, options_of_server)
    try:
        allowed = serve.check(make_parser(serve.configure, "serve", "").parse_args(words))
    except CommandError as error:
        if old:
            afresh = f"ask-tools mcp uninstall {selection}"
            error.hints.append(f"{options.name} has {shlex.join(old)}; to start afresh: {afresh}")
        raise
    # Absolute, since clients have another PATH. -P keeps modules in the folder of a project from being imported.
    more = {"command": sys.executable, "args": ["-P", "-m", "tools_core", "serve", *words], **client.more}
    status = _change(options, {"type": "stdio", **more} if client.is_typed else more)
    remark = client.remark_on(options.name, allowed, f"ask-tools mcp install {selection} -- --allow ")
    if remark:
        note(remark)
    return status


def _selection(options: Namespace) -> str:
    """Return the words that select the entry of a client, as the user writes them."""
    name = f" --name {options.name}" if options.name != _DEFAULT_NAME else ""
    return f"{options.client}{name}{' --project' if options.project else ''}"


def _absolute(patterns: str) -> str:
    """Make the paths of files absolute, since clients start servers in another folder."""
    return ",".join(str(Path(part.strip()).absolute()) if ".py" in part else part for part in patterns.split(","))


def _read(options: Namespace) -> tuple[Path, str, dict[str, Any] | None]:
    """Return the client's file, its text and our entry in it; CommandError if that cannot be edited."""
    client, name = CLIENTS[options.client], options.name
    if options.project and not client.project:
        raise CommandError(f"{client.title} has no configuration for projects", "leave out --project")
    path = Path.cwd() / client.project if options.project else client.path
    is_toml = path.suffix == ".toml"
    old = path.read_bytes().decode("utf-8-sig", "surrogateescape") if path.exists() else ""
    try:
        section = _edit.read(old, is_toml=is_toml).get(client.section, {})
    except ValueError as error:
        message = f"{path} cannot be parsed: {error}"
        raise CommandError(message, "correct it and try again; the file has not changed", status=1) from error
    if not isinstance(section, dict):
        raise CommandError(f"{client.section} in {path} is not an object", "correct it and try again", status=1)
    current = section.get(name)
    if not (current is None or _starts_us(current)):
        raise CommandError(f"{name} in {path} starts another server", "choose another --name", status=1)
    return path, old, current


def _change(options: Namespace, entry: Mapping[str, Any] | None) -> int:
    """Set an entry, or remove it, in the client's file; CommandError if that cannot be edited."""
    client, name = CLIENTS[options.client], options.name
    path, old, current = _read(options)
    is_toml = path.suffix == ".toml"
    if current == (None if entry is None else {**(current or {}), **entry}):
        write(f"{path} needs no change")
        return 0
    new = _edit.changed(old, client.section, name, entry, is_toml=is_toml)
    if new is None:
        member = json.dumps({name: entry}, indent=2, ensure_ascii=False)[2:-2]
        advice = f"add to {client.section}:\n{member}" if entry else f"remove {name} from {client.section}"
        raise CommandError(f"{path} has comments, which an edit would lose", advice, status=1)
    lines = old.splitlines(), new.splitlines()
    write("\n".join(difflib.unified_diff(*lines, str(path), str(path), n=1, lineterm="")))
    if options.dry_run:
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = path.with_name(f"{path.name}.before-ask-tools")
    if path.exists() and entry is not None and not backup.exists():  # `uninstall` leaves that of `install`
        replace(backup, path.read_bytes(), mode=S_IMODE(path.stat().st_mode))
        write(f"the old file is {backup}")
    replace(path, new.encode("utf-8", "surrogateescape"))
    write(f"{path} is changed; restart {client.title}")
    return 0


def _starts_us(entry: Any) -> bool:
    if not (isinstance(entry, dict) and isinstance(entry.get("args"), list)):
        return False
    words = [str(entry.get("command")), *entry["args"]]
    return "serve" in words and ("tools_core" in words or Path(words[0]).name == "ask-tools")
