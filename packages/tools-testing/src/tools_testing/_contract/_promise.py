"""One promise of the contract, and the outcome of checking it on one tool."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tools_testing._contract._subject import Subject
    from tools_testing._observe import ObservedCall

    Check = Callable[[Subject], Iterable[str]]
    CheckCall = Callable[[ObservedCall], str | None]

_MAX_PROBLEMS = 5  # problems of one promise that a report lists


class NotApplicable(Exception):
    """Raised by a check that does not apply to a tool; the message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One promise of every tool: its demand, how to comply, and how it is checked.

    `check` yields the problems of a tool. `check_call`, of promises about single calls, returns the problem of one;
    `fuzz_tool` uses it.
    """

    name: str
    demand: str
    fix: str
    check: Check
    check_call: CheckCall | None = None

    def outcome(self, subject: Subject) -> Outcome:
        """Check one tool; an exception on the way is a problem."""
        try:
            return Outcome(promise=self, problems=tuple(self.check(subject)))
        except NotApplicable as reason:
            return Outcome(promise=self, skipped=str(reason))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  (the code of the tool may raise anything)
            return Outcome(promise=self, problems=(f"{type(error).__name__}: {error}",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of checking one promise: problems, none, or the reason why it does not apply."""

    promise: Promise
    problems: tuple[str, ...] = ()
    skipped: str | None = None

    @property
    def name(self) -> str:
        """The name of the promise."""
        return self.promise.name

    @property
    def ok(self) -> bool:
        """True if there are no problems."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.promise.demand}"]
        lines += [f"  - {problem}" for problem in self.problems[:_MAX_PROBLEMS]]
        if len(self.problems) > _MAX_PROBLEMS:
            lines.append(f"  - and {len(self.problems) - _MAX_PROBLEMS} more")
        return "\n".join([*lines, f"  fix: {self.promise.fix}"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractReport:
    """The outcome of each promise for one tool; `str(report)` lists every problem with its fix."""

    tool: str
    outcomes: tuple[Outcome, ...]

    @property
    def ok(self) -> bool:
        """True if no promise is broken."""
        return not self.broken

    @property
    def broken(self) -> tuple[Outcome, ...]:
        """The outcomes with problems."""
        return tuple(outcome for outcome in self.outcomes if not outcome.ok)

    @property
    def skipped(self) -> tuple[Outcome, ...]:
        """The outcomes of promises that do not apply, each with its reason."""
        return tuple(outcome for outcome in self.outcomes if outcome.skipped is not None)

    def __str__(self) -> str:
        if self.ok:
            return f"`{self.tool}` keeps its contract ({len(self.outcomes)} promises)"
        count = f"{len(self.broken)} of {len(self.outcomes)}"
        return "\n".join([f"`{self.tool}` breaks {count} promises of its contract", *map(str, self.broken)])


def promise(demand: str, fix: str, *, check_call: CheckCall | None = None) -> Callable[[Check], Promise]:
    """Make a promise of a function that yields the problems of a tool; the promise has its name."""

    def make(check: Check) -> Promise:
        return Promise(name=check.__name__, demand=demand, fix=fix, check=check, check_call=check_call)

    return make


def call_promise(demand: str, fix: str) -> Callable[[CheckCall], Promise]:
    """Make a promise of a function that returns the problem of one call; all calls of a tool are checked."""

    def make(check_call: CheckCall) -> Promise:
        def check(subject: Subject) -> Iterator[str]:
            for call in subject.calls:
                if problem := check_call(call):
                    yield f"for {shown(call.arguments)}: {problem}"

        return Promise(name=check_call.__name__, demand=demand, fix=fix, check=check, check_call=check_call)

    return make


def shown(arguments: Any) -> str:
    """Return arguments as short text: JSON if possible."""
    try:
        text = repr(arguments) if isinstance(arguments, str | bytes) else json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(arguments)
    return f"{text:.200}"
