"""The address of a server, as in the files of clients: a command with its variables, or a URL with its headers."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Address: TypeAlias = dict[str, Any]  # "command" with "args", "env" and "cwd", or "url" with "headers"

_variable = re.compile(r"\$\{([^}]*)\}")
_name = re.compile(r"(?:env:)?([A-Za-z_]\w*)(?::-(.*))?").fullmatch


def address_of(
    given: str | Sequence[str] | Mapping[str, Any],
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Address:
    """Read a URL, a command, or the entry of a server in the file of a client; ValueError for anything else."""
    if isinstance(given, str):
        given = {"url": given} if given.startswith(("http://", "https://")) else shlex.split(given)
    if not isinstance(given, Mapping):
        given = {"command": given[0] if given else "", "args": list(given[1:])}
    command, url = given.get("command"), given.get("url") or given.get("serverUrl")
    made: Address = {"command": command, "args": list(given.get("args", ())), "cwd": given.get("cwd"), "url": url}
    made |= {"env": {**given.get("env", {}), **(env or {})}, "headers": {**given.get("headers", {}), **(headers or {})}}
    if bool(command) == bool(url) or made["env" if url else "headers"] or given.get("type") == "sse":
        raise ValueError("a server has a command, with variables, or a URL of streamable HTTP, with headers; no SSE")
    texts = [command or url, *made["args"], *made["env"].values(), *made["headers"].values(), given.get("cwd") or ""]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("the command, arguments, variables and headers of a server are texts")
    return {key: value for key, value in made.items() if value or (key == "args" and command)}


def described(address: Address) -> str:
    """Return the URL or the command as one text."""
    return str(address.get("url") or shlex.join(filter(None, [address.get("command"), *address.get("args", ())])))


def expanded(value: Any) -> Any:
    """Return an address with the values of `${VARIABLE}` and `${VARIABLE:-default}`; ValueError if one is not set."""
    if isinstance(value, dict):
        return {key: expanded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [expanded(each) for each in value]
    return _variable.sub(_value, value)


def _value(match: re.Match[str]) -> str:
    known = _name(match[1])
    if known is None:
        raise ValueError(f"{match[0]} has no meaning here; write ${{NAME}} for a variable")
    if known[1] not in os.environ and known[2] is None:
        raise ValueError(f"the environment variable {known[1]} is not set")
    return os.environ.get(known[1], known[2])
