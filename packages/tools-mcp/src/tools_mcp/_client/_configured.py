"""`mcp.json`: the servers that the user has added, with their accepted definitions.

    {"mcpServers": {"github": {"url": "https://...", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"},
                               "version": "1.2", "tools": [{"name": "search", "inputSchema": {...}}]}}}

It is in the user's configuration folder, and has the form that other clients use, with the definitions besides.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tools_mcp._client._address import Address

if TYPE_CHECKING:
    from collections.abc import Generator

    from tools_mcp._client._definition import Definition

_SERVERS = "mcpServers"


class Configured:
    """A server of the file; `error` says why it cannot be used."""

    def __init__(self, name: str, entry: Any) -> None:
        self.name = name
        self.entry = entry if isinstance(entry, dict) else {}
        self.server = Address()
        self.version = str(self.entry.get("version") or "")
        self.definitions: dict[str, Definition] = {}
        self.error = ""
        try:
            self.server = Address.of(self.entry)
            self.definitions = {str(tool["name"]): tool for tool in self.entry["tools"]}
        except KeyError as error:
            self.error = "its tools were not accepted yet" if error.args == ("tools",) else "a tool has no name"
        except (ValueError, TypeError, AttributeError) as error:
            self.error = str(error) if isinstance(error, ValueError) else f"a malformed entry: {error!r}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configured) and (self.name, self.entry) == (other.name, other.entry)

    def __hash__(self) -> int:
        return hash(self.name)


def read_servers(path: str) -> dict[str, Configured]:
    """Return the servers of the file by name; none if there is no file, ValueError if it cannot be read."""
    return {name: Configured(name, entry) for name, entry in _read(path).get(_SERVERS, {}).items()}


def entry_of(server: Address, version: str, definitions: dict[str, Definition]) -> dict[str, Any]:
    """Return the entry of a server whose definitions were accepted."""
    return {**server.to_dict(), "version": version, "tools": list(definitions.values())}


@contextmanager
def changed_servers(path: str) -> Generator[dict[str, Any]]:
    """Give the entries by name to change, and write the file in one step; other processes wait for that."""
    from tools_core._registry._replace_file import replace  # not needed to read

    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        document = _read(path)
        yield document.setdefault(_SERVERS, {})
        if not os.path.exists(path):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # it may have secrets
        replace(path, (json.dumps(document, indent=2) + "\n").encode())
    finally:
        os.close(lock)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if isinstance(document, dict) and isinstance(document.get(_SERVERS, {}), dict):
        return document
    raise ValueError(f"{path} has no object {_SERVERS} with servers by name")
