"""Ignore files: `.gitignore` as git has it, `.ignore` above it, and `.git/info/exclude` below.

Names, endings and plain paths, which is what most rules are, are looked up and not tried one by one, so that a
hundred thousand of them cost no more than one.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from tools_filesystem._search._segment import matcher, parse, split

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools_filesystem._search._segment import Matcher

GIT, OWN = ".gitignore", ".ignore"
NAMES = frozenset({".git", GIT, OWN})
MOST_BYTES = 1 << 20  # of one file that are read
_MOST_WILD = 1000  # rules of one file that must be tried one by one
_LONGEST_RULE = 4096
_LONGEST_ENDING = 255


class _Wild(NamedTuple):
    """A rule that must be tried: on the name alone, or on each part of the path, where None is `**`."""

    number: int
    name: Matcher | None
    parts: tuple[Callable[[str], bool] | None, ...]


class _Table:
    """The rules that hold for one kind of entry; each gives the number of the last one that matches, or -1."""

    __slots__ = ("endings", "lengths", "names", "paths", "wild")

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.paths: dict[str, int] = {}
        self.endings: dict[str, int] = {}
        self.lengths: set[int] = set()
        self.wild: list[_Wild] = []

    def find(self, path: str, name: str) -> int:
        best = max(self.names.get(name, -1), self.paths.get(path, -1))
        for length in self.lengths:
            if length <= len(name):
                best = max(best, self.endings.get(name[len(name) - length :], -1))
        parts = None
        for rule in reversed(self.wild):
            if rule.number < best:
                break
            if rule.name is not None:
                is_match = rule.name(name)
            else:
                parts = parts or path.split("/")
                is_match = _match_parts(rule.parts, parts)
            if is_match:
                return rule.number
        return best


class Rules:
    """The rules of one ignore file, for paths relative to its folder."""

    __slots__ = ("_files", "_folders", "_negated", "dropped")

    def __init__(self, text: str) -> None:
        self._files, self._folders = _Table(), _Table()
        self._negated: set[int] = set()
        self.dropped = 0  # too long, or too many of the kind that must be tried
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n")):
            self._add(number, line)

    def decide(self, path: str, name: str, *, is_folder: bool) -> bool | None:
        """Whether an entry is ignored; None when no rule is about it."""
        number = (self._folders if is_folder else self._files).find(path, name)
        return None if number < 0 else number not in self._negated

    def _add(self, number: int, line: str) -> None:
        rule = _without_trailing_spaces(line.removesuffix("\r"))
        if not rule or rule[0] == "#":
            return
        if len(rule) > _LONGEST_RULE:
            self.dropped += 1
            return
        if rule[0] == "!":
            self._negated.add(number)
            rule = rule[1:]
        for_files = not rule.endswith("/")
        rule = rule[: len(rule) - (not for_files)]
        if rule and rule != "/":
            for table in (self._folders, self._files)[: 1 + for_files]:
                self._put(table, number, rule)

    def _put(self, table: _Table, number: int, rule: str) -> None:
        if rule.startswith("**/") and "/" not in rule[3:]:
            rule = rule[3:]
        if "/" not in rule:
            self._put_name(table, number, rule)
            return
        names = split(rule.removeprefix("/"))
        parsed = [None if _is_deep(name) else parse(name, is_strict=True) for name in names]
        if not names or any(found is None and not _is_deep(name) for found, name in zip(parsed, names, strict=True)):
            return  # git has it that such a rule matches nothing
        texts = [found.text for found in parsed if found and found.text is not None and None not in found.pieces]
        if len(texts) == len(names):
            table.paths["/".join(texts)] = number
        elif self._has_room(table):
            table.wild.append(_Wild(number, None, tuple(found and matcher(found) for found in parsed)))

    def _put_name(self, table: _Table, number: int, rule: str) -> None:
        found = parse(rule, is_strict=True)
        if found is None:
            return
        ending = found.suffix()
        if ending is not None:
            if len(ending) <= _LONGEST_ENDING:  # no name is longer
                table.endings[ending] = number
                table.lengths.add(len(ending))
        elif found.text is not None and None not in found.pieces:
            table.names[found.text] = number
        elif self._has_room(table):
            table.wild.append(_Wild(number, matcher(found), ()))

    def _has_room(self, table: _Table) -> bool:
        """Whether one more rule may be tried; asked first, since most of what such a rule takes is to compile it."""
        if len(table.wild) < _MOST_WILD:
            return True
        self.dropped += 1
        return False


class Ignore:
    """The rules that are in force in a folder, the nearest first, each with the length of the path of its folder."""

    __slots__ = ("_all", "_git", "_own", "has_rules")

    def __init__(self, own: tuple[tuple[int, Rules], ...] = (), git: tuple[tuple[int, Rules], ...] = ()) -> None:
        self._own, self._git = own, git
        self._all = own + git
        self.has_rules = bool(self._all)

    def hides(self, path: str, name: str, *, is_folder: bool) -> bool:
        """Whether an entry is ignored; `path` is its whole path from where the walk's paths begin."""
        for start, rules in self._all:
            verdict = rules.decide(path[start:], name, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False

    def within(self, folder: int, path: str, found: set[str]) -> Ignore:
        """The rules in a folder below: those of its own ignore files, of which it has `found`, come first.

        A repository of its own knows nothing of the rules around it.
        """
        own, git = self._own, self._git
        if ".git" in found:
            exclude = _read(folder, ".git/info/exclude")
            git = () if exclude is None else ((len(path), exclude),)
        if GIT in found and (rules := _read(folder, GIT)):
            git = ((len(path), rules), *git)
        if OWN in found and (rules := _read(folder, OWN)):
            own = ((len(path), rules), *own)
        return Ignore(own, git)

    def dropped(self, path: str) -> int:
        """How many rules of this very folder are not heeded, because there are too many or they are too long."""
        return sum(rules.dropped for start, rules in self._all if start == len(path))


def names_in(folder: int) -> set[str]:
    """Which of NAMES there are in a folder."""
    return {name for name in NAMES if _is_in(folder, name)}


def _is_in(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _read(folder: int, path: str) -> Rules | None:
    """The rules of a regular file, no link followed; None if there is none that can be read."""
    descriptor = folder
    try:
        *folders, name = path.split("/")
        for part in folders:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
            if descriptor != folder:
                os.close(descriptor)
            descriptor = inner
        return _rules(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor))
    except OSError:
        return None
    finally:
        if descriptor != folder:
            os.close(descriptor)


def _rules(descriptor: int) -> Rules | None:
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = os.read(descriptor, MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    is_cut = len(data) > MOST_BYTES
    if is_cut:  # a rule that was cut in two would say something else
        data = data[: data.rfind(b"\n") + 1]
    rules = Rules(os.fsdecode(data))
    rules.dropped += is_cut  # how many there are is not looked at
    return rules


def _match_parts(rule: tuple[Matcher | None, ...], parts: list[str]) -> bool:
    """Like a wildcard pattern, with names for letters: only the last `**` is ever tried again."""
    at = position = 0
    again_at, again_position = -1, 0
    while position < len(parts):
        if at < len(rule):
            test = rule[at]
            if test is None:
                if at == len(rule) - 1:
                    return True  # all that is inside
                again_at, again_position = at, position
                at += 1
                continue
            if test(parts[position]):
                at += 1
                position += 1
                continue
        if again_at < 0:
            return False
        again_position += 1
        at, position = again_at + 1, again_position
    return at == len(rule)


def _is_deep(name: str) -> bool:
    """Whether it stands for any number of folders: `**`, and as git has it more stars, too."""
    return len(name) > 1 and not name.strip("*")


def _without_trailing_spaces(line: str) -> str:
    bare = line.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if escapes % 2 and bare != line else bare
