"""`Report`: the attempts of an evaluation, their rates, and the pairs of tools that collide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any, NamedTuple, Self

from pydantic import TypeAdapter

from tools_eval._words import sentences

_Z = 1.96  # for intervals of 95 %


class Rate(NamedTuple):
    """The number of passed attempts, of all attempts."""

    passed: int
    total: int

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> Self:
        """Return the rate of the attempts that have a reply."""
        passed = [attempt.passed for attempt in attempts if attempt.error is None]
        return cls(sum(passed), len(passed))

    @property
    def share(self) -> float:
        """The share of passed attempts; 0 without attempts."""
        return self.passed / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The Wilson interval of 95 %."""
        if not self.total:
            return 0.0, 1.0
        square = _Z**2 / self.total
        center = self.share + square / 2
        margin = _Z * sqrt(self.share * (1 - self.share) / self.total + square / self.total / 4)
        return max(0.0, (center - margin) / (1 + square)), min(1.0, (center + margin) / (1 + square))

    def compare(self, before: Rate) -> str:
        """Return "better", "worse", "same", "within noise" or "no result", by Newcombe's interval of the difference.

        From all to none is worse, and from none to all better, whatever the number of attempts.
        """
        if not self.total:
            return "no result"
        if self.share == before.share:
            return "same"
        if {self.share, before.share} == {0, 1}:
            return "better" if self.share else "worse"
        low, high = self.interval
        low_before, high_before = before.interval
        difference = self.share - before.share
        if difference - sqrt((self.share - low) ** 2 + (high_before - before.share) ** 2) > 0:
            return "better"
        if difference + sqrt((high - self.share) ** 2 + (before.share - low_before) ** 2) < 0:
            return "worse"
        return "within noise"

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.passed}/{self.total} ({low:.0%} to {high:.0%})" if self.total else "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One reply of a model to a case. `error` is set if the provider failed; then the attempt does not count."""

    case: str
    model: str
    question: str
    expected: str
    chosen: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    problems: list[str] = field(default_factory=list)
    error: str | None = None
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True if the calls are as expected."""
        return not self.problems and self.error is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """A sentence without which a failing case passes more often."""

    case: str
    model: str
    tool: str
    sentence: str
    before: Rate
    after: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A case that is better or worse than in an earlier report, or has no result; and the sentences that changed."""

    case: str
    model: str
    verdict: str
    before: Rate
    after: Rate
    edits: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The attempts of an evaluation.

    `definitions` has the offered tools by name. The budget did not allow `skipped` more attempts.
    """

    attempts: list[Attempt]
    definitions: dict[str, dict[str, Any]]
    skipped: int = 0
    blames: list[Blame] = field(default_factory=list)

    @property
    def judged(self) -> list[Attempt]:
        """The attempts that have a reply."""
        return [attempt for attempt in self.attempts if attempt.error is None]

    @property
    def rate(self) -> Rate:
        """The rate of all attempts."""
        return Rate.of(self.attempts)

    def groups(self, *names: str) -> dict[tuple[str, ...], list[Attempt]]:
        """Return the attempts for each value of attributes, such as `"case", "model"` or `"expected"`."""
        groups: defaultdict[tuple[str, ...], list[Attempt]] = defaultdict(list)
        for attempt in self.attempts:
            groups[tuple(getattr(attempt, name) for name in names)].append(attempt)
        return groups

    def rates(self, *names: str) -> dict[tuple[str, ...], Rate]:
        """Return the rates of `groups` that have a reply."""
        rates = ((key, Rate.of(attempts)) for key, attempts in self.groups(*names).items())
        return {key: rate for key, rate in rates if rate.total}

    def changes(self, baseline: Report) -> list[Change]:
        """Return the cases of an earlier report, for the models of this one, whose rate differs or is missing."""
        models, after = {attempt.model for attempt in self.attempts}, self.rates("case", "model")
        expected = {attempt.case: {attempt.expected, attempt.chosen} for attempt in self.judged}
        changes: list[Change] = []
        for (case, model), before in baseline.rates("case", "model").items():
            rate = after.get((case, model), Rate(0, 0))
            if model not in models or rate.compare(before) == "same":
                continue
            edits = [edit for tool in sorted(expected.get(case, ())) for edit in self._edits(baseline, tool)]
            verdict = rate.compare(before)
            changes.append(Change(case=case, model=model, verdict=verdict, before=before, after=rate, edits=edits))
        return changes

    @property
    def is_complete(self) -> bool:
        """Return whether each attempt has a reply, and there is at least one."""
        return bool(self.judged) and len(self.judged) == len(self.attempts) and not self.skipped

    def failures(self, baseline: Report) -> list[str]:
        """Return the reasons for which this report does not pass an earlier one, one per line; empty if it does."""
        errors, cases = len(self.attempts) - len(self.judged), baseline.rates("case", "model")
        reasons = [f"attempts without a reply, because their provider failed: {errors}"] * bool(errors)
        reasons += [f"attempts that the budget did not allow: {self.skipped}"] * bool(self.skipped)
        if not cases.keys() & self.rates("case", "model").keys():
            labels = sorted({model for _, model in cases})
            reasons.append(f"no result in common with the baseline, whose models are {', '.join(labels) or 'none'}")
        changes = [change for change in self.changes(baseline) if change.verdict in ("worse", "no result")]
        return reasons + [f"{change.verdict}: {change.case} ({change.model})" for change in changes]

    def _edits(self, baseline: Report, tool: str) -> list[str]:
        new, old = (sentences(report.definitions.get(tool, {}).get("description") or "") for report in (self, baseline))
        added = [f"{tool}: + {sentence}" for sentence in new if sentence not in old]
        return added + [f"{tool}: - {sentence}" for sentence in old if sentence not in new]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON; `from_dict` is the inverse."""
        totals = {"passed": self.rate.passed, "total": self.rate.total, "interval": self.rate.interval}
        return totals | asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Return the report of `to_dict`."""
        return TypeAdapter(cls).validate_python(value)
