"""A value for a schema: choose, build, and where only a look can tell, look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools_testing._values._flatten import DEEP, DeadEnd, Exhausted, Flattening, likely_types, types_of
from tools_testing._values._numbers import number
from tools_testing._values._objects import member_names, pattern_matches, schemas_of_member
from tools_testing._values._text import text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools_testing._values._choices import Choices
    from tools_testing._values._judge import Judge

_EFFORT = 1_500  # values begun for one set of arguments, dead ends included
_ATTEMPTS = 12  # at one value whose fit only a look can tell
_DEAD = 2  # further attempts that a dead end counts for
_EXHAUSTING = 20  # attempts that one which went on and on counts for
_DEPTH_LIMIT = 40  # below what the core takes
_ITEMS = 4


class Generator:
    """Makes values for one schema; DeadEnd where its choices led nowhere."""

    def __init__(self, judge: Judge, choices: Choices, *, is_hasty: bool = False) -> None:
        self.judge = judge
        self.choices = choices
        # Choices that go for the simplest make the same mistake again: those are not tried often.
        self.attempts = _ATTEMPTS // 4 if is_hasty else _ATTEMPTS
        self.most = _EFFORT // 10 if is_hasty else _EFFORT
        self.effort = 0  # values begun, for the arguments under way

    def arguments(self) -> Any:
        """Arguments for the schema as a whole; whether they fit is for the judge to say."""
        return self.begun(self.judge.root, 0)

    def begun(self, schema: Any, depth: int) -> Any:
        """A value for one part, with the whole effort to spend on it."""
        self.effort = 0
        return self.value([schema], depth)

    def value(self, schemas: Sequence[Any], depth: int) -> Any:
        """A value that fits all of the schemas."""
        if depth > _DEPTH_LIMIT:
            raise DeadEnd
        for _ in range(self.attempts):
            self.effort += 1
            if self.effort > self.most:
                raise Exhausted
            flattening = Flattening(self.judge.root, self.choices, depth)
            try:
                for schema in schemas:
                    flattening.add(schema)
                made, is_certain = self.built(flattening, depth)
            except Exhausted:
                raise
            except DeadEnd:
                continue
            if is_certain or depth == 0 or self.judge.fits(schemas, made):
                return made
        raise DeadEnd

    def built(self, flattening: Flattening, depth: int) -> tuple[Any, bool]:
        """A value, and whether it is certain that it fits."""
        flat = flattening.flat
        listed = [schema for schema in flat if "const" in schema or "enum" in schema]
        if listed:
            return self.listed(flat, listed), flattening.is_certain
        kinds = likely_types(flat)
        if not kinds:
            raise DeadEnd
        if depth >= DEEP and len(kinds) > 1:
            kinds = [kind for kind in kinds if kind not in ("array", "object")] or kinds
        kind = self.choices.pick(kinds)
        if kind == "object":
            return self.object(flattening, depth), False
        if kind == "array":
            return self.array(flat, depth), False
        made = self.scalar(kind, flat)
        is_bounded = isinstance(made, float) or (
            isinstance(made, str) and any(_BOUNDS & schema.keys() for schema in flat)
        )
        return made, flattening.is_certain and not is_bounded

    def listed(self, flat: Sequence[dict[str, Any]], listed: Sequence[dict[str, Any]]) -> Any:
        options = [listed[0]["const"]] if "const" in listed[0] else listed[0]["enum"]
        fitting = [option for option in options if self.judge.fits(flat, option)]
        if not fitting:
            raise DeadEnd
        return self.choices.pick(fitting)

    def scalar(self, kind: str, flat: Sequence[dict[str, Any]]) -> Any:
        if kind == "null":
            return None
        if kind == "boolean":
            return self.choices.pick((False, True))
        if kind == "string":
            return text(flat, self.choices)
        # A number may be asked to be whole by one schema, and only allowed to be by another.
        whole = kind == "integer" or "number" not in types_of(flat)
        return number(flat, self.choices, whole=whole)

    def array(self, flat: Sequence[dict[str, Any]], depth: int) -> list[Any]:
        low = max((int(schema.get("minItems", 0)) for schema in flat), default=0)
        high = min((int(schema["maxItems"]) for schema in flat if "maxItems" in schema), default=None)
        asked = [schema for schema in flat if "contains" in schema]
        low = max([low, *(int(schema.get("minContains", 1)) for schema in asked)])
        most = low if depth >= DEEP else low + _ITEMS
        count = self.choices.integer(low, most if high is None else max(low, min(high, most)))
        unique = any(schema.get("uniqueItems") for schema in flat)
        contained = [schema["contains"] for schema in asked for _ in range(int(schema.get("minContains", 1)))]
        made: list[Any] = []
        for index in range(count):
            schemas = [_item_schema(schema, index) for schema in flat]
            # What must be contained comes last: the first places may have schemas of their own.
            place = index - (count - len(contained))
            schemas += contained[place : place + 1] if place >= 0 else []
            item = self.item([schema for schema in schemas if schema is not True], made if unique else [], depth)
            if item is _NONE:
                break
            made.append(item)
        if len(made) < low:
            raise DeadEnd
        return made

    def item(self, schemas: Sequence[Any], taken: Sequence[Any], depth: int) -> Any:
        for _ in range(self.attempts):
            if any(schema is False for schema in schemas):
                return _NONE
            made = self.value(schemas, depth + 1)
            if made not in taken:
                return made
        return _NONE

    def object(self, flattening: Flattening, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name in member_names(flattening, self.choices, self.name):
            schemas = schemas_of_member(name, flattening.flat, pattern_matches)
            try:
                out[name] = self.value(schemas, depth + 1)
            except Exhausted:
                raise
            except DeadEnd:
                if any(name in schema.get("required", ()) for schema in flattening.flat):
                    raise
        return out

    def name(self, rules: list[Any]) -> Any:
        if not rules:
            return self.choices.text(1, 8)
        return self.value([{"type": "string"}, *rules], DEEP)


_NONE: Any = object()
_BOUNDS = {"minLength", "maxLength", "pattern"}


def _item_schema(schema: dict[str, Any], index: int) -> Any:
    prefix = schema.get("prefixItems", ())
    if index < len(prefix):
        return prefix[index]
    return schema.get("items", schema.get("unevaluatedItems", True))


def first_fitting(make: Callable[[], Any], fits: Callable[[Any], bool], attempts: int) -> Any:
    """The first value made that fits; raises DeadEnd when there is none among so many."""
    while attempts > 0:
        attempts -= 1
        try:
            made = make()
        except Exhausted:
            attempts -= _EXHAUSTING
            continue
        except DeadEnd:
            attempts -= _DEAD
            continue
        if fits(made):
            return made
    raise DeadEnd
