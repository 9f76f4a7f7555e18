"""What the lexer makes of a script."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["word", "operator", "descriptor", "newline"]


class Unreadable(Exception):
    """The script cannot be read with certainty; the message says why."""


class Token(NamedTuple):
    """A piece of a script, from byte `start` to before byte `end`.

    `value` is a word's literal value, None where it is expanded. A here-document's body is the value of the token
    of its delimiter.
    """

    kind: Kind
    text: str
    start: int
    end: int
    value: str | None = None
    prefix: str = ""
    is_single: bool = True
    is_plain: bool = False  # nothing in it is quoted, so that it may be a reserved word
