"""The parts of a script, as values: commands, their words, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Place = Literal["background", "function", "pipeline", "subshell", "substitution", "wrapper"]


@dataclass(frozen=True, slots=True)
class Expanded:
    """A word whose value is known only when it runs: `text` is how it is written.

    `prefix` is what each word that it becomes begins with, as `src/` in `src/*.py`; empty where that is unknown.
    """

    text: str
    prefix: str = ""
    is_single: bool = False  # it becomes one word, whatever its value is


Word = str | Expanded  # a string is a literal: what the command receives, quotes removed


def is_one(word: Word) -> bool:
    """Whether the command receives it as one word, whatever it becomes."""
    return isinstance(word, str) or word.is_single


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that is set, for one command or from then on."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Redirection:
    """Where a descriptor leads: `2> log` has descriptor 2, operator `>` and target `log`.

    Of a here-document the target is the text itself.
    """

    operator: str
    target: Word
    descriptor: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleCommand:
    """One command; `name` is None where it is not literal, and empty where only variables or files are set."""

    name: str | None
    arguments: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    places: tuple[Place, ...] = ()  # from the outermost
    text: str = ""  # as it is written


@dataclass(frozen=True, slots=True)
class Script:
    """All commands of a script, the nested ones included, in the order in which they are written.

    `unknown` holds the reasons why there may be more to it than is seen here. Where there is one, treat the script
    as dangerous, whatever its commands are.
    """

    commands: tuple[SimpleCommand, ...] = ()
    redirections: tuple[Redirection, ...] = ()  # of the commands, of loops and of groups
    unknown: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return not self.unknown
