"""Compile a schema, subschema by subschema, into functions that explain and repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._jsonschema import _alternatives, _arrays, _objects, _scalars
from tools_core._jsonschema._keywords import CONSTRAINTS
from tools_core._jsonschema._pointer import Schema, resolve
from tools_core._jsonschema._report import Node, Unusable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core._jsonschema._report import Checked
    from tools_core._values._problem import Path


class Nodes:
    """The compiled subschemas of one document."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.known: dict[int, Node] = {}  # by the identity of the subschema

    def node(self, schema: Schema) -> Node:
        """Compile `schema`, or return what was compiled of it before."""
        if schema is False:
            return refuse
        if schema is True or schema.keys().isdisjoint(CONSTRAINTS):
            return keep
        if id(schema) not in self.known:
            # A recursive schema meets itself while it is compiled: it gets a way to what will be there.
            def later(value: Any, path: Path, report: Checked) -> Any:
                return self.known[id(schema)](value, path, report)

            self.known[id(schema)] = later
            typed = _scalars.typed(schema, self.root) if "type" in schema else keep
            steps = [step for step in self._steps(schema) if step is not keep]
            self.known[id(schema)] = _sequence(typed, steps) if steps else typed
        return self.known[id(schema)]

    def _steps(self, schema: dict[str, Any]) -> Iterator[Node]:
        yield from _scalars.steps(schema, self.root)
        if "$ref" in schema:
            yield self.node(resolve(self.root, schema["$ref"]))
        for part in schema.get("allOf", ()):
            yield self.node(part)
        for group in (_objects, _arrays, _alternatives):
            yield from group.steps(schema, self.root, self.node)


def keep(value: Any, _path: Path, _report: Checked) -> Any:
    """Take any value: the schema `true`."""
    return value


def refuse(value: Any, path: Path, report: Checked) -> Any:
    """Take no value: the schema `false`."""
    if type(value) is not Unusable:
        report.say(path, "is not allowed")
    return value


def _sequence(typed: Node, steps: list[Node]) -> Node:
    """Run the type, then `steps`."""
    if typed is keep and len(steps) == 1:
        return steps[0]

    def run(value: Any, path: Path, report: Checked) -> Any:
        before = len(report.problems)
        value = typed(value, path, report)
        if len(report.problems) != before:
            return value  # a value of the wrong type has no further problems
        for step in steps:
            value = step(value, path, report)
        return value

    return run
