"""The findings of a check: the value, every problem, every repair."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from tools_core._values._problem import Path, Problem, render_path, show

if TYPE_CHECKING:
    from tools_core._jsonschema._pointer import Schema

# A compiled subschema: it reports what is wrong and returns the value, copied where it was repaired.
Node: TypeAlias = Callable[[Any, Path, "Checked"], Any]
Compile: TypeAlias = "Callable[[Schema], Node]"

PROBLEM_LIMIT = 100


class Unusable:
    """Stands for a part that is not JSON; its problem is reported already."""

    __slots__ = ()


class Checked:
    """The outcome of `Validator.check`: `problems` is empty for a valid value.

    While the check runs it is the report that the compiled subschemas write to.
    """

    __slots__ = ("_attempts", "problems", "repair", "repairs", "value")

    def __init__(self, value: Any, repair: bool, attempts: Attempts | None = None) -> None:
        self.value = value
        self.problems: list[Problem] = []
        self.repairs: list[str] = []
        self.repair = repair
        self._attempts = attempts

    @property
    def is_complete(self) -> bool:
        """Return whether `problems` has every problem; past a limit, only the first ones are kept."""
        return len(self.problems) < PROBLEM_LIMIT

    @property
    def attempts(self) -> Attempts:
        """The state that the alternatives of this check share, made for the first one."""
        if self._attempts is None:
            self._attempts = Attempts()
        return self._attempts

    def trial(self, value: Any, repair: bool) -> Checked:
        """Make a report for an alternative, which shares what all the attempts of this check know."""
        return Checked(value, repair, self.attempts)

    def fail(self, path: Path, rule: str, got: Any) -> None:
        """Report that the value at `path` breaks the rule that `rule` words."""
        if len(self.problems) < PROBLEM_LIMIT and type(got) is not Unusable:
            self.problems.append(Problem(path, rule, got))

    def say(self, path: Path, text: str) -> None:
        """Report a problem whose text is complete."""
        if len(self.problems) < PROBLEM_LIMIT:
            self.problems.append(Problem(path, text))

    def repaired(self, path: Path, old: Any, new: str) -> None:
        """Record a repair; `new` is worded for the record."""
        if len(self.repairs) < PROBLEM_LIMIT:
            where = render_path(path)
            self.repairs.append(f"{where}: {show(old)} -> {new}" if where else f"{show(old)} -> {new}")


class Attempts:
    """State that the alternatives of one check share: known verdicts, and how deep alternatives nest."""

    def __init__(self) -> None:
        self.level = 0
        self.verdicts: dict[tuple[int, int], tuple[Any, bool]] = {}


def fits(node: Node, value: Any, report: Checked) -> bool:
    """Return whether `value` fits `node` without a repair."""
    verdicts = report.attempts.verdicts
    key = (id(node), id(value))
    known = verdicts.get(key)
    if known is None:
        trial = report.trial(value, repair=False)
        node(value, None, trial)
        # The value is kept with the verdict, so that its id cannot pass to another one.
        known = verdicts[key] = (value, not trial.problems)
    return known[1]
