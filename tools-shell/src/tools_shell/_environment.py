"""The environment of a command, an allow list without the host's secrets; and which of its variables are secrets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools_core.text import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_SECRET = 8  # characters of a value; shorter ones occur by chance
_ADDRESSES = ("DSN", "URI", "URL")  # may contain a password
_FOLDERS = frozenset(("OLDPWD", "PWD"))
_ALLOWED = frozenset((
    "COLORTERM", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME", "HOME", "LANG",
    "LANGUAGE", "LC_ADDRESS", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
    "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", "LOGNAME", "PATH", "SHELL", "TEMP",
    "TERM", "TMP", "TMPDIR", "TZ", "USER",
))  # fmt: skip


def clean_environment(host: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the host's variables for folders and locale, without credentials."""
    environment = {name: host[name] for name in _ALLOWED.intersection(host)}
    environment["PATH"] = _absolute(environment.get("PATH", "")) or os.defpath
    environment["PYTHONUNBUFFERED"] = "1"  # shows the output of a Python program before its end
    return environment


def _absolute(path: str) -> str:
    """Remove relative folders, in which a script could place programs."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))


def secret_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables with names of secrets; from URLs only the password.

    Values that occur in ordinary output are skipped: short ones, numbers, words and paths.
    """
    secrets: dict[str, str] = {}
    for name, value in environment.items():
        secret = value.strip()
        if name.upper().replace("-", "_").rpartition("_")[2] in _ADDRESSES:
            secret = _password(secret)
        elif name in _FOLDERS or not (is_secret_name(name) or name.strip("_0123456789").upper() == "KEY"):
            continue
        if _is_distinctive(secret):
            secrets[name] = secret
    return secrets


def _password(address: str) -> str:
    from urllib.parse import urlsplit  # 5 ms, and few environments have a URL

    try:
        return urlsplit(address).password or ""
    except ValueError:  # not a URL after all
        return ""


def _is_distinctive(value: str) -> bool:
    is_path = value.startswith(("/", "~/", "./", "../")) and "=" not in value
    is_word = value.isalpha() and (value.islower() or value.istitle()) and len(value) < 16
    return len(value) >= MIN_SECRET and len(set(value)) >= 4 and not (value.isdecimal() or is_path or is_word)
