"""The environment of a command: an allow list, so that it does not inherit the host's secrets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALLOWED = frozenset((
    "COLORTERM", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME", "HOME", "LANG",
    "LANGUAGE", "LC_ADDRESS", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
    "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", "LOGNAME", "PATH", "SHELL", "TEMP",
    "TERM", "TMP", "TMPDIR", "TZ", "USER",
))  # fmt: skip


def clean_environment(host: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the host's variables for folders and locale, without credentials."""
    kept = {name: host[name] for name in _ALLOWED.intersection(host)}
    kept["PATH"] = _absolute(kept.get("PATH", "")) or os.defpath
    kept["PYTHONUNBUFFERED"] = "1"  # shows the output of Python programs while they run, and when they are killed
    return kept


def _absolute(path: str) -> str:
    """Remove relative folders, in which a script could place programs."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))
