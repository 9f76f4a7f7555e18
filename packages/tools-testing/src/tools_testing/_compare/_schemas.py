"""Two schemas keyword by keyword: what became narrower, and what wider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from tools_testing._values._flatten import TYPES, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Shift(NamedTuple):
    """One difference: "narrower" takes less than before, "wider" more, "neutral" the same."""

    direction: str
    path: str
    reason: str


_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_WORDS = ("description", "title", "default", "examples", "deprecated", "$comment", "readOnly", "writeOnly")
# What these allow is compared by whether it is there and the same, and no further.
_WHOLE = (
    "allOf", "contains", "contentEncoding", "dependentRequired", "dependentSchemas", "else", "format", "if", "not",
    "pattern", "patternProperties", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip


class Comparison:
    """Compares parts of two documents, each with its own root for references."""

    def __init__(self, old_root: dict[str, Any], new_root: dict[str, Any]) -> None:
        self.old_root = old_root
        self.new_root = new_root
        self.under_way: set[tuple[str, str]] = set()

    def compare(self, old: Any, new: Any, path: str) -> Iterator[Shift]:
        """Every difference between two parts, from the outside in."""
        old, new = _followed(self.old_root, old), _followed(self.new_root, new)
        if old is False or new is False or old == new == {}:
            if (old is False) != (new is False):
                yield Shift("narrower" if new is False else "wider", path, "is no longer" if new is False else "is now")
            return
        pair = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True))
        if pair in self.under_way:  # recursive schemas: whatever differs is told already
            return
        self.under_way.add(pair)
        try:
            yield from self._words(old, new, path)
            if _alternatives(old) or _alternatives(new):
                yield from self._choices(old, new, path)
            else:
                for rule in (self._types, self._values, self._bounds, self._wholes, self._members, self._items):
                    yield from rule(old, new, path)
        finally:
            self.under_way.discard(pair)

    def _words(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        for word in _WORDS:
            if old.get(word) != new.get(word):
                yield Shift("neutral", path, f"has another {word}")

    def _choices(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        before, after = _alternatives(old) or [old], _alternatives(new) or [new]
        before, after = _by_type(before), _by_type(after)
        for index, part in enumerate(before):
            if not any(self._takes(part, other) for other in after):
                yield Shift("narrower", path, f"no longer takes its alternative {_shown(part, index)} as it was")
        swapped = Comparison(self.new_root, self.old_root)
        for index, part in enumerate(after):
            if not any(swapped._takes(part, other) for other in before):
                yield Shift("wider", path, f"takes another alternative, {_shown(part, index)}")
        rest_before, rest_after = _without_choices(old), _without_choices(new)
        if _alternatives(old) and _alternatives(new) and rest_before != rest_after:
            yield from self.compare(rest_before, rest_after, path)
        elif _alternatives(new) and not _alternatives(old) and rest_after:
            yield from (shift for shift in self.compare(old, rest_after, path) if shift.direction == "narrower")

    def _takes(self, old: Any, new: Any) -> bool:
        """Whether what fits `old` fits `new`, as far as the keywords show."""
        return all(shift.direction != "narrower" for shift in self.compare(old, new, ""))

    def _types(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        before, after = _types(old), _types(new)
        if gone := sorted(before - after):
            yield Shift("narrower", path, f"may no longer be {', '.join(gone)}")
        if come := sorted(after - before):
            yield Shift("wider", path, f"may also be {', '.join(come)}")

    def _values(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        before, after = _enum(old), _enum(new)
        if before is None and after is not None:
            yield Shift("narrower", path, f"is now limited to {_joined(after)}")
        elif before is not None and after is None:
            yield Shift("wider", path, "is no longer limited to certain values")
        elif before is not None and after is not None:
            if gone := [value for value in before if value not in after]:
                yield Shift("narrower", path, f"may no longer have the value {_joined(gone)}")
            if come := [value for value in after if value not in before]:
                yield Shift("wider", path, f"may also have the value {_joined(come)}")

    def _bounds(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        for keywords, is_narrower in ((_LOWER, _above), (_UPPER, _below)):
            for keyword in keywords:
                yield from _bound(keyword, old.get(keyword), new.get(keyword), is_narrower, path)
        step, finer = old.get("multipleOf"), new.get("multipleOf")
        if step != finer:
            is_wider = finer is None or (step is not None and step % finer == 0)
            yield Shift("wider" if is_wider else "narrower", path, f"multipleOf was {step}, is {finer}")
        if bool(old.get("uniqueItems")) != bool(new.get("uniqueItems")):
            yield Shift("narrower" if new.get("uniqueItems") else "wider", path, "uniqueItems changed")

    def _wholes(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Shift]:
        for keyword in _WHOLE:
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
                    yield Shift("narrower", place, "is required now")
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
        else:  # so far any member of that name was taken
            yield Shift("neutral", place, "is described now")
            yield from (shift for shift in self.compare(others, part, place) if shift.direction == "narrower")

    def _others(self, before: Any, after: Any, place: str) -> Iterator[Shift]:
        if before is False:
            yield Shift("wider", place, "further members are taken now")
        elif after is False:
            yield Shift("narrower", place, "further members are no longer taken")
        else:
            yield from self.compare(before, after, place)


def _followed(root: dict[str, Any], schema: Any) -> Any:
    """A part with its reference resolved; true and false stand for themselves."""
    if schema is True:
        return {}
    seen: set[str] = set()
    while isinstance(schema, dict) and "$ref" in schema and schema["$ref"] not in seen:
        seen.add(schema["$ref"])
        target = resolve(root, schema["$ref"])
        rest = {key: item for key, item in schema.items() if key != "$ref"}
        schema = {**target, **rest} if isinstance(target, dict) else target
    return {} if schema is True else schema


def _alternatives(schema: dict[str, Any]) -> list[Any]:
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


def _without_choices(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in schema.items() if key not in ("anyOf", "oneOf", *_WORDS)}


def _by_type(parts: list[Any]) -> list[Any]:
    """One alternative for each type, since `["string", "null"]` says the same as two of them."""
    out: list[Any] = []
    for part in parts:
        types = part.get("type") if isinstance(part, dict) else None
        out += [{**part, "type": each} for each in types] if isinstance(types, list) else [part]
    return out


def _types(schema: dict[str, Any]) -> set[str]:
    named = schema.get("type", TYPES)
    types = {named} if isinstance(named, str) else {*named}
    return types | {"integer"} if "number" in types else types


def _enum(schema: dict[str, Any]) -> list[Any] | None:
    """The values allowed, as text, in which 1 and true differ; None for no limit."""
    if "const" in schema:
        return [json.dumps(schema["const"], sort_keys=True)]
    return [json.dumps(value, sort_keys=True) for value in schema["enum"]] if "enum" in schema else None


def _bound(
    keyword: str, before: Any, after: Any, is_narrower: Callable[[Any, Any], bool], path: str
) -> Iterator[Shift]:
    if before == after:
        return
    if after is None:
        yield Shift("wider", path, f"no longer has a {keyword} (was {before})")
    elif before is None or is_narrower(after, before):
        yield Shift("narrower", path, f"{keyword} was {'not set' if before is None else before}, is {after}")
    else:
        yield Shift("wider", path, f"{keyword} was {before}, is {after}")


def _above(after: float, before: float) -> bool:
    return after > before


def _below(after: float, before: float) -> bool:
    return after < before


def _joined(values: list[Any]) -> str:
    return ", ".join(values)


def _shown(part: Any, index: int) -> str:
    kind = part.get("title") or part.get("type") if isinstance(part, dict) else None
    return str(kind or index + 1)
