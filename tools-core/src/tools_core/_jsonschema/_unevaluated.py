"""`unevaluatedProperties` and `unevaluatedItems`: what no other keyword looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from tools_core._jsonschema._examine import in_place
from tools_core._jsonschema._objects import report_unknown
from tools_core._jsonschema._pointer import Schema, resolve
from tools_core._jsonschema._regex import translate
from tools_core._jsonschema._report import Checked, Compile, Node, fits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools_core._values._problem import Path

# The keys or indices of a value that a schema looked at, provided that the value fits the schema.
Looked: TypeAlias = Callable[[Any, Checked], set[Any]]
Own: TypeAlias = Callable[[dict[str, Any], Compile], Looked]


def steps(schema: dict[str, Any], root: Schema, node: Compile) -> Iterator[Node]:
    """Compile both keywords where `schema` has them."""
    own: Own
    for keyword, kind, own in (("unevaluatedProperties", dict, _own_members), ("unevaluatedItems", list, _own_items)):
        if keyword in schema:
            others = {key: value for key, value in schema.items() if key != keyword}
            names = list(dict.fromkeys(_names(schema, root))) if schema[keyword] is False and kind is dict else None
            yield _rest(kind, node(schema[keyword]), _looked(others, root, node, own), names)


def _rest(kind: type[Any], node: Node, looked: Looked, names: list[str] | None) -> Node:
    """Check the parts that are left; `names` are those of the known members where no other is allowed."""

    def step(value: Any, path: Path, report: Checked) -> Any:
        if not isinstance(value, kind):
            return value
        seen = looked(value, report)
        left: list[Any] = [key for key in (value if kind is dict else range(len(value))) if key not in seen]
        if names is not None:
            report_unknown(left, value, names, path, report)
            return value
        new = {key: node(value[key], (path, key), report) for key in left}
        if all(new[key] is value[key] for key in left):
            return value
        return {**value, **new} if kind is dict else [new.get(index, item) for index, item in enumerate(value)]

    return step


def _looked(schema: dict[str, Any], root: Schema, node: Compile, own: Own) -> Looked:
    """Compile what `schema` looks at: by its own keywords, and by every subschema that the value fits."""

    def inner(part: Schema) -> Looked:
        return _looked(part, root, node, own) if isinstance(part, dict) else lambda _value, _report: set()

    always = [own(schema, node), *map(inner, schema.get("allOf", ()))]
    if "$ref" in schema:
        always.append(inner(resolve(root, schema["$ref"])))
    maybe = [(node(part), inner(part)) for key in ("anyOf", "oneOf") for part in schema.get(key, ())]
    dependent = [(key, inner(part)) for key, part in schema.get("dependentSchemas", {}).items()]
    condition = node(schema.get("if", False))
    tested, then, otherwise = (inner(schema.get(key, False)) for key in ("if", "then", "else"))

    def looked(value: Any, report: Checked) -> set[Any]:
        out: set[Any] = set().union(*(part(value, report) for part in always))
        for check, part in maybe:
            if fits(check, value, report):
                out |= part(value, report)
        for key, part in dependent:
            if type(value) is dict and key in value:
                out |= part(value, report)
        if "if" in schema and fits(condition, value, report):
            out |= tested(value, report) | then(value, report)
        elif "if" in schema:
            out |= otherwise(value, report)
        return out

    return looked


def _own_members(schema: dict[str, Any], _node: Compile) -> Looked:
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return lambda value, _report: set(value)
    names = schema.get("properties", {}).keys()
    searches = [translate(pattern).search for pattern in schema.get("patternProperties", ())]
    return lambda value, _report: {key for key in value if key in names or any(search(key) for search in searches)}


def _own_items(schema: dict[str, Any], node: Compile) -> Looked:
    if "items" in schema or "unevaluatedItems" in schema:
        return lambda value, _report: set(range(len(value)))
    prefix = len(schema.get("prefixItems", ()))
    contained = node(schema.get("contains", False))
    return lambda value, report: {
        index for index, item in enumerate(value) if index < prefix or fits(contained, item, report)
    }


def _names(schema: Schema, root: Schema) -> Iterator[str]:
    """Yield the names of all members that `schema` knows, for the message about an unknown one."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        for part in in_place(root, schema):
            yield from _names(part, root)
