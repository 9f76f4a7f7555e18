"""The git repository around a folder, and its settings for author and address."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_KEYS = r"^(user\.(name|email)|remote\.origin\.url)$"
# A user name and a password or token before the host are left out.
_remote = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?|[^/@:]+@)([A-Za-z0-9.-]+)(?::\d+)?[/:]([\w./~-]+?)(?:\.git)?/?"
).fullmatch


class GitConfig(NamedTuple):
    """The configured author, as `Name <address>` or `Name`, and the web address of the repository."""

    author: str | None = None
    url: str | None = None


def repository_root(folder: Path) -> Path | None:
    """Return the root of the git repository that contains `folder`."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def read_config(folder: Path) -> GitConfig:
    """Read git's settings for `folder`; empty without git."""
    command = ["git", "config", "--get-regexp", _KEYS]
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=5, check=True)
        lines = ended.stdout.decode("utf-8").splitlines()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return GitConfig()
    values = dict(line.split(" ", 1) for line in lines if " " in line)
    name, email = values.get("user.name"), values.get("user.email")
    author = f"{name} <{email}>" if name and email else name
    remote = _remote(values.get("remote.origin.url", ""))
    return GitConfig(author, f"https://{remote[1]}/{remote[2]}" if remote else None)
