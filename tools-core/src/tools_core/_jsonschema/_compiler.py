"""Compile a schema, subschema by subschema, into functions that report problems and repair values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools_core._jsonschema import _alternatives, _containers, _scalars, _unevaluated
from tools_core._jsonschema._keywords import CONSTRAINTS
from tools_core._jsonschema._report import Node, Report, Unusable
from tools_core._jsonschema._types import Schema, resolve
from tools_core._values._problem import Path


class Compiler:
    """Compiles the subschemas of one document."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.references: dict[str, Node] = {}

    def node(self, schema: Schema) -> Node:
        """Compile `schema`."""
        if schema is False:
            return refuse
        if schema is True or schema.keys().isdisjoint(CONSTRAINTS):
            return keep
        typed = _scalars.typed(schema, self.root) if "type" in schema else keep
        steps = [step for step in self._steps(schema) if step is not keep]
        return _sequence(typed, steps) if steps else typed

    def _steps(self, schema: dict[str, Any]) -> Iterator[Node]:
        yield from _scalars.steps(schema)
        if "$ref" in schema:
            yield self._target(schema["$ref"])
        for part in schema.get("allOf", ()):
            yield self.node(part)
        yield from _containers.object_steps(schema, self.root, self.node)
        yield from _containers.array_steps(schema, self.root, self.node)
        yield from _alternatives.steps(schema, self.root, self.node)
        yield from _unevaluated.steps(schema, self.root, self.node)

    def _target(self, reference: str) -> Node:
        """Compile a reference; it applies to each place of a value once, even if two parts of a schema have it."""
        if reference not in self.references:

            def follow(value: Any, path: Path, report: Report) -> Any:
                visited = report.visited = report.visited or {}
                key = reference, path
                if key not in visited or visited[key] is not value:
                    value = visited[key] = target(value, path, report)
                return value

            self.references[reference] = follow  # before its target, which may refer to it
            target = self.node(resolve(self.root, reference))
        return self.references[reference]


def keep(value: Any, _path: Path, _report: Report) -> Any:
    """Accept any value: the schema `true`."""
    return value


def refuse(value: Any, path: Path, report: Report) -> Any:
    """Refuse any value: the schema `false`."""
    if type(value) is not Unusable:
        report.add_problem(path, "is not allowed")
    return value


def _sequence(typed: Node, steps: list[Node]) -> Node:
    """Run the type, then `steps`."""
    if typed is keep and len(steps) == 1:
        return steps[0]

    def run(value: Any, path: Path, report: Report) -> Any:
        before = len(report.problems)
        value = typed(value, path, report)
        if len(report.problems) != before:
            return value  # a value of the wrong type has no further problems
        for step in steps:
            value = step(value, path, report)
        return value

    return run
