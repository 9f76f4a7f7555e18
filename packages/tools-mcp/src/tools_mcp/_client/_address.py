"""The address of a server, as in the files of clients: a command with its variables, or a URL with its headers."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Address: TypeAlias = dict[str, Any]  # "command" with "args", "env" and "cwd", or "url" with "headers"

_KINDS: dict[str, type] = {"command": str, "args": list, "env": dict, "cwd": str, "url": str, "headers": dict}
_SYNONYMS = {"serverUrl": "url", "httpUrl": "url", "http_headers": "headers"}  # of Windsurf, Gemini CLI, Codex
_variable = re.compile(r"\$\{([^}]*)\}")
_name = re.compile(r"(?:env:)?([A-Za-z_]\w*)(?::-(.*))?").fullmatch


def address_of(given: str | Sequence[str] | Mapping[str, Any]) -> Address:
    """Read a URL, a command, or the entry of a server in the file of a client; ValueError for anything else."""
    if isinstance(given, str):
        given = {"url": given} if given.startswith(("http://", "https://")) else shlex.split(given)
    if isinstance(given, Sequence):
        given = {"command": given[0] if given else "", "args": [*given[1:]]}
    if not isinstance(given, Mapping):
        raise ValueError(f"a server is a command, a URL or an entry of a client's file, got {given!r}")  # noqa: TRY004
    entry = {_SYNONYMS.get(key, key): value for key, value in given.items()}
    made: Address = {key: entry[key] for key in _KINDS if entry.get(key)}
    for key, value in made.items():
        texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if not isinstance(value, _KINDS[key]) or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"`{key}` of a server cannot be {value!r}")
    secrets = {key: f"${{{variable}}}" for key, variable in dict(entry.get("env_http_headers", {})).items()}  # of Codex
    if "bearer_token_env_var" in entry:
        secrets["Authorization"] = f"Bearer ${{{entry['bearer_token_env_var']}}}"
    if secrets:
        made["headers"] = {**made.get("headers", {}), **secrets}
    is_remote = "url" in made
    if is_remote == ("command" in made) or ("env" if is_remote else "headers") in made or entry.get("type") == "sse":
        raise ValueError("a server has a command, with variables, or a URL of streamable HTTP, with headers; no SSE")
    return made if is_remote else {"args": [], **made}


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
