"""Compare two definitions of one tool: the changes, and whether each breaks callers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tools_testing._schema import ANNOTATIONS, merged, resolve, types_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PROMISING = ("read_only", "idempotent")  # hints that callers rely on if they are True; on others if not


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between two definitions.

    `verdict` is "breaking" if a call that was valid may no longer be, if an output may have a new form, or if the tool
    may do what its hints excluded; otherwise "compatible".
    """

    verdict: Literal["breaking", "compatible"]
    path: str
    reason: str

    @property
    def is_breaking(self) -> bool:
        """True if callers have to change."""
        return self.verdict == "breaking"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.path} {self.reason}"


def listed(changes: list[Change]) -> list[Change]:
    """Return the changes in the order of a report: breaking ones first."""
    return sorted(changes, key=lambda change: (not change.is_breaking, change.path))


def compare_definitions(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return every change between two definitions of one tool (`tool.definition`).

    An input schema that accepts less is breaking, and so is an output schema that allows more. A change that may be
    breaking counts as breaking.
    """
    changes = [*_texts(old, new), *_hints(old, new)]
    changes += _schemas(old["input_schema"], new["input_schema"], "narrower", "arguments")
    before, after = old.get("output_schema"), new.get("output_schema")
    if before is not None and after is not None:
        changes += _schemas(before, after, "wider", "output")
    elif before is not None:
        changes.append(_change("output", "is no longer described", is_breaking=True))
    elif after is not None:
        changes.append(_change("output", "is now described", is_breaking=False))
    return list(dict.fromkeys(changes))


def _change(path: str, reason: str, *, is_breaking: bool) -> Change:
    return Change(verdict="breaking" if is_breaking else "compatible", path=path, reason=reason)


def _texts(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    if old.get("name") != new.get("name"):
        yield _change("name", f"was {old.get('name')}, is {new.get('name')}", is_breaking=True)
    if old.get("description") != new.get("description"):
        yield _change("description", "changed", is_breaking=False)


def _hints(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    before, after = old.get("annotations", {}), new.get("annotations", {})
    for name in sorted({*before, *after}):
        was, is_now = before.get(name), after.get(name)
        if was is not is_now:
            is_breaking = was is True if name in _PROMISING else bool(is_now) and was is not True
            words = ["not set" if value is None else str(value) for value in (was, is_now)]
            yield _change(name, f"was {words[0]}, is {words[1]}", is_breaking=is_breaking)


def _schemas(old: dict[str, Any], new: dict[str, Any], breaking: str, part: str) -> Iterator[Change]:
    for shift in Comparison(old, new).compare(old, new, ""):
        separator = "." if shift.path and not shift.path.startswith("[") else ""
        yield _change(f"{part}{separator}{shift.path}", shift.reason, is_breaking=shift.direction == breaking)


class Shift(NamedTuple):
    """One difference: a "narrower" schema accepts less than before, a "wider" one more, a "neutral" one the same."""

    direction: str
    path: str
    reason: str


_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
# Any other value of these counts as narrower.
_OPAQUE = (
    "allOf", "contains", "contentEncoding", "dependentRequired", "dependentSchemas", "else", "format", "if", "not",
    "pattern", "patternProperties", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip


class Comparison:
    """Compares parts of two documents, each with its own root for references."""

    def __init__(self, old_root: dict[str, Any], new_root: dict[str, Any]) -> None:
        self.old_root = old_root
        self.new_root = new_root
        self.compared: set[tuple[str, str]] = set()

    def compare(self, old: Any, new: Any, path: str) -> Iterator[Shift]:
        """Yield every difference between two parts, from the outside in."""
        old, new = _followed(self.old_root, old), _followed(self.new_root, new)
        if old is False or new is False or old == new == {}:
            if (old is False) != (new is False):
                yield Shift("narrower" if new is False else "wider", path, "is no longer" if new is False else "is now")
            return
        pair = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True))
        if pair in self.compared:  # a recursive schema: the outer comparison covers it
            return
        self.compared.add(pair)
        try:
            for keyword in ANNOTATIONS:
                if old.get(keyword) != new.get(keyword):
                    yield Shift("neutral", path, f"has another {keyword}")
            if {"anyOf", "oneOf"} & {*old, *new}:
                yield from self._compare_alternatives(old, new, path)
            else:
                for rule in (self._types, self._values, self._bounds, self._opaque, self._members, self._items):
                    yield from rule(old, new, path)
        finally:
            self.compared.discard(pair)

    def _compare_alternatives(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        before, after = _alternatives(old), _alternatives(new)
        for index, part in enumerate(before):
            if not any(self._accepts(part, other) for other in after):
                yield Shift("narrower", path, f"no longer accepts its alternative {_shown(part, index)} as it was")
        swapped = Comparison(self.new_root, self.old_root)
        for index, part in enumerate(after):
            if not any(swapped._accepts(part, other) for other in before):
                yield Shift("wider", path, f"accepts another alternative, {_shown(part, index)}")

    def _accepts(self, old: Any, new: Any) -> bool:
        """Return whether values that fit `old` fit `new`, as far as the keywords show."""
        return all(shift.direction != "narrower" for shift in self.compare(old, new, ""))

    def _types(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        before, after = _types(old), _types(new)
        if removed := sorted(before - after):
            yield Shift("narrower", path, f"may no longer be {', '.join(removed)}")
        if added := sorted(after - before):
            yield Shift("wider", path, f"may also be {', '.join(added)}")

    def _values(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        before, after = _enum(old), _enum(new)
        if before is None and after is not None:
            yield Shift("narrower", path, f"is now limited to {', '.join(after)}")
        elif before is not None and after is None:
            yield Shift("wider", path, "is no longer limited to certain values")
        elif before is not None and after is not None:
            if removed := [value for value in before if value not in after]:
                yield Shift("narrower", path, f"may no longer have the value {', '.join(removed)}")
            if added := [value for value in after if value not in before]:
                yield Shift("wider", path, f"may also have the value {', '.join(added)}")

    def _bounds(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        for keyword in (*_LOWER, *_UPPER):
            yield from _bound(keyword, old.get(keyword), new.get(keyword), path)
        step, finer = old.get("multipleOf"), new.get("multipleOf")
        if step != finer:
            is_wider = finer is None or (step is not None and step % finer == 0)
            yield Shift("wider" if is_wider else "narrower", path, f"multipleOf was {step}, is {finer}")
        if bool(old.get("uniqueItems")) != bool(new.get("uniqueItems")):
            yield Shift("narrower" if new.get("uniqueItems") else "wider", path, "uniqueItems changed")

    def _opaque(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        for keyword in _OPAQUE:
            before, after = old.get(keyword), new.get(keyword)
            if before == after:
                continue
            if after is None:
                yield Shift("wider", path, f"no longer has {keyword}")
            else:
                yield Shift("narrower", path, f"has {'a new' if before is None else 'another'} {keyword}")

    def _items(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        if "items" in old or "items" in new:
            yield from self.compare(old.get("items", True), new.get("items", True), f"{path}[]")

    def _members(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        before, after = old.get("properties", {}), new.get("properties", {})
        was_needed, is_needed = {*old.get("required", ())}, {*new.get("required", ())}
        for name in {**before, **after, **dict.fromkeys([*old.get("required", ()), *new.get("required", ())])}:
            place = f"{path}.{name}".removeprefix(".")
            if name not in after and name in before:
                yield from self._removed(before[name], new, place, is_required=name in is_needed)
            elif name not in before and name in after:
                yield from self._added(old, after[name], place, is_required=name in is_needed)
            else:
                if name in is_needed and name not in was_needed:
                    yield Shift("narrower", place, "is now required")
                if name in was_needed and name not in is_needed:
                    yield Shift("wider", place, "is no longer required")
                if name in before:
                    yield from self.compare(before[name], after[name], place)
        others = (old.get("additionalProperties", True), new.get("additionalProperties", True))
        if others[0] != others[1]:
            yield from self._others(*others, f"{path}.*".removeprefix("."))

    def _removed(self, part: Any, new: dict[str, Any], place: str, *, is_required: bool) -> Iterator[Shift]:
        others = new.get("additionalProperties", True)
        if others is False:
            yield Shift("narrower", place, "was removed")
            return
        yield Shift("narrower" if is_required else "neutral", place, "is no longer described")
        yield from self.compare(part, others, place)

    def _added(self, old: dict[str, Any], part: Any, place: str, *, is_required: bool) -> Iterator[Shift]:
        others = old.get("additionalProperties", True)
        if is_required:
            yield Shift("narrower", place, "was added, and is required")
        elif others is False:
            yield Shift("wider", place, "was added, and is optional")
        else:  # until now any member of that name was accepted
            yield Shift("neutral", place, "is now described")
            yield from (shift for shift in self.compare(others, part, place) if shift.direction == "narrower")

    def _others(self, before: Any, after: Any, place: str) -> Iterator[Shift]:
        if before is False:
            yield Shift("wider", place, "further members are now accepted")
        elif after is False:
            yield Shift("narrower", place, "further members are no longer accepted")
        else:
            yield from self.compare(before, after, place)


def _followed(root: dict[str, Any], schema: Any) -> Any:
    """Return a part with its reference resolved, and {} for true."""
    if schema is True:
        return {}
    visited: set[str] = set()
    while isinstance(schema, dict) and "$ref" in schema and schema["$ref"] not in visited:
        visited.add(schema["$ref"])
        target = resolve(root, schema["$ref"])
        rest = {key: item for key, item in schema.items() if key != "$ref"}
        schema = {**target, **rest} if isinstance(target, dict) else target
    return {} if schema is True else schema


def _alternatives(schema: dict[str, Any]) -> list[Any]:
    """Return the schemas of which a value must fit one, each with a single type if it names any."""
    hidden = ("anyOf", "oneOf", *ANNOTATIONS)
    rest = {key: item for key, item in schema.items() if key not in hidden}
    parts = [merged(rest, part) for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()))] or [rest]
    return [{**part, "type": kind} if kind else part for part in parts for kind in _named_types(part)]


def _named_types(schema: Any) -> tuple[Any, ...]:
    return types_of(schema) if isinstance(schema, dict) and "type" in schema else (None,)


def _types(schema: dict[str, Any]) -> set[str]:
    types = {*types_of(schema)}
    return types | {"integer"} if "number" in types else types


def _enum(schema: dict[str, Any]) -> list[Any] | None:
    """Return the allowed values as JSON text, in which 1 and true differ; None if any value is allowed."""
    if "const" in schema:
        return [json.dumps(schema["const"], sort_keys=True)]
    return [json.dumps(value, sort_keys=True) for value in schema["enum"]] if "enum" in schema else None


def _bound(keyword: str, before: Any, after: Any, path: str) -> Iterator[Shift]:
    if before == after:
        return
    if after is None:
        yield Shift("wider", path, f"no longer has a {keyword} (was {before})")
    elif before is None or (after > before) == (keyword in _LOWER):
        yield Shift("narrower", path, f"{keyword} was {'not set' if before is None else before}, is {after}")
    else:
        yield Shift("wider", path, f"{keyword} was {before}, is {after}")


def _shown(part: Any, index: int) -> str:
    kind = part.get("title") or part.get("type") if isinstance(part, dict) else None
    return str(kind or index + 1)
