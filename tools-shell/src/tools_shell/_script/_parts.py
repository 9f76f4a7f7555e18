"""The parts of a parsed script."""

from __future__ import annotations

from typing import NamedTuple


def words(text: str) -> frozenset[str]:
    """Return a set of names from a string of words."""
    return frozenset(text.split())


class Unreadable(Exception):
    """The script cannot be analysed reliably; the message says why."""


class Dynamic(NamedTuple):
    """A word that is known only at run time; `prefix` is its literal beginning.

    It expands to one word if `is_single`, else to any number of words.
    """

    prefix: str = ""
    is_single: bool = False


Word = str | Dynamic  # strings are without quotes, as the command receives them


class Command(NamedTuple):
    """One command; `variables` are names and values set for it. Without a name it only sets variables.

    A file that is opened is a command `<` or `>`, whose argument is the file.
    """

    name: str
    arguments: tuple[Word, ...] = ()
    variables: tuple[tuple[str, Word], ...] = ()
