"""The keywords for objects and arrays."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tools_core._jsonschema._describe import describe
from tools_core._jsonschema._patterns import search_of
from tools_core._jsonschema._plain_json import are_distinct
from tools_core._jsonschema._report import MAX_PROBLEMS, Compile, Node, Report, fits
from tools_core._jsonschema._scalars import exact_classes, rule, sizes
from tools_core._jsonschema._types import Schema
from tools_core._values._problem import Path, listing, show
from tools_core.text import closest

_MAX_SUGGESTIONS = 5  # unknown members of one object that get a "did you mean"


def object_steps(schema: dict[str, Any], root: Schema, node: Compile) -> Iterator[Node]:
    """Compile every keyword for objects that `schema` has."""
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    if is_closed or "properties" in schema or "required" in schema:
        yield _properties(schema, root, node, is_closed=is_closed)
    if not is_closed and ("additionalProperties" in schema or "patternProperties" in schema):
        yield _other_members(schema, node)
    if "propertyNames" in schema:
        yield _names(node(schema["propertyNames"]))
    yield from sizes((dict,), schema, "minProperties", "maxProperties", "member")
    for key, names in schema.get("dependentRequired", {}).items():
        yield _dependent_names(key, names)
    for key, part in schema.get("dependentSchemas", {}).items():
        yield _dependent(key, node(part))


def _missing(schema: Schema, root: Schema) -> str:
    words = describe(schema, root)
    return "is required" if words == "any value" else f"is required: {words}"


def _properties(schema: dict[str, Any], root: Schema, node: Compile, *, is_closed: bool) -> Node:
    """Compile `properties` and `required`, and `additionalProperties` if it is false."""
    names = list(schema.get("properties", {}))
    required = schema.get("required", ())
    members = {key: (part, part) for key, part in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties") or True
    has_others = not members.keys() >= set(required)
    members |= {key: (True, others) for key in required if key not in members}
    rows = [
        (key, check := node(part), exact_classes(check), _missing(words, root) if key in required else None)
        for key, (part, words) in members.items()
    ]

    def step(value: Any, path: Path, report: Report) -> Any:
        if type(value) is not dict:
            return value
        out, count = value, 0
        for key, check, exact, missing in rows:
            if key not in value:
                if missing is not None:
                    report.add_problem((path, key), missing)
                continue
            item = value[key]
            count += 1
            if type(item) in exact:
                continue
            if item is None and report.repair and missing is None and not fits(check, None, report):
                report.add_repair((path, key), None, "absent")
                out = dict(value) if out is value else out
                del out[key]
                continue
            new = check(item, (path, key), report)
            if new is not item:
                out = dict(value) if out is value else out
                out[key] = new
        if is_closed and (count < len(value) or has_others):
            report_unknown([key for key in value if key not in names], value, names, path, report)
        return out

    return step


def _other_members(schema: dict[str, Any], node: Compile) -> Node:
    """Compile `patternProperties` and `additionalProperties`."""
    properties = schema.get("properties", {}).keys()
    patterns = [(search_of(key), node(part)) for key, part in schema.get("patternProperties", {}).items()]
    additional = schema.get("additionalProperties", True)
    others = None if additional is False else node(additional)

    def step(value: Any, path: Path, report: Report) -> Any:
        if type(value) is not dict or (value.keys() <= properties and not patterns):
            return value
        out = dict(value)
        unknown: list[str] = []
        for key in value:
            if len(report.problems) + len(unknown) >= MAX_PROBLEMS:
                break
            checks = [check for search, check in patterns if search(key)]
            if not checks and key not in properties:
                if others is None:
                    unknown.append(key)
                    continue
                checks = [others]
            for check in checks:
                out[key] = check(out[key], (path, key), report)
        report_unknown(unknown, value, list(properties), path, report)
        return value if all(map(operator.is_, out.values(), value.values())) else out

    return step


def report_unknown(
    unknown: Sequence[str], value: dict[str, Any], properties: list[str], path: Path, report: Report
) -> None:
    """Report members that the schema does not have, each with the most similar property."""
    unused = [name for name in properties if name not in value] if unknown else []
    for index, key in enumerate(unknown):
        report.add_problem(path, _Unknown(key, properties, unused if index < _MAX_SUGGESTIONS else [], path is None))


class _Unknown(NamedTuple):
    """An unknown member, in words that are rendered when they are read."""

    key: str
    names: list[str]
    unused: list[str]  # names that are probably meant
    is_argument: bool

    def __str__(self) -> str:
        hint = f"expected {listing(self.names)}" if self.names else "none are expected"
        for similar in closest(self.key, self.unused, 1):
            hint = f"did you mean {show(similar)}?"
        key = show(self.key)
        return f"unknown argument {key}: {hint}" if self.is_argument else f"has no member {key}; {hint}"


def _names(node: Node) -> Node:
    def step(value: Any, path: Path, report: Report) -> Any:
        for key in value if type(value) is dict else ():
            trial = report.trial(key, repair=False)
            node(key, None, trial)
            if trial.problems:
                text = f"must not have a member named {show(key)}: a name {trial.problems[0].text}"
                report.add_problem(path, text)
        return value

    return step


def _dependent_names(key: str, names: Sequence[str]) -> Node:
    def step(value: Any, path: Path, report: Report) -> Any:
        if type(value) is dict and key in value:
            for name in names:
                if name not in value:
                    report.add_problem((path, name), f"is required when {show(key)} is given")
        return value

    return step


def _dependent(key: str, check: Node) -> Node:
    def step(value: Any, path: Path, report: Report) -> Any:
        return check(value, path, report) if type(value) is dict and key in value else value

    return step


def array_steps(schema: dict[str, Any], root: Schema, node: Compile) -> Iterator[Node]:
    """Compile every keyword for arrays that `schema` has."""
    if "prefixItems" in schema or "items" in schema:
        yield _items([node(part) for part in schema.get("prefixItems", ())], node(schema.get("items", True)))
    yield from sizes((list,), schema, "minItems", "maxItems", "item")
    if schema.get("uniqueItems"):
        yield rule((list,), are_distinct, "must not have equal items")
    if "contains" in schema:
        least, most = schema.get("minContains", 1), schema.get("maxContains")
        yield _contained(node(schema["contains"]), describe(schema["contains"], root), least, most)


def _contained(check: Node, words: str, least: float, most: float | None) -> Node:
    def step(value: Any, path: Path, report: Report) -> Any:
        if type(value) is list:
            count = sum(fits(check, item, report) for item in value)
            for is_wrong, limit in ((count < least, f"at least {least:g}"), (count > (most or 0), f"at most {most}")):
                if is_wrong and not (most is None and limit.startswith("at most")):
                    report.add_problem(path, f"must contain {limit} of: {words}; got {count}")
        return value

    return step


def _items(prefix: list[Node], rest: Node) -> Node:
    def step(value: Any, path: Path, report: Report) -> Any:
        if type(value) is not list:
            return value
        out = []
        for index, item in enumerate(value):
            if not report.is_complete:
                return value
            node = prefix[index] if index < len(prefix) else rest
            out.append(node(item, (path, index), report))
        return value if all(map(operator.is_, out, value)) else out

    return step
