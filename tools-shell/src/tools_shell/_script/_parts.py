"""The parts of a script, as values."""

from __future__ import annotations

from typing import NamedTuple


def words(text: str) -> frozenset[str]:
    """Return a set of names that is written as one text, since it is long."""
    return frozenset(text.split())


class Unreadable(Exception):
    """The script cannot be read with certainty; the message says why."""


class Dynamic(NamedTuple):
    """A word that is known only when it runs: `prefix` is what it begins with.

    It becomes one word if it `is_single`, else any number.
    """

    prefix: str = ""
    is_single: bool = False


Word = str | Dynamic  # a string is what the command receives, quotes removed


class Command(NamedTuple):
    """One command; its name is empty where only variables are set. `variables` are set for it, as name and value."""

    name: str
    arguments: tuple[Word, ...] = ()
    variables: tuple[tuple[str, Word], ...] = ()


class Redirection(NamedTuple):
    """A file that is opened: `>` and `out`."""

    operator: str
    target: Word


class Script(NamedTuple):
    """All commands of a script, those inside of substitutions and wrappers included.

    `unknown` is the reason why there may be more to it than is seen here; then nothing of it is certain.
    """

    commands: tuple[Command, ...] = ()
    files: tuple[Redirection, ...] = ()
    unknown: str | None = None
