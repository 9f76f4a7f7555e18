"""Options that grant a network and folders to sandboxed commands.

Packages that run commands read the grants from environment variables when their tools are made.
"""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from shlex import quote

from tools_core._cli._output import CommandError

NETWORK = "ASK_TOOLS_NETWORK"  # "all", or hosts separated by commas
FOLDERS = {"allow_read": "ASK_TOOLS_READABLE", "allow_write": "ASK_TOOLS_WRITABLE"}  # paths separated by os.pathsep
_is_host = re.compile(
    r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?"
).fullmatch


def add_grants(parser: ArgumentParser) -> None:
    """Add the options that grant sandboxed commands more than the workspace."""
    text = "let sandboxed commands reach these hosts (HOST, HOST:PORT or *.DOMAIN); without a host, any"
    parser.add_argument("--network", metavar="HOST", nargs="*", action="append", help=text)
    text = "let sandboxed commands read a file or folder; repeatable"
    parser.add_argument("--allow-read", metavar="PATH", action="append", default=[], help=text)
    text = "let sandboxed commands change a file or folder; repeatable"
    parser.add_argument("--allow-write", metavar="PATH", action="append", default=[], help=text)


def use_grants(options: Namespace) -> None:
    """Check the grants, and set the variables for tools that are made from now on and for child processes.

    Raises CommandError for an invalid host, and for a path that does not exist.
    """
    hosts = _hosts(options)
    if hosts is not None:
        before = [host for host in os.environ.get(NETWORK, "").split(",") if host]
        is_all = not hosts or "all" in before
        os.environ[NETWORK] = "all" if is_all else ",".join(dict.fromkeys([*before, *hosts]))
    for name, variable in FOLDERS.items():
        paths = [_path(name, path) for path in getattr(options, name)]
        if paths:
            before = [path for path in os.environ.get(variable, "").split(os.pathsep) if path]
            os.environ[variable] = os.pathsep.join(dict.fromkeys([*before, *paths]))


def grant_words(options: Namespace) -> list[str]:
    """Return the words of a command line that grant the same again."""
    hosts = _hosts(options)
    words = [] if hosts is None else [f"--network={','.join(hosts)}" if hosts else "--network"]
    for name in FOLDERS:
        words += [
            f"--{name.replace('_', '-')}={os.path.abspath(os.path.expanduser(path))}" for path in getattr(options, name)
        ]
    return words


def _hosts(options: Namespace) -> list[str] | None:
    """Return the hosts of `--network`; an empty list for any host, None without the option."""
    if options.network is None:
        return None
    hosts = [host for given in options.network for text in given for host in text.split(",")]
    for host in hosts:
        if not _is_host(host):
            hint = "write --network behind the other words, or --network=HOST,HOST"
            raise CommandError(f"--network: {quote(host)} is not a host such as example.org or localhost:8000", hint)
    return [] if any(not given for given in options.network) else hosts


def _path(name: str, path: str) -> str:
    absolute = os.path.abspath(os.path.expanduser(path))
    if not os.path.lexists(absolute):
        raise CommandError(f"--{name.replace('_', '-')}: there is no {absolute}")
    if os.pathsep in absolute:
        raise CommandError(f"--{name.replace('_', '-')}: {absolute} has a {os.pathsep!r}; grant the folder above it")
    return absolute
