"""The environment of a command: an allow list, so that a secret of the host is never inherited."""

from __future__ import annotations

import os

_LANGUAGE = (
    *(
        "LANG",
        "LANGUAGE",
        "LC_ADDRESS",
        "LC_ALL",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_IDENTIFICATION",
        "LC_MEASUREMENT",
    ),
    *("LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME"),
)
_PLACE = ("COLORTERM", "HOME", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER")
_ALLOWED = frozenset(_LANGUAGE + _PLACE)


def clean_environment() -> dict[str, str]:
    """The variables of this process that say where and in which language, and none that say who may."""
    kept = {name: os.environ[name] for name in _ALLOWED.intersection(os.environ)}
    kept.setdefault("PATH", os.defpath)
    return kept
