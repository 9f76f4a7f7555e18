"""The keywords that try subschemas on the same value: anyOf, oneOf, not, if."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._describe import describe, one_of
from tools_core._jsonschema._kinds import kinds, tags
from tools_core._jsonschema._report import Unusable, fits
from tools_core._jsonschema._value import frozen
from tools_core._values._problem import MESSAGE_LIMIT, clip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core._jsonschema._pointer import Schema
    from tools_core._jsonschema._report import Checked, Compile, Node
    from tools_core._values._problem import Path

# Alternatives nested deeper are neither repaired nor explained: each level multiplies the work.
_LEVEL_LIMIT = 4


def steps(schema: dict[str, Any], root: Schema, node: Compile) -> Iterator[Node]:
    """Compile every such keyword that `schema` has."""
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            branches = [_Branch(part, root, node(part)) for part in schema[keyword]]
            expected = f"must be {describe({keyword: schema[keyword]}, root)}"
            yield _Alternatives(branches, expected, single=keyword == "oneOf").step
    if "not" in schema:
        yield _unless(node(schema["not"]), f"must not be {describe(schema['not'], root)}")
    if "if" in schema:
        yield _conditional(*(node(schema.get(key, True)) for key in ("if", "then", "else")))


class _Branch:
    def __init__(self, schema: Schema, root: Schema, node: Node) -> None:
        self.node = node
        self.kinds = kinds(schema, root)
        self.tags = tags(schema, root)
        self.words = describe(schema, root)

    def wrong_tag(self, value: Any) -> str | None:
        """Return the member by which `value` shows that it means another branch."""
        if type(value) is dict:
            for key, allowed in self.tags.items():
                if key in value and frozen(value[key]) not in map(frozen, allowed):
                    return key
        return None


class _Alternatives:
    def __init__(self, branches: list[_Branch], expected: str, single: bool) -> None:
        self.branches = branches
        self.expected = expected
        self.single = single  # oneOf: exactly one branch may fit

    def step(self, value: Any, path: Path, report: Checked) -> Any:
        """Return the value as the first branch that fits has it, else repair it for a branch, else explain."""
        if type(value) is Unusable:
            return value
        fitting = [branch for branch in self.branches if fits(branch.node, value, report)]
        if self.single and len(fitting) > 1:
            words = "; ".join(branch.words for branch in fitting)
            report.say(path, clip(f"must fit one alternative only, and fits {len(fitting)}: {words}", MESSAGE_LIMIT))
            return value
        if fitting:
            return fitting[0].node(value, path, report)
        if report.repair:
            near = [branch for branch in self.branches if type(value) is str or type(value) in branch.kinds]
            good = [trial for trial in _tried(near, value, path, report) if not trial.problems]
            if len(good) == 1 or (good and not self.single):
                report.repairs += good[0].repairs
                return good[0].value
        self.explain(value, path, report)
        return value

    def explain(self, value: Any, path: Path, report: Checked) -> None:
        """Report what is wrong by the branch that was meant, as far as kind and tags tell it."""
        near = [branch for branch in self.branches if type(value) in branch.kinds]
        meant = [branch for branch in near if branch.wrong_tag(value) is None]
        if not near:
            report.fail(path, self.expected, value)
        elif not meant:
            key = near[0].wrong_tag(value) or ""
            allowed = [tag for branch in near for tag in branch.tags.get(key, ())]
            report.fail((path, key), f"must be {one_of(allowed)}", value[key])
        elif len(meant) == 1:
            meant[0].node(value, path, report)
        else:
            trials = _tried(meant, value, path, report)
            reasons = dict.fromkeys(str(trial.problems[0]) for trial in trials if trial.problems)
            words = "; ".join(reasons or [branch.words for branch in meant])
            report.say(path, clip(f"fits none of the {len(meant)} alternatives: {words}", MESSAGE_LIMIT))


def _tried(branches: list[_Branch], value: Any, path: Path, report: Checked) -> list[Checked]:
    """Run each branch with a separate report; none where alternatives nest too deep."""
    attempts = report.attempts
    if attempts.level >= _LEVEL_LIMIT and len(branches) > 1:
        return []
    attempts.level += 1
    trials = [report.trial(value, report.repair) for _ in branches]
    for branch, trial in zip(branches, trials, strict=True):
        trial.value = branch.node(value, path, trial)
    attempts.level -= 1
    return trials


def _unless(node: Node, expected: str) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        if fits(node, value, report):
            report.fail(path, expected, value)
        return value

    return step


def _conditional(condition: Node, then: Node, otherwise: Node) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        return (then if fits(condition, value, report) else otherwise)(value, path, report)

    return step
