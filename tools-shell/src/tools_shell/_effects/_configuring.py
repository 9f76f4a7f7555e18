"""Recognition of scripts that may write git's configuration: git commands that run no code of the workspace."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from tools_shell._effects._commands import words
from tools_shell._git._config import is_unsafe, read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._effects._commands import Word

# Without hooks and without keys that name programs, these run nothing but git.
_COMMANDS = words("""
    add branch checkout cherry-pick commit config describe diff fetch log merge pull push rebase remote reset restore
    rev-parse revert rm show stash status submodule switch tag worktree
""")
_WITH_HOOKS = words("config remote")  # these run no hooks
_REMOTE = words("add get-url remove rename rm set-branches set-url show -v --verbose")
_FETCHING = ("-f", "--fetch")
_SUBMODULE = words("add deinit init set-branch set-url status sync update")
# Options that run programs or write to a named file; git completes long ones.
_REFUSED = re.compile(r"--(exe|out|rece|templ|upl).*|-x.+", re.DOTALL)
_TRANSPORT = re.compile(r"[^/]*::")  # a URL for a helper program, such as ext::COMMAND
_NETWORK = re.compile(r"(?!file:)[a-z+]+://|[^/]+:")
_CONFIG_OPTIONS = words(
    "--local --get --get-all --get-regexp --list -l --add --unset --unset-all --replace-all --bool --int --path get set"
    " list unset"
)


def configures(commands: Sequence[Sequence[Word]], git: str, path: str, directories: Sequence[str]) -> bool:
    """Return whether a script is nothing but git commands that may write the configuration and run no other code.

    `git` is a program that commands cannot replace, `path` is the variable PATH, and `directories` are the git
    directories of the repository.
    """
    import shutil  # not on Windows

    if not git or not directories or shutil.which("git", path=path) != git:
        return False
    is_plain = all(is_plain_repository(directory, git) for directory in directories)
    has_git = False
    for command in commands:
        if None in command:
            return False
        name, *arguments = map(str, command)
        if name in ("cd", "echo", "pwd", "true"):
            continue
        if name != "git" or not _is_plain_command(arguments, git, directories, is_plain=is_plain):
            return False
        has_git = True
    return has_git


def is_plain_repository(directory: str, git: str) -> bool:
    """Return whether a git directory has no hooks, and no settings that name programs."""
    with suppress(FileNotFoundError):
        if any(not name.endswith(".sample") for name in os.listdir(f"{directory}/hooks")):
            return False
    for name in ("config", "config.worktree"):
        try:
            with open(f"{directory}/{name}", "rb") as file:
                settings = read_settings(file.read(), git)
        except FileNotFoundError:
            continue
        except OSError:
            return False
        if settings is None or any(is_unsafe(each) and each[0] != "core.worktree" for each in settings):
            return False
    return True


def _is_plain_command(arguments: list[str], git: str, directories: Sequence[str], *, is_plain: bool) -> bool:
    while arguments[:1] == ["--no-pager"] or (arguments[:1] == ["-C"] and len(arguments) > 1):
        arguments = arguments[1 if arguments[0] == "--no-pager" else 2 :]
    name, *rest = arguments or [""]
    if name not in (_COMMANDS if is_plain else _WITH_HOOKS):
        return False
    if any(_REFUSED.fullmatch(word) or _TRANSPORT.match(word) for word in rest):
        return False
    if name == "config":
        return _is_plain_setting(rest)
    if name == "remote":
        return not rest or (rest[0] in _REMOTE and (is_plain or not {*rest}.intersection(_FETCHING)))
    if name == "submodule":
        return next((word in _SUBMODULE for word in rest if not word.startswith("-")), True)
    if name == "rebase":
        return "-x" not in rest
    return name != "push" or _pushes_without_hooks(rest, git, directories)


def _is_plain_setting(words_of_config: list[str]) -> bool:
    """Return whether the arguments of `git config` only read, or set a harmless key."""
    rest = [word for word in words_of_config if word not in _CONFIG_OPTIONS]
    if any(word.startswith("-") for word in rest):
        return False
    section, _, name = (rest[0] if rest else "").rpartition(".")
    key = f"{section.partition('.')[0].lower()}{section[len(section.partition('.')[0]) :]}.{name.lower()}"
    return not rest or not is_unsafe((key, rest[1] if len(rest) > 1 else "x"))


def _pushes_without_hooks(arguments: list[str], git: str, directories: Sequence[str]) -> bool:
    """Return whether `git push` only reaches repositories on other machines, or here without hooks of their own."""
    named = next((word for word in arguments if not word.startswith("-")), None)
    urls = [] if named is None else [named]
    for directory in directories:
        with suppress(OSError), open(f"{directory}/config", "rb") as file:
            for key, value in read_settings(file.read(), git) or ():
                if key.startswith("remote.") and key.endswith(("url", "pushurl")):
                    urls.append(value or "")
    tops = [os.path.dirname(directory) for directory in directories]
    for url in urls:
        if _NETWORK.match(url):
            continue
        paths = [os.path.join(top, url.removeprefix("file://")) for top in tops]
        places = [place for path in paths for place in (path, f"{path}/.git", f"{path}.git", f"{path}.git/.git")]
        if not all(is_plain_repository(place, git) for place in places if os.path.isdir(place)):
            return False
    return True
