"""What the user grants to commands at default settings: by options of the command line, and in the user's settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from tools_core.files import PROTECTED, user_settings
from tools_shell._settings import Sandbox

if TYPE_CHECKING:
    from tools_shell._settings import Level

_KEYS = ("network", "protected", "python", "readable", "writable")


def granted(level: Level | None = None) -> Sandbox:
    """Return the sandbox of a level, by default that in ASK_TOOLS_ISOLATION, with what the user grants.

    The grants are those in `[sandbox]` of the user's settings, and in ASK_TOOLS_NETWORK, ASK_TOOLS_READABLE and
    ASK_TOOLS_WRITABLE, which `--network`, `--allow-read` and `--allow-write` set. Raises ValueError for wrong ones.
    """
    settings = _settings()
    return Sandbox(
        level=level or cast("Level", os.environ.get("ASK_TOOLS_ISOLATION") or "sandboxed"),
        network=_network(settings.get("network", False)),
        readable=_paths(settings, "readable"),
        writable=_paths(settings, "writable"),
        protected=PROTECTED | _names(settings),
    )


def granted_python() -> str | None:
    """Return the interpreter for the user's code, the name of a program or an absolute path, if settings name one."""
    named = _settings().get("python")
    if named is None:
        return None
    path = os.path.expanduser(named) if isinstance(named, str) else ""
    if not path or (os.path.basename(path) != path and not os.path.isabs(path)):
        raise ValueError("[sandbox] of settings.toml: python must be a name, or an absolute path")
    return path


def _settings() -> dict[str, Any]:
    settings = user_settings("sandbox")
    for name in settings:
        if name not in _KEYS:
            raise ValueError(f"[sandbox] of settings.toml: unknown key {name!r}; the keys are {', '.join(_KEYS)}")
    return settings


def _network(setting: Any) -> bool | tuple[str, ...]:
    """Return whether commands may use the network, or the hosts that they may reach."""
    hosts = [host for host in os.environ.get("ASK_TOOLS_NETWORK", "").split(",") if host]
    if isinstance(setting, list) and all(isinstance(host, str) for host in setting):
        hosts += setting
    elif not isinstance(setting, bool):
        raise ValueError("[sandbox] of settings.toml: network must be true, false or a list of hosts")
    return True if setting is True or "all" in hosts else tuple(hosts) or False


def _names(settings: Any) -> frozenset[str]:
    """Return the names of files of the user that programs run, to report their changes as well."""
    listed = settings.get("protected", [])
    if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
        raise ValueError("[sandbox] of settings.toml: protected must be a list of names, such as 'Makefile'")
    return frozenset(listed)


def _paths(settings: Any, name: str) -> tuple[str, ...]:
    listed = settings.get(name, [])
    if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
        raise ValueError(f"[sandbox] of settings.toml: {name} must be a list of paths")
    added = [path for path in os.environ.get(f"ASK_TOOLS_{name.upper()}", "").split(os.pathsep) if path]
    return tuple(dict.fromkeys(os.path.abspath(os.path.expanduser(path)) for path in (*listed, *added)))
