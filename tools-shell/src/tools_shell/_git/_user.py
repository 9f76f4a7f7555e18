"""The user's own git settings, for commands in a sandbox that hides the user's home."""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from typing import NamedTuple

from tools_shell._git._config import MAX_SIZE, Setting, format_settings, is_unsafe, parse_list

_TIMEOUT = 5.0  # seconds for git to read the settings
# Settings with a value that commands need; others may contain tokens or name files that the sandbox hides.
_SECTIONS = frozenset((
    *("advice", "alias", "am", "apply", "blame", "branch", "checkout", "clean", "color", "column", "commit", "core"),
    *("diff", "fetch", "grep", "i18n", "index", "init", "log", "merge", "notes", "pull", "push", "rebase", "rerere"),
    *("stash", "status", "submodule", "tag", "user", "versionsort", "worktree"),
))  # fmt: skip
_SIGNING = frozenset(("commit.gpgsign", "push.gpgsign", "tag.gpgsign", "tag.forcesignannotated", "user.signingkey"))


class UserGit(NamedTuple):
    """What commands need of the user's git: the text of a configuration file, and that of the user's ignore file."""

    settings: str = ""
    ignored: str = ""


def user_git(git: str, folder: str) -> UserGit:
    """Return the user's safe global settings, and the user's own ignored names.

    Conditional settings, such as an identity for the repositories below a folder, are those of `folder`.
    """
    if not git:
        return UserGit()
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    paths = (os.path.join(home, ".gitconfig"), os.path.join(config, "git/config"), os.environ.get("GIT_CONFIG_GLOBAL"))
    stamps = tuple(map(_stamp, paths))
    settings = _read(git, folder, home, paths, stamps) if any(stamps) else []
    named = dict(settings).get("core.excludesfile")
    ignored = os.path.join(home, os.path.expanduser(named)) if named else os.path.join(config, "git/ignore")
    passed_on = format_settings([(key, value) for key, value in settings if _is_passed_on(key, value)])
    with suppress(OSError), open(ignored, encoding="utf-8", errors="surrogateescape") as file:
        return UserGit(passed_on, file.read(MAX_SIZE))
    return UserGit(passed_on)


def _stamp(path: str | None) -> tuple[int, int] | None:
    try:
        status = os.stat(path or "")
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


@functools.lru_cache(64)
def _read(git: str, folder: str, *_: object) -> list[Setting]:
    import subprocess  # once for each workspace

    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {name: os.environ[name] for name in ("GIT_CONFIG_GLOBAL",) if name in os.environ}
    try:
        done = subprocess.run(
            [git, "config", "--global", "--includes", "--null", "--list"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            cwd=folder,
            env=environment,
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return parse_list(done.stdout)


def _is_passed_on(key: str, value: str | None) -> bool:
    is_chosen = key.partition(".")[0] in _SECTIONS and key not in _SIGNING and not is_unsafe((key, value))
    return is_chosen or key == "safe.directory"
