"""The keywords that look at the members of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_core._jsonschema._describe import describe
from tools_core._jsonschema._regex import translate
from tools_core._jsonschema._report import fits
from tools_core._jsonschema._scalars import sizes
from tools_core._values._problem import clip, listing, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tools_core._jsonschema._pointer import Schema
    from tools_core._jsonschema._report import Checked, Compile, Node
    from tools_core._values._problem import Path

_SUGGESTIONS = 5  # how many unknown members of one object get a "did you mean"


def steps(schema: dict[str, Any], root: Schema, node: Compile) -> Iterator[Node]:
    """Compile every keyword for objects that `schema` has."""
    if "properties" in schema or "required" in schema:
        yield _properties(schema, root, node)
    if "additionalProperties" in schema or "patternProperties" in schema:
        yield _extras(schema, node)
    if "propertyNames" in schema:
        yield _names(node(schema["propertyNames"]))
    yield from sizes((dict,), schema, "minProperties", "maxProperties", "member")
    for key, needed in schema.get("dependentRequired", {}).items():
        yield _needs(key, needed)
    for key, part in schema.get("dependentSchemas", {}).items():
        yield _when(key, node(part))


def _missing(schema: Schema, root: Schema) -> str:
    words = describe(schema, root)
    return "is required" if words == "any value" else f"is required: {words}"


def _properties(schema: dict[str, Any], root: Schema, node: Compile) -> Node:
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    rows = [(key, node(part), _missing(part, root) if key in required else None) for key, part in properties.items()]
    missing = _missing(schema.get("additionalProperties") or True, root)
    rows += [(key, node(True), missing) for key in required if key not in properties]

    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) is not dict:
            return value
        out = value
        for key, check, missing in rows:
            if key not in value:
                if missing is not None:
                    report.say((path, key), missing)
                continue
            item = value[key]
            if item is None and report.repair and missing is None and not fits(check, None, report):
                report.repaired((path, key), None, "absent")
                out = dict(value) if out is value else out
                del out[key]
                continue
            new = check(item, (path, key), report)
            if new is not item:
                out = dict(value) if out is value else out
                out[key] = new
        return out

    return step


def _extras(schema: dict[str, Any], node: Compile) -> Node:
    """Compile `patternProperties` and `additionalProperties`."""
    properties = schema.get("properties", {}).keys()
    patterns = [(translate(key).search, node(part)) for key, part in schema.get("patternProperties", {}).items()]
    additional = schema.get("additionalProperties", True)
    others = None if additional is False else node(additional)

    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) is not dict or (value.keys() <= properties and not patterns):
            return value
        out = dict(value)
        unknown = []
        for key in value:
            checks = [check for search, check in patterns if search(key)]
            if not checks and key not in properties:
                if others is None:
                    unknown.append(key)
                    continue
                checks = [others]
            for check in checks:
                out[key] = check(out[key], (path, key), report)
        _report_unknown(unknown, value, list(properties), path, report)
        return value if all(out[key] is value[key] for key in value) else out

    return step


def _report_unknown(
    unknown: Sequence[str], value: dict[str, Any], known: list[str], path: Path, report: Checked
) -> None:
    """Report members that the schema does not have, each with the name that was probably meant."""
    free = [name for name in known if name not in value]
    for index, key in enumerate(unknown[:100]):
        near = _near(key, free) if index < _SUGGESTIONS else None
        hint = f"expected {listing(known)}" if known else "none are expected"
        if near:
            hint = f"did you mean {show(near)}?"
        at_root = path is None
        report.say(path, f"unknown argument {show(key)}: {hint}" if at_root else f"has no member {show(key)}; {hint}")


def _near(name: str, names: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # loads only for a mistake: costs 3 ms at import

    # Both clipped, since the cost grows with the product of the lengths.
    candidates = {clip(candidate, 60): candidate for candidate in list(names)[:100]}
    found = get_close_matches(name[:60], candidates, n=1)
    return candidates[found[0]] if found else None


def _names(node: Node) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        for key in value if type(value) is dict else ():
            trial = report.trial(key, repair=False)
            node(key, None, trial)
            if trial.problems:
                report.say(path, f"must not have a member named {show(key)}: a name {trial.problems[0].text}")
        return value

    return step


def _needs(key: str, needed: Sequence[str]) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        if type(value) is dict and key in value:
            for name in needed:
                if name not in value:
                    report.say((path, name), f"is required when {show(key)} is given")
        return value

    return step


def _when(key: str, node: Node) -> Node:
    def step(value: Any, path: Path, report: Checked) -> Any:
        return node(value, path, report) if type(value) is dict and key in value else value

    return step
