"""The keywords that apply subschemas to the same value: anyOf, oneOf, not, if."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools_core._jsonschema._describe import WrongChoice, describe
from tools_core._jsonschema._plain_json import equality_key
from tools_core._jsonschema._report import Compile, Node, Report, Unusable, fits
from tools_core._jsonschema._types import Schema, accepted_classes, tags
from tools_core._values._problem import MESSAGE_LIMIT, Path, clip

# Alternatives that nest deeper are neither repaired nor explained: each level multiplies the work.
_MAX_LEVEL = 4


def steps(schema: dict[str, Any], root: Schema, node: Compile) -> Iterator[Node]:
    """Compile every such keyword that `schema` has."""
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            branches = [_Branch(part, root, node(part)) for part in schema[keyword]]
            expected = f"must be {describe({keyword: schema[keyword]}, root)}"
            yield _Alternatives(branches, expected, exactly_one=keyword == "oneOf").step
    if "not" in schema:
        yield _negation(node(schema["not"]), f"must not be {describe(schema['not'], root)}")
    if "if" in schema:
        yield _conditional(*(node(schema.get(key, True)) for key in ("if", "then", "else")))


class _Branch:
    def __init__(self, schema: Schema, root: Schema, node: Node) -> None:
        self.node = node
        self.classes = accepted_classes(schema, root)
        self.tags = tags(schema, root)
        self.words = describe(schema, root)

    def wrong_tag(self, value: Any) -> str | None:
        """Return the member whose value belongs to another branch."""
        if type(value) is dict:
            for key, allowed in self.tags.items():
                if key in value and equality_key(value[key]) not in map(equality_key, allowed):
                    return key
        return None


class _Alternatives:
    def __init__(self, branches: list[_Branch], expected: str, *, exactly_one: bool) -> None:
        self.branches = branches
        self.expected = expected
        self.exactly_one = exactly_one

    def step(self, value: Any, path: Path, report: Report) -> Any:
        """Apply the first branch that accepts the value; else repair it for a branch, or explain."""
        if type(value) is Unusable:
            return value
        matches = [branch for branch in self.branches if fits(branch.node, value, report)]
        if self.exactly_one and len(matches) > 1:
            words = "; ".join(branch.words for branch in matches)
            text = f"must match exactly one alternative, matches {len(matches)}: {words}"
            report.add_problem(path, clip(text, MESSAGE_LIMIT))
            return value
        if matches:
            return matches[0].node(value, path, report)
        if report.repair:
            candidates = [branch for branch in self.branches if type(value) is str or type(value) in branch.classes]
            repaired = [trial for trial in _try(candidates, value, path, report) if not trial.problems]
            if len(repaired) == 1 or (repaired and not self.exactly_one):
                report.repairs += repaired[0].repairs
                return repaired[0].value
        self.explain(value, path, report)
        return value

    def explain(self, value: Any, path: Path, report: Report) -> None:
        """Report the problems of the branch that was probably intended, judging by type and tags."""
        candidates = [branch for branch in self.branches if type(value) in branch.classes]
        intended = [branch for branch in candidates if branch.wrong_tag(value) is None]
        if not candidates:
            report.add_problem(path, self.expected, value)
        elif not intended:
            key = candidates[0].wrong_tag(value) or ""
            allowed = [tag for branch in candidates for tag in branch.tags.get(key, ())]
            report.add_problem((path, key), WrongChoice(allowed, value[key]), value[key])
        elif len(intended) == 1:
            intended[0].node(value, path, report)
        else:
            trials = _try(intended, value, path, report)
            reasons = dict.fromkeys(str(trial.problems[0]) for trial in trials if trial.problems)
            words = "; ".join(reasons or [branch.words for branch in intended])
            report.add_problem(path, clip(f"matches none of the {len(intended)} alternatives: {words}", MESSAGE_LIMIT))


def _try(branches: list[_Branch], value: Any, path: Path, report: Report) -> list[Report]:
    """Run each branch with a separate report; none if alternatives nest too deeply."""
    attempts = report.attempts
    if attempts.level >= _MAX_LEVEL and len(branches) > 1:
        return []
    attempts.level += 1
    trials = [report.trial(value, report.repair) for _ in branches]
    for branch, trial in zip(branches, trials, strict=True):
        trial.value = branch.node(value, path, trial)
    attempts.level -= 1
    return trials


def _negation(node: Node, expected: str) -> Node:
    def step(value: Any, path: Path, report: Report) -> Any:
        if fits(node, value, report):
            report.add_problem(path, expected, value)
        return value

    return step


def _conditional(condition: Node, then: Node, otherwise: Node) -> Node:
    def step(value: Any, path: Path, report: Report) -> Any:
        return (then if fits(condition, value, report) else otherwise)(value, path, report)

    return step
