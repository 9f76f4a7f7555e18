"""Compile a schema, subschema by subschema, into functions that explain and repair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from tools_core._jsonschema import _alternatives, _arrays, _objects, _scalars, _unevaluated
from tools_core._jsonschema._keywords import CONSTRAINTS
from tools_core._jsonschema._pointer import Schema, resolve
from tools_core._jsonschema._report import Node, Unusable

if TYPE_CHECKING:
    from tools_core._jsonschema._report import Checked
    from tools_core._values._problem import Path

Known: TypeAlias = Mapping[int, tuple[Schema, Node]]  # by the identity of the schema, which so lives as long


class Nodes:
    """The subschemas of one document that are compiled together, each once.

    Until then those that refer to themselves are incomplete, and no other thread may have them.
    """

    def __init__(self, root: Schema, known: Known) -> None:
        self.root = root
        self.known = dict(known)

    def node(self, schema: Schema) -> Node:
        """Compile `schema`, or return what was compiled of it before."""
        if schema is False:
            return refuse
        if schema is True or schema.keys().isdisjoint(CONSTRAINTS):
            return keep
        if id(schema) not in self.known:
            # A recursive schema meets itself while it is compiled: it gets a way to what will be there.
            def later(value: Any, path: Path, report: Checked) -> Any:
                return self.known[id(schema)][1](value, path, report)

            self.known[id(schema)] = schema, later
            self.known[id(schema)] = schema, self._build(schema)
        return self.known[id(schema)][1]

    def _build(self, schema: dict[str, Any]) -> Node:
        typed = _scalars.typed(schema, self.root) if "type" in schema else keep
        steps = [step for step in self._steps(schema) if step is not keep]
        left = list(_unevaluated.steps(schema, self.root, self.node))
        return _sequence(typed, steps, left) if steps or left else typed

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


def _sequence(typed: Node, steps: list[Node], left: list[Node]) -> Node:
    """Run the type, then `steps`, then what depends on all that the others looked at."""
    if typed is keep and not left and len(steps) == 1:
        return steps[0]

    def run(value: Any, path: Path, report: Checked) -> Any:
        before = len(report.problems)
        value = typed(value, path, report)
        if len(report.problems) != before:
            return value  # a value of the wrong type has no further problems
        for step in steps:
            value = step(value, path, report)
        if left and len(report.problems) == before:
            for step in left:
                value = step(value, path, report)
        return value

    return run
