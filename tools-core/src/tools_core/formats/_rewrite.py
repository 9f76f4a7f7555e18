"""Schemas in another dialect: what the dialects have in common."""

from __future__ import annotations

from abc import abstractmethod
from functools import reduce
from itertools import product

from tools_core._jsonschema._keywords import CONSTRAINTS
from tools_core._jsonschema._pointer import resolve
from tools_core.formats._dialect import Dialect, Written
from tools_core.formats._merge import UNIONS, ImpossibleError, UnmergeableError, merged
from tools_core.formats._plan import KEEP, WRAPPER, Either, Items, Members, Unwrap, combined
from tools_core.formats._shape import Shape, union_of
from tools_core.formats._types import ANNOTATIONS, infer_types, is_foreign, is_of, malformed
from tools_core.formats._words import NOTES, note, text

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from tools_core.formats._dialect import Place, Schema
    from tools_core.formats._format import Definition
    from tools_core.formats._plan import Member, Plan

_DEEPEST = 60  # parts of a path that one schema may have; a model would be lost long before
_MOST_PARTS = 20_000
_MOST_ALTERNATIVES, _MOST_TRIED = 32, 1_000  # when alternatives multiply


class Rewriter(Dialect):
    """Writes the input schema of one definition in a dialect.

    What the dialect has no keyword for goes into the description; what it cannot describe at all becomes JSON text.
    """

    def __init__(self, definition: Definition, format: str) -> None:  # noqa: A002  (the field's word)
        super().__init__(definition, format)
        self._parts = 0

    def arguments(self) -> Written:
        """The schema of all arguments, an object in any case."""
        root = self.root
        if isinstance(root, dict) and "$ref" in root:
            root = self._flat(root, ())
        written = self.node(root, ())
        if written.schema.get("type") == self.type_name("object"):
            return written
        plan = Unwrap(WRAPPER, written.plan)
        schema = self.closed_object({WRAPPER: written.schema}, [WRAPPER])
        return Written(schema, plan, Shape(["object"], required=[WRAPPER], allowed=[WRAPPER]))

    def node(self, schema: Any, place: Place) -> Written:
        """Write one schema."""
        schema = self._checked(schema, place)
        try:
            if "$ref" in schema and not (schema.keys() - {"$ref"}) & CONSTRAINTS:
                return self.reference(schema, place)
            if "$ref" in schema or "allOf" in schema:
                schema = self._flat(schema, place)
                if not isinstance(schema, dict):
                    return self.node(schema, place)
            if "anyOf" in schema or "oneOf" in schema or UNIONS in schema:
                return self._union(schema, self._alternatives(schema, place), place)
        except UnmergeableError:
            return self.as_text(schema)
        return self._plain(schema, place)

    def _checked(self, schema: Any, place: Place) -> Schema:
        """The schema as a dict of well-formed keywords."""
        if schema is True or schema is False:
            return {} if schema else {"not": {}}
        if not isinstance(schema, dict):
            raise self.error("a schema is an object or a boolean", place)
        self._parts += 1
        if len(place) > _DEEPEST or self._parts > _MOST_PARTS:
            problem = f"the schema has more than {_DEEPEST} levels, or {_MOST_PARTS:,} parts, with its references"
            raise self.error(f"{problem} written out; make it flatter and smaller", place)
        self._check_form(schema, place)
        if len(schema.get("allOf", ())) == 1 and not (schema.keys() - {"allOf"}) & CONSTRAINTS:
            [only] = schema["allOf"]  # a reference with a description, as some write it
            if isinstance(only, dict):
                return only | {key: value for key, value in schema.items() if key != "allOf"}
        return schema

    def _check_form(self, schema: Schema, place: Place) -> None:
        wrong = malformed(schema)
        if wrong is not None:
            raise self.error(wrong, place)

    def _plain(self, schema: Schema, place: Place) -> Written:
        """Write a schema without alternatives."""
        if "enum" in schema or "const" in schema:
            return self._choice(schema)
        types = infer_types(schema)
        if not types:
            return self.as_text(schema)
        if len(types) > 1:
            return self._union(schema, [_of_type(schema, kind) for kind in types], place)
        [kind] = types
        if kind == "object":
            return self._object(schema, place)
        if kind == "array":
            return self._array(schema, place)
        return Written(self.base(kind, schema), KEEP, Shape(types))

    def _object(self, schema: Schema, place: Place) -> Written:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        further = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
        is_open = "patternProperties" in schema or (further is not None and further is not False)
        if not properties and (is_open or (place and further is None)):
            return self.as_text(schema)
        made: dict[str, Schema] = {}
        plans: dict[str, Member] = {}
        shapes: dict[str, Shape] = {}
        for key in dict.fromkeys([*properties, *required]):
            part = properties.get(key, True if further is None else further)
            if key not in required and self._is_impossible(part, place):
                continue
            name = self.member_name(key, plans)
            child = self.node(part, (*place, "properties", key))
            child, plans[name] = self.member(child, key, part, is_required=key in required)
            made[name] = child.schema
            if child.shape.values is not None:
                shapes[name] = child.shape
        rest = None
        if is_open:
            rest = self.member_name("additional_properties", {**plans, **properties})
            made[rest] = self.rest(schema)
            # On the wire there are fewer members: their number can only be said.
            said = [note(key, schema[key]) or "" for key in _COUNTS if key in schema]
            schema = {key: value for key, value in schema.items() if key not in _COUNTS}
            schema[NOTES] = [*schema.get(NOTES, ()), *said]
        needed = [name for name in made if self.requires_all or (name != rest and plans[name].name in required)]
        out = self.base("object", schema) | self.closed_object(made, needed)
        return Written(out, Members(plans, rest), Shape(["object"], required=needed, allowed=made, members=shapes))

    def _is_impossible(self, part: Any, place: Place) -> bool:
        """Whether no value at all fits a member, which therefore is never there."""
        if isinstance(part, dict) and "allOf" in part:
            try:
                part = self._flat(part, place)
            except ImpossibleError:
                return True
            except UnmergeableError:
                return False
        return part is False

    def _array(self, schema: Schema, place: Place) -> Written:
        items: Any = schema.get("items", schema.get("unevaluatedItems", True))
        prefix = schema.get("prefixItems")
        if prefix:
            parts = prefix if items is False else [*prefix, items]
            child = self.node({"anyOf": parts}, (*place, "prefixItems"))
            if child.plan.changes(set()):  # which item is which cannot be told
                return self.as_text(schema)
            if items is False:
                schema = {**schema, "maxItems": min(len(prefix), schema.get("maxItems", len(prefix)))}
        else:
            child = self.node(items, (*place, "items"))
        return Written(self.base("array", schema) | {"items": child.schema}, Items(child.plan), Shape(["array"]))

    def _choice(self, schema: Schema) -> Written:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        if "type" in schema and (wanted := infer_types(schema)):
            values = [value for value in values if is_of(value, wanted)] or values
        return self.choice(values, schema)

    def _union(self, schema: Schema, branches: list[Any], place: Place) -> Written:
        """Write alternatives; the annotations of `schema` are those of the whole."""
        outer = {key: value for key, value in schema.items() if key in ANNOTATIONS}
        others = [branch for branch in branches if not _is_null(branch)]
        has_null = len(others) < len(branches)
        if not others:
            return Written(self.base("null", schema), KEEP, Shape(["null"]))
        if len(others) == 1 and isinstance(others[0], dict):
            made = self.node(_annotated(others[0], outer), (*place, "anyOf", "0"))
            return self.nullable(made) if has_null else made
        written = [self.node(part, (*place, "anyOf", str(n))) for n, part in enumerate(others)]
        written = list({text(one.schema): one for one in written}.values())
        is_disjoint = _are_disjoint([one.shape for one in written])
        plan = _plan_of(written, is_disjoint=is_disjoint)
        if plan is None:
            return self.as_text(schema)
        notes = ["exactly one of the alternatives"] if "oneOf" in schema and not is_disjoint else []
        out = self.any_of([one.schema for one in written], self.description(schema, notes))
        made = Written(out, plan, union_of([one.shape for one in written]))
        return self.nullable(made) if has_null else made

    def _alternatives(self, schema: Schema, place: Place) -> list[Any]:
        """Every alternative of `schema`, with all that holds for each of them merged in."""
        unions = [schema[key] for key in ("anyOf", "oneOf") if key in schema] + schema.get(UNIONS, [])
        base = {key: value for key, value in schema.items() if key not in _UNION_KEYS and key not in ANNOTATIONS}
        if len(unions) == 1 and not base:
            return list(unions[0])
        found: list[Any] = []
        for tried, parts in enumerate(product(*unions)):
            if tried > _MOST_TRIED or len(found) > _MOST_ALTERNATIVES:
                raise UnmergeableError("too many alternatives")
            try:
                found.append(reduce(lambda whole, part: merged(whole, self._flat(part, place)), parts, base))
            except ImpossibleError:  # no value fits these together
                continue
        return found or [False]

    def _flat(self, schema: Any, place: Place, depth: int = 0) -> Any:
        """The schema with its own `$ref` and `allOf` merged in."""
        if depth > _DEEPEST:
            raise self.error("the schema leads back to itself without going into the value", place)
        if not isinstance(schema, dict):
            return schema
        self._check_form(schema, place)
        made: Any = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        if "$ref" in schema:
            made = merged(made, self._flat(self.target(schema["$ref"], place), place, depth + 1))
        for part in schema.get("allOf", ()):
            made = merged(made, self._flat(part, place, depth + 1))
        return made

    def target(self, reference: Any, place: Place) -> Any:
        """What a `$ref` points at."""
        try:
            found: Any = resolve(self.root, reference)
        except (LookupError, AttributeError):
            raise self.error(f"there is nothing at the $ref {text(reference)}; point into $defs", place) from None
        return found

    @abstractmethod
    def reference(self, schema: Schema, place: Place) -> Written:
        """Write a `$ref` that has annotations at most beside it."""


