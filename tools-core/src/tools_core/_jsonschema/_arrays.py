"""The keywords that look at the items of an array."""

from __future__ import annotations

from tools_core._jsonschema._describe import describe, extent
from tools_core._jsonschema._report import attempt
from tools_core._jsonschema._scalars import rule, sizes
from tools_core._jsonschema._value import distinct

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tools_core._jsonschema._nodes import Nodes
    from tools_core._jsonschema._report import Checked, Node
    from tools_core._values._problem import Path


def steps(schema: dict[str, Any], nodes: Nodes) -> Iterator[Node]:
    """Compile every keyword for arrays that `schema` has."""
    if "prefixItems" in schema or "items" in schema:
        yield _items(
            [nodes.node(part) for part in schema.get("prefixItems", ())],
            nodes.node(schema.get("items", True)),
        )
    yield from sizes((list,), schema, "minItems", "maxItems", "item")
    if schema.get("uniqueItems"):
        yield rule((list,), distinct, "must not have equal items")
    if "contains" in schema:
        yield _contains(schema, nodes)


def _items(prefix: list[Node], rest: Node) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) is not list:
            return value
        out = value
        for index, item in enumerate(value):
            node = prefix[index] if index < len(prefix) else rest
            new = node(item, (path, index), report)
            if new is not item:
                out = list(value) if out is value else out
                out[index] = new
        return out

    return step


def _contains(schema: dict[str, Any], nodes: Nodes) -> Node:
    node = nodes.node(schema["contains"])
    least, most = schema.get("minContains", 1), schema.get("maxContains")
    wanted = f"{extent(least, most, 'item')} fitting: {describe(schema['contains'], nodes.root)}"

    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) is list:
            found = sum(attempt(node, item, report)[0] for item in value)
            if found < least or (most is not None and found > most):
                report.say(path, f"must have {wanted}, got {found}")
        return value

    return step
