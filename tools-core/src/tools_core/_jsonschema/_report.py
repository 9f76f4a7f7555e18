"""The findings of a check: the value, every problem, every repair."""

from __future__ import annotations

from tools_core._values._problem import Path, Problem, render_path, show

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    # A compiled subschema: it reports what is wrong and returns the value, copied where it was repaired.
    Node: TypeAlias = Callable[[Any, Path, "Checked"], Any]

PROBLEM_LIMIT = 100


class Unusable:
    """Stands for a part that is no JSON; its problem is reported already, so nothing more is said of it."""

    __slots__ = ()


class Checked:
    """The outcome of `Validator.check`: `problems` is empty for a valid value.

    While the check runs it is the report that the compiled subschemas write to.
    """

    __slots__ = ("attempts", "problems", "repair", "repairs", "value")

    attempts: Attempts  # set by the first one: most checks do without

    def __init__(self, value: Any, repair: bool) -> None:
        self.value = value
        self.problems: list[Problem] = []
        self.repairs: list[str] = []
        self.repair = repair

    def trial(self, value: Any, repair: bool) -> Checked:
        """Make a report for an alternative, which shares what all the attempts of this check know."""
        trial = Checked(value, repair)
        trial.attempts = attempts_of(self)
        return trial

    def fail(self, path: Path, expected: str, got: Any) -> None:
        """Report that the value at `path` breaks the rule that `expected` words."""
        if len(self.problems) < PROBLEM_LIMIT and type(got) is not Unusable:
            self.problems.append(Problem(path, expected, got))

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
    """What the alternatives of one check share: verdicts known already, and how deep alternatives nest.

    Both keep the work polynomial where a recursive schema offers several ways at every level.
    """

    __slots__ = ("level", "verdicts")

    def __init__(self) -> None:
        self.level = 0
        self.verdicts: dict[tuple[int, int], tuple[Any, bool, Any]] = {}


def attempts_of(report: Checked) -> Attempts:
    """Return what the attempts of this check share, made at the first one."""
    try:
        return report.attempts
    except AttributeError:
        report.attempts = Attempts()
        return report.attempts


def attempt(node: Node, value: Any, report: Checked) -> tuple[bool, Any]:
    """Say whether `value` fits `node` without a repair, and the value it then has."""
    verdicts = attempts_of(report).verdicts
    key = (id(node), id(value))
    known = verdicts.get(key)
    if known is not None:
        return known[1], known[2]
    trial = report.trial(value, repair=False)
    out = node(value, None, trial)
    # The value is kept with the verdict, so that its id cannot pass to another one.
    verdicts[key] = (value, not trial.problems, out)
    return not trial.problems, out