_COUNTS = ("minProperties", "maxProperties")
_UNION_KEYS = frozenset(("anyOf", "oneOf", UNIONS))


def _plan_of(written: list[Written], *, is_disjoint: bool) -> Plan | None:
    if not any(one.plan.changes(set()) for one in written):
        return KEEP
    plan = combined([one.plan for one in written])
    if plan is None and is_disjoint:
        return Either([(one.shape, one.plan) for one in written])
    return plan


def _are_disjoint(shapes: list[Shape]) -> bool:
    return all(one.is_disjoint(two) for n, one in enumerate(shapes) for two in shapes[n + 1 :])


def _is_null(branch: Any) -> bool:
    return isinstance(branch, dict) and (
        branch.get("type") in ("null", ["null"]) or ("const" in branch and branch["const"] is None)
    )


def _of_type(schema: Schema, kind: str) -> Schema:
    """One of the types of a schema, with the keywords that concern it, and without the annotations."""
    made = {key: value for key, value in schema.items() if key not in ANNOTATIONS and not is_foreign(key, kind)}
    return made | {"type": kind}


def _annotated(branch: Schema, outer: Schema) -> Schema:
    """A branch with the annotations of the whole, both descriptions kept."""
    both = [schema["description"] for schema in (outer, branch) if schema.get("description")]
    made = {**branch, **outer}
    if both:
        made["description"] = " ".join(dict.fromkeys(both))
    return made
