"""One rule: its conditions on a call, and the decision when all of them hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import inf
from typing import TYPE_CHECKING, Any

from tools_runtime._policy._facts import UNKNOWN, Facts
from tools_runtime._policy._patterns import allows_commands, concerns_commands, matches_path, may_match_below

if TYPE_CHECKING:
    from tools_runtime._policy._decision import Outcome
    from tools_runtime._policy._patterns import Match

# On an argument: one of some values; or { glob = "..." }, or { min = 1, max = 10 }.
Condition = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a policy. All its conditions must hold; an empty condition always holds.

    To allow, a rule must cover every path and command of the call; to deny or ask, any one of them.
    """

    decision: Outcome
    source: str
    number: int
    text: str
    tools: Sequence[str] = ()
    hints: Mapping[str, bool] = field(default_factory=dict)
    paths: Sequence[str] = ()
    commands: Sequence[str] = ()
    arguments: Mapping[str, Condition] = field(default_factory=dict)
    reason: str = ""

    def __str__(self) -> str:
        return f"rule {self.number} of {self.source}"

    def concerns_tool(self, name: str) -> bool:
        """Return whether the rule is for tools of this name."""
        return not self.tools or any(fnmatchcase(name, pattern) for pattern in self.tools)

    def match(self, facts: Facts) -> Match:
        """Return whether the rule matches a call; `perhaps` if a fact is unknown."""
        if not self.concerns_tool(facts.tool.name):
            return "no"
        if any(facts.hints[name] is not value for name, value in self.hints.items()):
            return "no"
        parts = [self._match_arguments(facts), self._match_paths(facts), self._match_commands(facts)]
        return "no" if "no" in parts else "perhaps" if "perhaps" in parts else "yes"

    def _match_arguments(self, facts: Facts) -> Match:
        some = all if self.decision == "allow" else any
        match: Match = "yes"
        for name, condition in self.arguments.items():
            value = facts.values.get(name, [])
            values = value if isinstance(value, list) else [value]
            if value is UNKNOWN:
                match = "perhaps"
            elif not values or not some(_holds(condition, item) for item in values):
                return "no"
        return match

    def _match_paths(self, facts: Facts) -> Match:
        paths = facts.effects.paths
        if not self.paths:
            return "yes"
        if paths is None:
            return "perhaps"
        some = all if self.decision == "allow" else any
        covered = [any(matches_path(pattern, path, facts.workspace) for pattern in self.paths) for path in paths]
        if covered and some(covered):
            return "yes"
        return "perhaps" if self.decision != "allow" and self.folder_above(facts) else "no"

    def folder_above(self, facts: Facts) -> str:
        """Return a folder that the call names and that may contain files of this rule; empty without one."""
        pairs = ((path, pattern) for path in facts.effects.paths or () for pattern in self.paths)
        return next((path for path, pattern in pairs if may_match_below(pattern, path, facts.workspace)), "")

    def _match_commands(self, facts: Facts) -> Match:
        commands = facts.effects.commands
        if not self.commands:
            return "yes"
        if commands is None:
            return "perhaps"
        if self.decision != "allow":
            return concerns_commands(self.commands, commands)
        return "yes" if allows_commands(self.commands, commands) else "no"


def _holds(condition: Condition, value: Any) -> bool:
    """Return whether a single value fits; as in JSON, true is not 1."""
    if not isinstance(condition, Mapping):
        return any(
            isinstance(value, bool) == isinstance(expected, bool) and value == expected for expected in condition
        )
    if "glob" in condition:
        return isinstance(value, str) and fnmatchcase(value, condition["glob"])
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and condition.get("min", -inf) <= value <= condition.get("max", inf)
