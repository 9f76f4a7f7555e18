"""Patterns for paths and for the words of commands."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import escape, has_magic
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING, Literal

from tools_core.formats import legal_names
from tools_core.variables import without_harmless_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools_runtime._policy._facts import ServerTool

Match = Literal["yes", "no", "perhaps"]
Command = tuple[str | None, ...]  # its words; None for a word that is known only at run time


def matches_tool(pattern: str, names: Iterable[str], of_server: ServerTool | None) -> bool:
    """Return whether a pattern covers a tool with one of these names, or `mcp:SERVER:TOOL` the tool of a server.

    `mcp:SERVER` covers all its tools. The names of servers are compared as the registry writes them, `My_Server` as
    `my-server`, and the name of a tool also as providers accept it: `repo.delete` as `repo_delete`.
    """
    if not pattern.startswith("mcp:"):
        return any(fnmatchcase(name, pattern) for name in names)
    if of_server is None:
        return False
    _, server, tool = [*pattern.split(":", 2), "*"][:3]
    if not fnmatchcase(_normalized(of_server.server), _normalized(server)):
        return False
    return any(fnmatchcase(name, tool) for name in (of_server.name, *legal_names([of_server.name], "openai").values()))


def _normalized(server: str) -> str:
    return re.sub(r"[-_.]+", "-", server).lower()


def matches_path(pattern: str, path: str, workspace: str) -> bool:
    """Return whether a glob covers an absolute path.

    `*` stays within one name, `**` stands for any number of folders, and `src/**` covers `src` as well. A pattern that
    begins with neither `/` nor `~` is below the workspace.
    """
    return _covers(_parts(pattern, workspace), [part for part in path.split("/") if part], "**")


def may_match_below(pattern: str, path: str, workspace: str) -> bool:
    """Return whether a glob may cover something below an absolute path, which is a folder.

    Only if the part of the pattern before its first wildcard exists: nothing below the folder can match otherwise.
    """
    parts = _parts(pattern, workspace)
    plain = takewhile(lambda part: not has_magic(part), parts)
    if not (os.path.isdir(path) and os.path.lexists(f"/{'/'.join(plain)}")):
        return False
    return bool(_reached(parts, [part for part in path.split("/") if part], "**") - {len(parts)})


def allows_commands(patterns: Sequence[str], commands: Sequence[Command]) -> bool:
    """Return whether a pattern covers every command, and there is at least one.

    `*` alone covers an unknown word, as it covers any words, but not an unknown program. A variable such as `LC_ALL=C`
    makes no difference.
    """
    return bool(commands) and all(
        command[0] is not None
        and any(_covers(pattern.split(), form, "*") for pattern in patterns for form in _forms(command))
        for command in commands
    )


def _forms(command: Command) -> Iterable[Command]:
    return dict.fromkeys((command, tuple(without_harmless_variables(command))))


def concerns_commands(patterns: Sequence[str], commands: Sequence[Command]) -> Match:
    """Return whether a pattern covers any of the commands; `perhaps` if an unknown word could.

    Variables in front of a program and the program's folder make no difference: `A=1 /bin/rm x` is `rm x`.
    """
    forms = [form for command in commands for form in dict.fromkeys((command, _plain(command)))]
    tried = [(pattern.split(), form) for pattern in patterns for form in forms]
    if any(_covers(words, form, "*") for words, form in tried):
        return "yes"
    return "perhaps" if any(_covers(words, form, "*", is_generous=True) for words, form in tried) else "no"


def _plain(command: Command) -> Command:
    rest = tuple(dropwhile(lambda word: word is not None and "=" in word, command)) or command
    return (rest[0] and rest[0].rpartition("/")[2], *rest[1:])


def _covers(pattern: Sequence[str], parts: Sequence[str | None], star: str, *, is_generous: bool = False) -> bool:
    return len(pattern) in _reached(pattern, parts, star, is_generous=is_generous)


def _reached(pattern: Sequence[str], parts: Sequence[str | None], star: str, *, is_generous: bool = False) -> set[int]:
    """Return the places in the pattern that matching the parts leads to, so that no pattern takes long.

    An unknown part is covered by `star` alone; with `is_generous` it may stand for any number of any parts.
    """
    reached = _beyond({0}, pattern, star)
    for part in parts:
        here = {place for place in reached if place < len(pattern)}
        following = {place for place in here if pattern[place] == star}
        if part is not None:
            following |= {place + 1 for place in here if _fits(part, pattern[place], is_generous=is_generous)}
        elif is_generous and reached:
            following = set(range(min(reached), len(pattern) + 1))
        reached = _beyond(following, pattern, star)
    return reached


def _fits(part: str, pattern: str, *, is_generous: bool) -> bool:
    """Return whether a pattern fits one word; `build/*` does not fit `build/../x`, which is outside the folder."""
    climbs = ".." in part.split("/") and ".." not in pattern.split("/")
    return fnmatchcase(part, pattern) and (is_generous or not climbs)


def _beyond(places: set[int], pattern: Sequence[str], star: str) -> set[int]:
    """Return these places and those behind any `star` at them, which may stand for nothing."""
    reached = set(places)
    for place in range(len(pattern)):
        if place in reached and pattern[place] == star:
            reached.add(place + 1)
    return reached


@lru_cache(maxsize=1_000)
def _parts(pattern: str, workspace: str) -> tuple[str, ...]:
    if pattern == "~" or pattern.startswith("~/"):
        pattern = escape(os.path.realpath(os.path.expanduser("~"))) + pattern[1:]
    elif not pattern.startswith("/"):
        pattern = f"{escape(workspace)}/{pattern}"
    return tuple(part for part in pattern.split("/") if part not in ("", "."))
