"""`Address`: how a server is started or reached."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_variable = re.compile(r"\$\{([^}]*)\}")
_name = re.compile(r"(?:env:)?([A-Za-z_]\w*)(?::-(.*))?").fullmatch


class Address(NamedTuple):
    """The command of a server, or its URL; texts may have `${VARIABLE}` and `${VARIABLE:-default}`."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    cwd: str | None = None

    @classmethod
    def of(
        cls,
        given: str | Sequence[str] | Mapping[str, Any],
        env: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Address:
        """Read a URL, a command, or the entry of a server in the file of a client; ValueError for anything else."""
        if isinstance(given, str):
            if given.startswith(("http://", "https://")):
                given = {"url": given}
            else:
                import shlex  # only for commands in one text

                given = shlex.split(given)
        if not isinstance(given, Mapping):
            given = {"command": given[0] if given else "", "args": list(given[1:])}
        command = [given["command"], *given.get("args", ())] if given.get("command") else []
        url = given.get("url") or given.get("serverUrl") or ""
        made = cls(tuple(command), url, {**given.get("env", {}), **(env or {})}, {}, given.get("cwd"))
        made = made._replace(headers={**given.get("headers", {}), **(headers or {})})
        if bool(made.command) == bool(made.url) or given.get("type") == "sse":
            raise ValueError("a server has a command, or a URL of streamable HTTP (SSE is not supported)")
        texts = [*made.command, made.url, *made.env.values(), *made.headers.values()]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("the command, arguments, variables and headers of a server are texts")
        if (made.headers and not made.url) or (made.env and not made.command):
            raise ValueError("headers are for a server with a URL, and variables for one with a command")
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the server in a configuration file."""
        if self.url:
            return {"url": self.url} | ({"headers": dict(self.headers)} if self.headers else {})
        entry: dict[str, Any] = {"command": self.command[0], "args": list(self.command[1:])}
        entry |= {"env": dict(self.env)} if self.env else {}
        return entry | ({"cwd": self.cwd} if self.cwd else {})

    def expanded(self) -> Address:
        """Return the server with the values of its variables; ValueError if one is not set."""
        return Address(
            tuple(map(_expanded, self.command)),
            _expanded(self.url),
            {name: _expanded(value) for name, value in self.env.items()},
            {name: _expanded(value) for name, value in self.headers.items()},
            None if self.cwd is None else os.path.expanduser(_expanded(self.cwd)),
        )

    def __str__(self) -> str:
        if self.url:
            return self.url
        import shlex  # for messages and lists

        return shlex.join(self.command)


def _expanded(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        known = _name(match[1])
        if known is None:
            raise ValueError(f"{match[0]} has no meaning here; write ${{NAME}} for a variable")
        if known[1] not in os.environ and known[2] is None:
            raise ValueError(f"the environment variable {known[1]} is not set")
        return os.environ.get(known[1], known[2])

    return _variable.sub(value, text)
