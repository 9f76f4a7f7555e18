"""Where policies are: the user's file, and the project's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tools_runtime._policy._errors import PolicyError
from tools_runtime._policy._read import read_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_runtime._policy._rule import Rule

PROJECT_FILE = "ask-tools.toml"


class ProjectFile(NamedTuple):
    """The policy that came with a project; without rules where there is none."""

    path: str
    data: bytes
    rules: Sequence[Rule]


def user_file() -> str:
    """The user's policy: below $XDG_CONFIG_HOME, or ~/.config."""
    return user_path("XDG_CONFIG_HOME", "~/.config", "policy.toml")


def user_path(variable: str, usual: str, name: str) -> str:
    """A file of the user's, in the folder that the environment says, or the usual one.

    Never below the current folder, where a repository may have put it: who has no home has the one of `/`.
    """
    given = os.environ.get(variable, "")
    folders = (given, os.path.expanduser(usual), usual.replace("~", "", 1))
    return os.path.join(next(filter(os.path.isabs, folders)), "ask-tools", name)


def user_rules(files: Sequence[str | os.PathLike[str]] | None) -> list[Rule]:
    """The rules of these files, or of the user's own; a file that was named must be there."""
    if files is None:
        try:
            return read_file(user_file())[1]
        except FileNotFoundError:
            return []
    found: list[Rule] = []
    for file in [files] if isinstance(files, str | os.PathLike) else files:
        try:
            found += read_file(file)[1]
        except FileNotFoundError as missing:
            raise PolicyError(f"{os.fspath(file)}: there is no such file") from missing
    return found


def project_rules(project: str) -> ProjectFile:
    """The policy that came with a project."""
    path = os.path.join(project, PROJECT_FILE)
    try:
        return ProjectFile(path, *read_file(path))
    except FileNotFoundError:
        return ProjectFile(path, b"", ())


def find_project(given: str | os.PathLike[str] | None) -> str:
    """The real path of the project's folder."""
    if given is not None:
        if not os.path.isdir(given):
            raise PolicyError(f"project {os.fspath(given)!r} is no folder")
        return os.path.realpath(given)
    here = os.path.realpath(os.getcwd())
    folder = here
    while True:
        if any(os.path.lexists(os.path.join(folder, name)) for name in (PROJECT_FILE, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return here
        folder = above
