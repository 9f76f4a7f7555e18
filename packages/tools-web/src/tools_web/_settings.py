"""`Settings`: the hosts, credentials and search provider of the user."""

import ipaddress
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx2
from tools_core import ToolError
from tools_core.files import config_path, user_settings

_KEYS = ("allow", "deny", "private", "search", "credentials")


class Settings:
    """The table `[web]` of the user's settings, or a mapping like it.

    `allow` and `deny` are lists of hosts, subdomains included; `private` lists the HOST or HOST:PORT that may have an
    address in a private network. `search` names a provider, and `credentials` has a table for each name.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        values = user_settings("web") if values is None else values
        for key in set(values).difference(_KEYS):
            raise _error(f"unknown key {key!r}; the keys are {', '.join(_KEYS)}")
        self._allow, self._deny, self._private = (_hosts(values, key) for key in _KEYS[:3])
        self.search, self._credentials = (_table(values, key) for key in _KEYS[3:])

    def check(self, host: str, port: int) -> bool:
        """Return whether a host may be in a private network. Raises ToolError for one that the user does not allow."""
        if _is_among(host, self._deny) or (self._allow and not _is_among(host, self._allow)):
            allowed = f"; allowed: {', '.join(self._allow)}" if self._allow else ""
            raise ToolError(f"{host} is denied by the user's settings{allowed}", "denied")
        name = f"[{host}]" if ":" in host else host
        return not {host, name, f"{name}:{port}"}.isdisjoint(self._private)

    def header(self, credential: str, url: httpx2.URL) -> tuple[str, str, str]:
        """Return the header of a credential, its value and the secret in it, which is sent to its hosts alone."""
        options, host = _table(self._credentials, credential), host_of(url)
        if host not in _hosts(options, "hosts"):
            names = ", ".join(self._credentials) or "none"
            raise ToolError(f"{host} is no host of the credential {credential!r}; there are: {names}", "denied")
        if url.scheme != "https" and host != "127.0.0.1":
            raise ToolError("credentials are sent over https: alone", "denied")
        value = secret(options)
        return str(options.get("header", "Authorization")), f"{options.get('prefix', 'Bearer ')}{value}", value


def host_of(url: httpx2.URL) -> str:
    """Return a host for comparisons: in ASCII and small letters, an address in its usual form."""
    host = url.raw_host.decode("ascii").rstrip(".").lower()
    with suppress(ValueError):
        return str(ipaddress.ip_address(host))
    with suppress(OSError):
        return socket.inet_ntoa(socket.inet_aton(host))  # such as 127.1
    return host


def secret(options: Mapping[str, Any]) -> str:
    """Return the value of the environment variable that `env` names."""
    name = str(options.get("env", ""))
    value = os.environ.get(name, "")
    if not (value and value.isascii() and value.isprintable()):  # the error of a client would show it
        raise _error(f"the environment variable {name or 'env'!r} is not set to ASCII text in one line")
    return value


def _table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = values.get(key, {})
    if not isinstance(table, Mapping):
        raise _error(f"{key} must be a table")
    return table


def _hosts(table: Mapping[str, Any], key: str) -> list[str]:
    hosts = table.get(key, [])
    if not isinstance(hosts, list) or not all(isinstance(host, str) and "/" not in host for host in hosts):
        raise _error(f"{key} must be a list of hosts, such as example.org")
    names = [host.lower().lstrip("*.") for host in hosts]
    return [name if name.isascii() else httpx2.URL(f"host://{name}").netloc.decode() for name in names]


def _is_among(host: str, names: list[str]) -> bool:
    return any(host == name.strip("[]") or host.endswith(f".{name}") for name in names)


def _error(problem: str) -> ToolError:
    return ToolError(f"[web] of {config_path('settings.toml')}: {problem}", "unavailable")
