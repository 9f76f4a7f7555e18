"""The files of a policy: the user's rules, the project's rules, and the folders that they are in."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tools_core.files import config_path
from tools_runtime._events import PolicyError
from tools_runtime._policy._read import near, read_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_runtime._policy._rule import Rule

PROJECT_FILE = "ask-tools.toml"


def user_rules(files: Sequence[str | os.PathLike[str]] | None) -> list[Rule]:
    """Read the rules of these files, or of the user's own; a file that is named explicitly must exist."""
    if files is None:
        return read_policy(config_path("policy.toml"))[1]
    rules: list[Rule] = []
    for file in files:
        if not os.path.lexists(file):
            raise PolicyError(f"{os.fspath(file)}: there is no such file")
        rules += read_policy(os.fspath(file))[1]
    return rules


def find_project(path: str | os.PathLike[str] | None) -> str:
    """Return the real path of the project's folder: the nearest one with an `ask-tools.toml` or a repository."""
    if path is not None:
        if not os.path.isdir(path):
            raise PolicyError(f"project {os.fspath(path)!r} is not a folder")
        return os.path.realpath(path)
    folder = here = os.path.realpath(os.curdir)
    while not any(os.path.lexists(os.path.join(folder, name)) for name in (PROJECT_FILE, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return here
    return folder


def read_policy(path: str) -> tuple[bytes, list[Rule]]:
    """Return the bytes of a policy file and its rules; empty without a file."""
    data = read_guarded(path)
    if not data:
        return data, []
    import tomllib  # 3 ms, only if there is a policy

    try:
        document = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(f"{path}: not valid TOML: {error}") from error
    for key in document:
        if key != "rule":
            raise PolicyError(f"{path}: unknown key {key!r}{near(key, ['rule'])}; a policy consists of [[rule]] tables")
    return data, read_rules(document.get("rule", []), path)


def read_guarded(path: str) -> bytes:
    """Read a file that no other user can have written; empty without a file. Raises PolicyError for any other file."""
    if not os.path.lexists(path):
        return b""
    try:
        # A pipe is refused without waiting for it.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            check_owner(os.fstat(file.fileno()), path)
            return file.read()
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}") from error


def check_owner(status: os.stat_result, path: str) -> None:
    """Raise PolicyError if another user may have written a file or folder, or for a special file."""
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise PolicyError(f"{path}: not a regular file")
    if status.st_uid not in (0, os.geteuid()):
        raise PolicyError(f"{path}: belongs to another user (uid {status.st_uid})")
    if status.st_mode & stat.S_IWOTH:
        raise PolicyError(f"{path}: other users can write to it; fix: chmod o-w {path}")
