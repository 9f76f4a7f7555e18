"""Sets of names, and of variables: whether setting one can change what a program does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools_shell._script._parts import SimpleCommand

_LANGUAGES = frozenset(("LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME"))
_SHOWING = frozenset(("CLICOLOR", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR"))


def words(text: str) -> frozenset[str]:
    """A set of names, written as one text since it is long."""
    return frozenset(text.split())


def is_descriptor(word: str) -> bool:
    """Whether the shell takes it for the number of a descriptor, behind `>&`: `2`, or `2-`; else it is a file."""
    digits = word.removesuffix("-")
    return digits.isascii() and digits.isdecimal()


def is_local_name(name: str) -> bool:
    """Whether a variable of this name stays inside the script: programs look for names in capitals."""
    return name.isascii() and name == name.lower() and not name.endswith("_proxy")


def splits_input(command: SimpleCommand, name: str) -> bool:
    """Whether the variable is set for `read` alone, and says where it splits a line: `IFS= read -r line`."""
    return name == "IFS" and command.name == "read"


def is_harmless_setting(name: str, value: str) -> bool:
    """Whether a program that finds this in its environment does nothing else than before."""
    if name in _SHOWING:
        return value.isascii() and (value.isalnum() or not value)
    # A locale could be named by a path, and be a file of the script's own.
    is_locale = value.isascii() and value.replace("_", "").replace("-", "").replace(".", "").isalnum()
    return name in _LANGUAGES and is_locale and ".." not in value
