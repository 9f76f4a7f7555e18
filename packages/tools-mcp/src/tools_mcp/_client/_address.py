"""The address of a server, as in the files of clients: a command with its variables, or a URL with its headers."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

# "command" with "args", "env", "envFile" and "cwd", or "url" with "headers" and "login"; both "resources" and "prompts"
Address: TypeAlias = dict[str, Any]

_KINDS: dict[str, type] = {
    "command": str, "args": list, "env": dict, "envFile": str, "cwd": str, "url": str, "headers": dict, "login": bool,
    "resources": bool, "prompts": bool,
}  # fmt: skip
# Of Windsurf, Gemini CLI, Codex and opencode.
_SYNONYMS = {"serverUrl": "url", "httpUrl": "url", "http_headers": "headers", "environment": "env"}
_variable = re.compile(r"\$\{([^}]*)\}")
_name = re.compile(r"(?:env:)?([A-Za-z_]\w*)(?::-(.*))?").fullmatch
_input = re.compile(r"\$\{input:([^}]*)\}")


def address_of(server: str | Sequence[str] | Mapping[str, Any]) -> Address:
    """Read a URL, a command, or the entry of a server in the file of a client; ValueError for anything else."""
    if isinstance(server, str):
        server = {"url": server} if server.startswith(("http://", "https://")) else shlex.split(server)
    if isinstance(server, Sequence):
        server = {"command": server[0] if server else "", "args": [*server[1:]]}
    if not isinstance(server, Mapping):
        raise ValueError(f"a server is a command, a URL or an entry of a client's file, got {server!r}")  # noqa: TRY004  (a ValueError, as other wrong values)
    entry = _standard(server)
    address: Address = {key: entry[key] for key in _KINDS if entry.get(key)}
    if isinstance(address.get("env"), Mapping):  # VS Code takes numbers as well
        numbers = {name: str(value) for name, value in address["env"].items() if type(value) in (int, float)}
        address["env"] = {**address["env"], **numbers}
    for key, value in address.items():
        if not isinstance(value, _KINDS[key]) or not all(isinstance(text, str | bool) for text in _texts(value)):
            raise ValueError(f"`{key}` of a server cannot be {value!r}")
    secrets = {key: f"${{{variable}}}" for key, variable in dict(entry.get("env_http_headers", {})).items()}  # of Codex
    if "bearer_token_env_var" in entry:
        secrets["Authorization"] = f"Bearer ${{{entry['bearer_token_env_var']}}}"
    if secrets:
        address["headers"] = {**address.get("headers", {}), **secrets}
    is_remote = "url" in address
    foreign = ("args", "env", "envFile", "cwd") if is_remote else ("headers", "login")
    if is_remote == ("command" in address) or not address.keys().isdisjoint(foreign) or entry.get("type") == "sse":
        raise ValueError("a server has a command, with variables, or a URL of streamable HTTP, with headers; no SSE")
    return address if is_remote else {"args": [], **address}


def _standard(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with the words of most clients."""
    entry = {_SYNONYMS.get(key, key): value for key, value in server.items()}
    command = entry.get("command")
    if isinstance(command, list) and command:  # of opencode
        return {**entry, "command": command[0], "args": [*command[1:], *(entry.get("args") or ())]}
    if isinstance(command, dict):  # of Zed
        return {**entry, **command, "command": command.get("path")}
    return entry


def in_project(value: Any, folder: str) -> Any:
    """Return the entry of a client's file with the paths that the client puts in for its variables.

    `${input:api-key}`, which VS Code asks its user for, becomes the variable `${API_KEY}`.
    """
    places = {"workspaceFolder": folder, "workspaceFolderBasename": os.path.basename(folder)}
    places |= {"userHome": os.path.expanduser("~"), "pathSeparator": os.sep, "/": os.sep}

    def put(text: str) -> str:
        text = _input.sub(lambda match: f"${{{re.sub(r'[^A-Za-z0-9]', '_', match[1]).upper()}}}", text)
        return _variable.sub(lambda match: places.get(match[1], match[0]), text)

    return _mapped(value, put)


def variables(value: Any) -> list[str]:
    """Return the names of the variables in an address."""
    names = [_name(name) for text in _texts(value) if isinstance(text, str) for name in _variable.findall(text)]
    return sorted({name[1] for name in names if name})


def described(address: Address) -> str:
    """Return the URL or the command as one text."""
    return str(address.get("url") or shlex.join(filter(None, [address.get("command"), *address.get("args", ())])))


def expanded(address: Address) -> Address:
    """Return an address with the values of `${VARIABLE}` and `${VARIABLE:-default}`, and of its file of variables.

    Raises: ValueError if a variable is not set, or the file cannot be read.
    """
    address = _mapped(address, lambda text: _variable.sub(_value, text))
    if path := address.get("envFile"):
        try:
            with open(path, encoding="utf-8-sig") as file:
                lines = [line.strip().removeprefix("export ").partition("=") for line in file]
        except (OSError, ValueError) as error:
            raise ValueError(f"envFile cannot be read: {error}") from error
        pairs = [(name.strip(), value.strip().strip("\"'")) for name, sign, value in lines if sign]
        from_file = {name: value for name, value in pairs if name and not name.startswith("#")}
        address["env"] = from_file | address.get("env", {})
    return address


def _texts(value: Any) -> Iterator[Any]:
    """Yield all strings and other scalars."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
    else:
        yield value


def _mapped(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [_mapped(part, change) for part in value]
    return change(value) if isinstance(value, str) else value


def _value(match: re.Match[str]) -> str:
    variable = _name(match[1])
    if variable is None:
        raise ValueError(f"{match[0]} has no meaning here; write ${{NAME}} for a variable")
    if variable[1] not in os.environ and variable[2] is None:
        raise ValueError(f"the environment variable {variable[1]} is not set")
    return os.environ.get(variable[1], variable[2])
