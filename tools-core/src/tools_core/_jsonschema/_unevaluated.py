"""`unevaluatedProperties` and `unevaluatedItems`: members and items that no other keyword covers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

from tools_core._jsonschema._containers import report_unknown
from tools_core._jsonschema._patterns import search_of
from tools_core._jsonschema._report import Compile, Node, Report, fits
from tools_core._jsonschema._types import Schema, flatten, resolve
from tools_core._values._problem import Path

# Adds the members, or the positions of the items, that a schema covers in a value.
Collect: TypeAlias = Callable[[Any, Report, set[Any]], None]


def steps(schema: dict[str, Any], root: Any, node: Compile) -> Iterator[Node]:
    """Compile both keywords; they run after all others."""
    if "unevaluatedProperties" in schema:
        collect = _Collectors(root, node).collector(schema, is_own=True)
        names = sorted({name for part in flatten(schema, root) for name in part.get("properties", ())})
        yield _members(collect, schema["unevaluatedProperties"], node, names)
    if "unevaluatedItems" in schema:
        yield _items(_Collectors(root, node).collector(schema, is_own=True), node(schema["unevaluatedItems"]))


def _members(collect: Collect, rest: Schema, node: Compile, names: list[str]) -> Node:
    check = node(rest)

    def step(value: Any, path: Path, report: Report) -> Any:
        if type(value) is not dict:
            return value
        covered: set[Any] = set()
        collect(value, report, covered)
        others = [key for key in value if key not in covered]
        if rest is False:
            report_unknown(others, value, names, path, report)
            return value
        new = {key: check(value[key], (path, key), report) for key in others}
        return value if all(new[key] is value[key] for key in others) else {**value, **new}

    return step


def _items(collect: Collect, check: Node) -> Node:
    def step(value: Any, path: Path, report: Report) -> Any:
        if type(value) is not list:
            return value
        covered: set[Any] = set()
        collect(value, report, covered)
        new = [item if index in covered else check(item, (path, index), report) for index, item in enumerate(value)]
        return value if all(a is b for a, b in zip(new, value, strict=True)) else new

    return step


class _Collectors:
    """Compiles the collectors of one document, one for each subschema."""

    def __init__(self, root: Schema, node: Compile) -> None:
        self._root = root
        self._node = node
        self._made: dict[int, Collect] = {}

    def collector(self, schema: Schema, *, is_own: bool = False) -> Collect:
        """Return the collector of a schema; `is_own` leaves out its own unevaluated keywords."""
        if not isinstance(schema, dict):
            return _nothing
        key = id(schema)
        if key not in self._made:
            self._made[key] = _nothing  # of a schema that refers to itself
            parts = [*self._direct(schema, is_own=is_own), *self._applied(schema)]

            def collect(value: Any, report: Report, covered: set[Any]) -> None:
                for part in parts:
                    part(value, report, covered)

            self._made[key] = collect
        return partial(self._run, key)

    def _run(self, key: int, value: Any, report: Report, covered: set[Any]) -> None:
        self._made[key](value, report, covered)

    def _direct(self, schema: dict[str, Any], *, is_own: bool) -> Iterator[Collect]:
        """Yield what the keywords for members and items cover."""
        names = schema.get("properties", {}).keys()
        patterns = [search_of(pattern) for pattern in schema.get("patternProperties", ())]
        all_members = "additionalProperties" in schema or ("unevaluatedProperties" in schema and not is_own)
        all_items = "items" in schema or ("unevaluatedItems" in schema and not is_own)
        first = len(schema.get("prefixItems", ()))
        contained = self._node(schema["contains"]) if "contains" in schema else None

        def collect(value: Any, report: Report, covered: set[Any]) -> None:
            if type(value) is dict:
                covered.update(
                    key for key in value if all_members or key in names or any(search(key) for search in patterns)
                )
            elif type(value) is list:
                covered.update(range(len(value) if all_items else min(first, len(value))))
                if contained is not None:
                    covered.update(index for index, item in enumerate(value) if fits(contained, item, report))

        yield collect

    def _applied(self, schema: dict[str, Any]) -> Iterator[Collect]:
        """Yield what the subschemas that apply to the same value cover."""
        if "$ref" in schema:
            yield self.collector(resolve(self._root, schema["$ref"]))
        for part in schema.get("allOf", ()):
            yield self.collector(part)
        for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            yield _if(self._fitting(part), self.collector(part))
        for key, part in schema.get("dependentSchemas", {}).items():
            yield _if(_has(key), self.collector(part))
        if "if" in schema:
            condition = self._fitting(schema["if"])
            yield _if(condition, self.collector(schema["if"]))
            yield _if(condition, self.collector(schema.get("then", True)))
            yield _if(condition, self.collector(schema.get("else", True)), holds=False)

    def _fitting(self, schema: Schema) -> Callable[[Any, Report], bool]:
        node = self._node(schema)
        return lambda value, report: fits(node, value, report)


def _nothing(_value: Any, _report: Report, _covered: set[Any]) -> None:
    """Cover nothing."""


def _has(key: str) -> Callable[[Any, Report], bool]:
    return lambda value, _: type(value) is dict and key in value


def _if(condition: Callable[[Any, Report], bool], collect: Collect, *, holds: bool = True) -> Collect:
    def collect_if(value: Any, report: Report, covered: set[Any]) -> None:
        if condition(value, report) is holds:
            collect(value, report, covered)

    return collect_if
