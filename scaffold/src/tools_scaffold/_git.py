"""What git knows of an author and of a repository."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_ADDRESS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.!#$%&*+-/=?^_{|}~@"

_keys = r"^(user\.(name|email)|github\.user|remote\.origin\.url)$"
# Whatever stands before the host, such as a user and a token, is left out.
_remote = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?|[^/@:]+@)([A-Za-z0-9.-]+\.[a-z]+)(?::\d+)?[/:]([\w./~-]+?)(?:\.git)?/?"
).fullmatch


class Known(NamedTuple):
    """The author, as `Name <address>` or `Name`, and where the code of a package will be found."""

    author: str | None
    url: str | None


def ask_git(folder: Path, distribution: str) -> Known:
    """Ask git; nothing is known unless it answers within a second with one printable line for each thing."""
    import subprocess  # 15 ms, and needed only where no author was given

    try:
        answer = subprocess.run(
            ["git", "config", "--get-regexp", _keys],  # noqa: S607 - found on the PATH, as its user finds it
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=1,
            check=True,
        )
        told = dict(line.split(" ", 1) for line in answer.stdout.decode("utf-8").splitlines() if " " in line)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return Known(None, None)
    return Known(_author(told), _url(told, distribution))


def _author(told: dict[str, str]) -> str | None:
    name, address = told.get("user.name", "").strip(), told.get("user.email", "").strip()
    if not name or not name.isprintable() or len(name) > 100 or set("<>") & set(name):
        return None
    is_usable = address.count("@") == 1 and len(address) <= 90 and set(address) <= set(_ADDRESS)
    return f"{name} <{address}>" if is_usable else name


def _url(told: dict[str, str], distribution: str) -> str | None:
    remote = _remote(told.get("remote.origin.url", ""))
    if remote is not None and len(remote[0]) < 150:
        return f"https://{remote[1]}/{remote[2]}"
    user = told.get("github.user", "")
    return f"https://github.com/{user}/{distribution}" if re.fullmatch("[A-Za-z0-9-]{1,40}", user) else None
