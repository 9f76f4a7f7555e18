"""`unevaluatedProperties` and `unevaluatedItems`: what no other keyword looked at."""

from __future__ import annotations

from tools_core._jsonschema._examine import in_place
from tools_core._jsonschema._objects import report_unknown
from tools_core._jsonschema._pointer import resolve
from tools_core._jsonschema._regex import translate
from tools_core._jsonschema._report import attempt

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    from tools_core._jsonschema._nodes import Nodes
    from tools_core._jsonschema._pointer import Schema
    from tools_core._jsonschema._report import Checked, Node
    from tools_core._values._problem import Path

# The keys or indices of a value that a schema looked at, provided that the value fits the schema.
Looked: TypeAlias = "Callable[[Any, Checked], set[Any]]"


def steps(schema: dict[str, Any], nodes: Nodes) -> Iterator[Node]:
    """Compile both keywords where `schema` has them."""
    if "unevaluatedProperties" in schema:
        yield _members(schema, nodes)
    if "unevaluatedItems" in schema:
        yield _items(schema, nodes)


def _members(schema: dict[str, Any], nodes: Nodes) -> Node:
    rest = schema["unevaluatedProperties"]
    node = nodes.node(rest)
    looked = _looked(_without(schema, "unevaluatedProperties"), nodes, _own_members)
    names = list(dict.fromkeys(_names(schema, nodes.root)))

    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) is not dict:
            return value
        seen = looked(value, report)
        left = [key for key in value if key not in seen]
        if rest is False:
            report_unknown(left, value, names, path, report)
            return value
        new = {key: node(value[key], (path, key), report) for key in left}
        return value if all(new[key] is value[key] for key in left) else {**value, **new}

    return step


def _items(schema: dict[str, Any], nodes: Nodes) -> Node:
    node = nodes.node(schema["unevaluatedItems"])
    looked = _looked(_without(schema, "unevaluatedItems"), nodes, _own_items)

    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) is not list:
            return value
        seen = looked(value, report)
        new = [item if i in seen else node(item, (path, i), report) for i, item in enumerate(value)]
        return value if all(map(lambda a, b: a is b, new, value)) else new

    return step


def _without(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != keyword}


def _looked(schema: Schema, nodes: Nodes, own: Callable[[dict[str, Any], Nodes], Looked]) -> Looked:
    """Compile what `schema` looks at: by its own keywords, and by every subschema that the value fits."""
    if isinstance(schema, bool):
        return lambda _value, _report: set()
    always = [own(schema, nodes)]
    if "$ref" in schema:
        always.append(_looked(resolve(nodes.root, schema["$ref"]), nodes, own))
    always += [_looked(part, nodes, own) for part in schema.get("allOf", ())]
    maybe = [
        (nodes.node(part), _looked(part, nodes, own)) for key in ("anyOf", "oneOf") for part in schema.get(key, ())
    ]
    dependent = [(key, _looked(part, nodes, own)) for key, part in schema.get("dependentSchemas", {}).items()]
    condition = nodes.node(schema.get("if", False))
    tested, then, otherwise = (_looked(schema.get(key, False), nodes, own) for key in ("if", "then", "else"))

    def looked(value: Any, report: Checked) -> set[Any]:
        out: set[Any] = set().union(*(part(value, report) for part in always))
        for node, part in maybe:
            if attempt(node, value, report)[0]:
                out |= part(value, report)
        for key, part in dependent:
            if type(value) is dict and key in value:
                out |= part(value, report)
        if "if" in schema and attempt(condition, value, report)[0]:
            out |= tested(value, report) | then(value, report)
        elif "if" in schema:
            out |= otherwise(value, report)
        return out

    return looked


def _own_members(schema: dict[str, Any], _nodes: Nodes) -> Looked:
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return lambda value, _report: set(value)
    names = schema.get("properties", {}).keys()
    searches = [translate(pattern).search for pattern in schema.get("patternProperties", ())]
    return lambda value, _report: {key for key in value if key in names or any(search(key) for search in searches)}


def _own_items(schema: dict[str, Any], nodes: Nodes) -> Looked:
    if "items" in schema or "unevaluatedItems" in schema:
        return lambda value, _report: set(range(len(value)))
    prefix = len(schema.get("prefixItems", ()))
    if "contains" not in schema:
        return lambda value, _report: set(range(min(prefix, len(value))))
    node = nodes.node(schema["contains"])
    return lambda value, report: {
        index for index, item in enumerate(value) if index < prefix or attempt(node, item, report)[0]
    }


def _names(schema: Schema, root: Schema) -> Iterator[str]:
    """Yield the names of all members that `schema` knows, for the message about an unknown one."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        for part in in_place(root, schema):
            yield from _names(part, root)
