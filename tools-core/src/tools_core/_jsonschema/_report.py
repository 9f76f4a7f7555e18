"""`Report`: the outcome of checking a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tools_core._jsonschema._types import Schema
from tools_core._values._problem import NOTHING, Path, Problem, render_path, show

# A compiled subschema: it reports problems and returns the value, copied if it was repaired.
Node: TypeAlias = "Callable[[Any, Path, Report], Any]"
Compile: TypeAlias = Callable[[Schema], Node]

MAX_PROBLEMS = 100


class Unusable:
    """Replaces a part that is not JSON, whose problem is already reported."""

    __slots__ = ()


class Report:
    """The outcome of `Validator.check`: the repaired `value`, its `problems`, and the `repairs` in words.

    `problems` is empty for a valid value.
    """

    __slots__ = ("_attempts", "problems", "repair", "repairs", "value", "visited")

    def __init__(self, value: Any, repair: bool, attempts: Attempts | None = None) -> None:
        self.value = value
        self.problems: list[Problem] = []
        self.repairs: list[str] = []
        self.repair = repair
        self._attempts = attempts
        self.visited: dict[tuple[str, Path], Any] | None = None  # the values after each reference, by place

    @property
    def attempts(self) -> Attempts:
        """The state that the alternatives of one check share."""
        if self._attempts is None:
            self._attempts = Attempts()
        return self._attempts

    @property
    def is_complete(self) -> bool:
        """True if `problems` has every problem; only the first 100 are collected."""
        return len(self.problems) < MAX_PROBLEMS

    def trial(self, value: Any, repair: bool) -> Report:
        """Return a separate report for an alternative."""
        return Report(value, repair, self.attempts)

    def add_problem(self, path: Path, rule: object, value: Any = NOTHING) -> None:
        """Add a problem; `value` is the value that breaks the rule, unless the rule says it all."""
        if len(self.problems) < MAX_PROBLEMS and type(value) is not Unusable:
            self.problems.append(Problem(path, rule, value))

    def add_repair(self, path: Path, old: Any, new: str) -> None:
        """Record that the value at `path` was replaced."""
        if len(self.repairs) < MAX_PROBLEMS:
            label = render_path(path)
            self.repairs.append(f"{label}: {show(old)} -> {new}" if label else f"{show(old)} -> {new}")


class Attempts:
    """State shared by the alternatives of one check: verdicts, and how deep alternatives nest."""

    def __init__(self) -> None:
        self.level = 0
        self.verdicts: dict[tuple[Node, int], tuple[Any, bool]] = {}


def fits(node: Node, value: Any, report: Report) -> bool:
    """Return whether `value` is valid without a repair."""
    verdicts = report.attempts.verdicts
    key = (node, id(value))
    verdict = verdicts.get(key)
    if verdict is None:
        trial = report.trial(value, repair=False)
        node(value, None, trial)
        # The value is stored with the verdict, so that no other value can get its id.
        verdict = verdicts[key] = (value, not trial.problems)
    return verdict[1]
