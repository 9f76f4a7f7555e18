"""One demand of the contract, and what came of it for one tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tools_testing._contract._subject import Subject

_SHOWN = 5  # findings of one check that a report spells out


class NotApplicable(Exception):
    """The check has nothing to say of this tool; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A named demand on a tool: what it wants, how to comply, and the function that looks."""

    name: str
    demand: str
    fix: str
    find: Callable[[Subject], Iterable[str]]

    def __call__(self, subject: Subject) -> Outcome:
        """Look at one tool; whatever goes wrong on the way is a finding."""
        try:
            return Outcome(check=self, findings=tuple(self.find(subject)))
        except NotApplicable as reason:
            return Outcome(check=self, skipped=str(reason))
        except KeyboardInterrupt:
            raise
        # The tool may be anybody's: what passes through where nothing may is what we are here to tell.
        except BaseException as error:  # noqa: BLE001
            return Outcome(check=self, findings=(f"{type(error).__name__}: {error}",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one check found: nothing, problems, or that it does not apply."""

    check: Check
    findings: tuple[str, ...] = ()
    skipped: str | None = None

    @property
    def name(self) -> str:
        """The name of the check."""
        return self.check.name

    @property
    def is_ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __str__(self) -> str:
        if self.skipped is not None:
            return f"{self.name}: skipped, {self.skipped}"
        if self.is_ok:
            return f"{self.name}: ok"
        lines = [f"{self.name}: {self.check.demand}"]
        lines += [f"  - {finding}" for finding in self.findings[:_SHOWN]]
        if len(self.findings) > _SHOWN:
            lines.append(f"  - and {len(self.findings) - _SHOWN} more")
        return "\n".join([*lines, f"  fix: {self.check.fix}"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractReport:
    """What every check said of one tool; `str(report)` has all that failed, each with its fix."""

    tool: str
    outcomes: tuple[Outcome, ...]

    @property
    def is_ok(self) -> bool:
        """Whether no check found a problem."""
        return not self.failures

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The checks that found problems."""
        return tuple(outcome for outcome in self.outcomes if not outcome.is_ok)

    @property
    def skipped(self) -> tuple[Outcome, ...]:
        """The checks that had nothing to say, each with the reason."""
        return tuple(outcome for outcome in self.outcomes if outcome.skipped is not None)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __str__(self) -> str:
        if self.is_ok:
            return f"the tool `{self.tool}` keeps its contract ({len(self.outcomes)} checks)"
        count = f"{len(self.failures)} of {len(self.outcomes)}"
        return "\n".join([f"the tool `{self.tool}` breaks {count} promises of its contract", *map(str, self.failures)])


def contract_check(demand: str, fix: str) -> Callable[[Callable[[Subject], Iterable[str]]], Check]:
    """Make a check of a function that yields what it finds wrong; its name is the function's."""

    def made(find: Callable[[Subject], Iterable[str]]) -> Check:
        return Check(name=find.__name__, demand=demand, fix=fix, find=find)

    return made
