"""`LoadProblem`: what is wrong with an installed tool."""

from __future__ import annotations

from tools_core._values._problem import clip
from tools_core.text import visible

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Self

    from tools_core._registry._entry_points import EntryPoint

_ERROR_LIMIT = 300


class LoadProblem:
    """What is wrong with an installed tool, and how to fix it.

    `name` is the tool's name; `distribution` and `version` say where it comes from, and are empty for a class that
    `discover_subclasses` found. `cause` is the exception of the package, if there is one.
    """

    __slots__ = ("cause", "distribution", "error", "fix", "name", "version")

    def __init__(
        self, name: str, distribution: str, version: str, error: str, fix: str, cause: BaseException | None = None
    ) -> None:
        self.name = name
        self.distribution = distribution
        self.version = version
        self.error = clip(visible(" ".join(error.split())), _ERROR_LIMIT)
        self.fix = fix
        self.cause = cause

    @classmethod
    def of(cls, point: EntryPoint, error: str, fix: str, cause: BaseException | None = None) -> Self:
        """Make the problem of an entry point."""
        return cls(point.name, point.distribution, point.version, error, fix, cause)

    def __str__(self) -> str:
        origin = f" ({self.distribution} {self.version})" if self.distribution else ""
        return f"{self.name}{origin}: {self.error}; fix: {self.fix}"

    def __repr__(self) -> str:
        return f"LoadProblem({str(self)!r})"
