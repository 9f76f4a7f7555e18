"""The keywords that look at the items of an array."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._describe import describe, extent
from tools_core._jsonschema._report import fits
from tools_core._jsonschema._scalars import rule, sizes
from tools_core._jsonschema._value import distinct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core._jsonschema._pointer import Schema
    from tools_core._jsonschema._report import Checked, Compile, Node
    from tools_core._values._problem import Path


def steps(schema: dict[str, Any], root: Schema, node: Compile) -> Iterator[Node]:
    """Compile every keyword for arrays that `schema` has."""
    if "prefixItems" in schema or "items" in schema:
        yield _items([node(part) for part in schema.get("prefixItems", ())], node(schema.get("items", True)))
    yield from sizes((list,), schema, "minItems", "maxItems", "item")
    if schema.get("uniqueItems"):
        yield rule((list,), distinct, "must not have equal items")
    if "contains" in schema:
        least, most = schema.get("minContains", 1), schema.get("maxContains")
        wanted = f"{extent(least, most, 'item')} fitting: {describe(schema['contains'], root)}"
        yield _contains(node(schema["contains"]), least, most, wanted)


def _items(prefix: list[Node], rest: Node) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) is not list:
            return value
        out = []
        for index, item in enumerate(value):
            node = prefix[index] if index < len(prefix) else rest
            out.append(node(item, (path, index), report))
        return value if all(map(operator.is_, out, value)) else out

    return step


def _contains(node: Node, least: float, most: float | None, wanted: str) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) is list:
            found = sum(fits(node, item, report) for item in value)
            if found < least or (most is not None and found > most):
                report.say(path, f"must have {wanted}, got {found}")
        return value

    return step
