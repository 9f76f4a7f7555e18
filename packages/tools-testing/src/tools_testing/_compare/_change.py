"""One difference between two definitions, and the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What changed, where, and whether it breaks callers.

    `verdict` is "breaking" when a call that was valid may no longer be, an answer may be of a new form, or the tool may
    do what it promised not to; else "compatible".
    """

    verdict: Literal["breaking", "compatible"]
    path: str
    reason: str

    @property
    def is_breaking(self) -> bool:
        """Whether callers have to change."""
        return self.verdict == "breaking"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.path} {self.reason}"


def listed(changes: list[Change]) -> str:
    """Every change on a line of its own, what breaks first."""
    return "\n".join(map(str, sorted(changes, key=lambda change: (not change.is_breaking, change.path))))
