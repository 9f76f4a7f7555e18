"""The one error of the scaffold."""

from __future__ import annotations


class ScaffoldError(ValueError):
    """No package can be made as asked; nothing was written.

    `proposal` is a name that would work, where the name was at fault and one could be found.
    """

    def __init__(self, message: str, proposal: str | None = None) -> None:
        super().__init__(message)
        self.proposal = proposal


def shown(value: object, limit: int = 200) -> str:
    """Write a value for a message: quoted, on one line, clipped, every unprintable character escaped."""
    text = repr(str(value)[:limit])
    return text if len(text) <= limit else text[:limit] + "…" + text[0]
