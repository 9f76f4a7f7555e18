"""The expression of `find`: whether it only looks, and whether a word in it may be an action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools_shell._script._names import words
from tools_shell._script._parts import Expanded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_shell._script._parts import Word

_TESTS = words("""
    ! ( ) , -H -L -P -a -and -d -daystart -depth -empty -executable -false -follow -ls -mount -nogroup -noleaf -not
    -nouser -o -or -print -print0 -prune -quit -readable -true -writable -xdev
""")
_VALUED = words("""
    -amin -anewer -atime -cmin -cnewer -ctime -fstype -group -iname -inum -ipath -iregex -links -maxdepth -mindepth
    -mmin -mtime -name -newer -newermt -path -perm -printf -regex -regextype -samefile -size -type -user -wholename
    -xtype
""")
_RUNNING = frozenset(("-exec", "-execdir"))
WITH_COMMAND = _RUNNING | {"-ok", "-okdir"}  # a command stands behind them
BY_FOLDER = frozenset(("-execdir", "-okdir"))  # what is found is named without its folder


def unclear(arguments: Sequence[Word]) -> str | None:
    """The word that may become an action, such as `-delete`; None where there is none."""
    is_value = is_command = False  # of a test, or a part of what `-exec` runs, which a word that becomes `;` would end
    for before, word in zip(("", *arguments), arguments, strict=False):
        if (
            isinstance(word, Expanded)
            and (not word.prefix or word.prefix[0] in "-(!,;+")
            and not (is_value and word.is_single)
        ):
            return word.text
        if is_command:
            is_command = word != ";" and (before, word) != ("{}", "+")
        else:
            is_value, is_command = not is_value and word in _VALUED, not is_value and word in WITH_COMMAND
    return None


def starting_points(arguments: Sequence[Word]) -> Iterator[str]:
    """Where it begins to look, which is what the names that it finds begin with."""
    for word in arguments:
        text = word.prefix if isinstance(word, Expanded) else word
        if text[:1] in ("-", "!", "(", ")", ","):
            if text not in ("-H", "-L", "-P"):
                return
        else:
            yield text


def find_reads(arguments: Sequence[Word]) -> bool:
    """Whether it only looks; what `-exec` runs, and words that are not literal, are judged elsewhere."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in _RUNNING:
            while rest and rest.pop(0) not in (";", "+"):
                pass
        elif word in _VALUED:
            del rest[:1]
        elif isinstance(word, str) and (word[:1] in ("-", "!", "(", ")", ",") and word not in _TESTS):
            return False
    return True
