"""One rule: what must hold of a call, and what is decided then."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from tools_runtime._policy._paths import matches_path
from tools_runtime._policy._words import allows, concerns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools_runtime._policy._facts import Facts
    from tools_runtime._policy._words import Match

Outcome = Literal["allow", "ask", "deny"]
STRICTNESS: Mapping[Outcome, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a value must be: one of some values, text of some form, or a number between two."""

    values: Sequence[Any] = ()
    glob: str | None = None
    min: float | None = None
    max: float | None = None

    def holds(self, value: Any) -> bool:
        """Whether a single value is within them."""
        if self.glob is not None:
            return isinstance(value, str) and fnmatchcase(value, self.glob)
        if self.min is None and self.max is None:
            return any(_equal(value, each) for each in self.values)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a policy. All its conditions must hold; those that are empty say nothing.

    To allow, a rule must hold of every path and command of the call; to deny or ask, of any one of them.
    """

    decision: Outcome
    source: str
    number: int
    text: str
    tools: Sequence[str] = ()
    annotations: Mapping[str, bool] = field(default_factory=dict)
    paths: Sequence[str] = ()
    commands: Sequence[str] = ()
    arguments: Mapping[str, Bounds] = field(default_factory=dict)
    reason: str = ""

    @property
    def is_narrow(self) -> bool:
        """Whether it looks at what a tool is called with."""
        return bool(self.paths or self.commands or self.arguments)

    def __str__(self) -> str:
        return f"rule {self.number} of {self.source}"

    def match(self, facts: Facts) -> Match:
        """Whether the rule holds of a call; `perhaps` where what the call comes to cannot be known."""
        if not self._concerns_tool(facts) or not self._concerns_hints(facts):
            return "no"
        parts = [self._match_arguments(facts), self._match_paths(facts), self._match_commands(facts)]
        return "no" if "no" in parts else "perhaps" if "perhaps" in parts else "yes"

    def _concerns_tool(self, facts: Facts) -> bool:
        return not self.tools or any(fnmatchcase(name, each) for name in facts.names for each in self.tools)

    def _concerns_hints(self, facts: Facts) -> bool:
        """What is not said counts as the worse, as in the protocols that these hints come from."""
        told = facts.annotations
        reads = told.get("read_only", False)
        known = {
            "read_only": reads,
            "destructive": told.get("destructive", not reads),
            "idempotent": told.get("idempotent", False),
            "open_world": told.get("open_world", True),
        }
        return all(known[name] is value for name, value in self.annotations.items())

    def _match_arguments(self, facts: Facts) -> Match:
        some = all if self.decision == "allow" else any
        match: Match = "yes"
        for name, bounds in self.arguments.items():
            try:
                value = facts.argument(name)
            except KeyError:
                if name not in facts.untold:
                    return "no"
                match = "perhaps"
                continue
            values = value if isinstance(value, list) else [value]
            if not values or not some(bounds.holds(each) for each in values):
                return "no"
        return match

    def _match_paths(self, facts: Facts) -> Match:
        if not self.paths:
            return "yes"
        if facts.paths is None:
            return "perhaps"
        some = all if self.decision == "allow" else any
        covered = [any(matches_path(each, path, facts.workspace) for each in self.paths) for path in facts.paths]
        return "yes" if covered and some(covered) else "no"

    def _match_commands(self, facts: Facts) -> Match:
        if not self.commands:
            return "yes"
        if self.decision != "allow":
            return concerns(self.commands, facts.commands)
        return "yes" if allows(self.commands, facts.commands) else "no"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided about a call: the outcome, the rule that says so (None for the default), and why."""

    outcome: Outcome
    rule: Rule | None
    reasons: Sequence[str]
    facts: Facts

    @property
    def by(self) -> str:
        """The rule, or the default."""
        return "the default" if self.rule is None else str(self.rule)


def _equal(value: Any, wanted: Any) -> bool:
    """Equality as in JSON: true is no number."""
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)
