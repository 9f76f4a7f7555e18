"""Parts that the actions of `ask-tools mcp` for configured servers share."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tools_core import ToolError
from tools_core._cli._terminal import CommandError, is_terminal
from tools_mcp._client._configured import Configured, changed_servers, read_servers
from tools_mcp._client._source import file_path

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_mcp import McpToolset


def configured() -> dict[str, Configured]:
    """Return the servers by name; CommandError if the file cannot be read."""
    with _readable():
        return read_servers(file_path())


def find(name: str) -> Configured:
    """Return the server of a name; CommandError if there is none."""
    servers = configured()
    if name not in servers:
        raise CommandError(f"there is no server {name}", f"there are {', '.join(sorted(servers)) or 'none'}")
    return servers[name]


@contextmanager
def changed() -> Generator[dict[str, Any]]:
    """Give the entries of the file by name, to change them."""
    with _readable(), changed_servers(file_path()) as entries:
        yield entries


@contextmanager
def reachable() -> Generator[None]:
    """Turn the failure of a server into an error of the command."""
    try:
        yield
    except ToolError as error:
        raise CommandError(str(error), "nothing has changed", status=1) from error


def version_of(toolset: McpToolset) -> str:
    """Return the version that a connected server gives itself."""
    from tools_mcp._client._background import submit  # not needed to remove a server

    return submit(toolset.connection.facts()).result()["server"].rpartition(" ")[2]


def confirm(question: str, *, yes: bool) -> None:
    """Ask the user at the terminal; CommandError unless the answer is yes."""
    if yes:
        return
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise CommandError("this needs a confirmation, and there is no terminal", "nothing has changed; add --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("nothing has changed", status=1)


@contextmanager
def _readable() -> Generator[None]:
    try:
        yield
    except ValueError as error:
        raise CommandError(str(error), "correct the file, or remove it", status=1) from error
