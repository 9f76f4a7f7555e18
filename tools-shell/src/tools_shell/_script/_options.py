"""Reads the options of a command against a list of those that are known to be harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools_shell._script._parts import Expanded, is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools_shell._script._parts import Word


class Harmless(NamedTuple):
    """Options with which a command only reads; a list of what is allowed, since long ones may be abbreviated."""

    flags: str = ""  # letters
    valued: str = ""  # letters that take a value
    long: frozenset[str] = frozenset()  # those with a value, which may be the next word, end in `=`
    operands: int | None = None  # at most so many: the next would be written to
    is_apart: bool = False  # a letter that takes a value is a word of its own: `-pc` is not `-p -c`


def harmless(
    flags: str = "", valued: str = "", long: str = "", operands: int | None = None, *, is_apart: bool = False
) -> Harmless:
    return Harmless(flags, valued, frozenset(f"--{name}" for name in long.split()), operands, is_apart)


def is_harmless(arguments: Sequence[Word], allowed: Harmless) -> bool:
    """Whether all options are among `allowed`, whatever the expanded words become."""
    operands = read_options(arguments, allowed)
    return operands is not None and (allowed.operands is None or len(operands) <= allowed.operands)


def read_options(arguments: Sequence[Word], allowed: Harmless) -> list[Word] | None:
    """The operands; None where there is an option that is not allowed, or may be one."""
    operands: list[Word] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*operands, *rest] if all(map(is_one, rest)) or allowed.operands is None else None
        if not may_be_option(word):
            if not is_one(word) and allowed.operands is not None:
                return None
            operands.append(word)
        elif isinstance(word, Expanded) or not _is_allowed(word, rest, allowed):
            return None
    return operands


def may_be_option(word: Word) -> bool:
    """Whether a program may take it for an option; a lone `-` is standard input."""
    if isinstance(word, Expanded):
        return not word.prefix or word.prefix[0] in "-+"
    return len(word) > 1 and word[0] == "-"


def _is_allowed(word: str, rest: list[Word], allowed: Harmless) -> bool:
    """Whether an option is harmless; takes its value from `rest` where that is the next word."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        if not equals and f"{name}=" in allowed.long:
            return bool(rest) and is_one(rest.pop(0))
        return name + equals in allowed.long
    for number, letter in enumerate(word[1:], 1):
        if letter in allowed.valued:
            if allowed.is_apart and len(word) > 2:
                return False
            return bool(word[number + 1 :]) or (bool(rest) and is_one(rest.pop(0)))
        if letter not in allowed.flags:
            return False
    return True
