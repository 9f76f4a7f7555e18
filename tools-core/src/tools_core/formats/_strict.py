"""OpenAI's strict dialect: a schema that decoding is forced into."""

from __future__ import annotations

from tools_core.formats._dialect import Written
from tools_core.formats._limits import check_limits
from tools_core.formats._memory import remembered
from tools_core.formats._plan import ABSENT, KEEP, NEVER, VALUE, Choice, Member, Reference
from tools_core.formats._quick import strict_object
from tools_core.formats._rewrite import Rewriter
from tools_core.formats._shape import EVERY_TYPE, Shape
from tools_core.formats._standalone import name_of
from tools_core.formats._types import infer_types, types_of_values

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from tools_core.formats._dialect import Place, Schema
    from tools_core.formats._format import Definition
    from tools_core.formats._plan import Plan

_FORMATS = frozenset(("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"))
_NUMBER = frozenset(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"))
_DEEPEST_LOOK = 5
# Keywords that can make something else of an object, or of an array.
_UNCERTAIN = frozenset(("$ref", "allOf", "anyOf", "const", "enum", "oneOf", "prefixItems"))
_BOXED = 'null: not given; to give it, null included: {"value": ...}'
_UNSUPPORTED_PATTERNS = ("(?", "\\b", "\\B", "\\1", "\\2", "\\p", "\\P")  # lookarounds and their like are refused


def strict_schema(definition: Definition, format: str) -> dict[str, Any]:  # noqa: A002  (the field's word)
    """The parameters of a strict function.

    Raises: FormatError for what exceeds the provider's limits, and for what is no schema.
    """
    given = definition.get("input_schema")
    quick = strict_object(given)
    if quick is not None:
        return quick
    schema: dict[str, Any] = remembered(given, format, lambda: _write(definition, format))
    return schema


def _write(definition: Definition, format: str) -> Schema:  # noqa: A002  (the field's word)
    rewriter = StrictRewriter(definition, format)
    schema = rewriter.document()
    check_limits(schema, rewriter)
    return schema


def strict_plan(definition: Definition, format: str) -> Plan | None:  # noqa: A002  (the field's word)
    """How to undo `strict_schema` in arguments; None when there is nothing to undo."""
    plan = StrictRewriter(definition, format).arguments().plan
    return plan if plan.changes(set()) else None


class StrictRewriter(Rewriter):
    """Objects are closed, and what may be absent is null instead."""

    requires_all = True

    kept = {  # noqa: RUF012  (a constant of the class, typed in the base)
        "string": frozenset(("format", "pattern")),
        "number": _NUMBER,
        "integer": _NUMBER,
        "array": frozenset(("maxItems", "minItems")),
        "object": frozenset(),
        "boolean": frozenset(),
        "null": frozenset(),
    }

    def __init__(self, definition: Definition, format: str) -> None:  # noqa: A002  (the field's word)
        super().__init__(definition, format)
        self._names: dict[str, str] = {}
        self._written: dict[str, Written | None] = {}  # None while it is in the making
        self._plans: dict[str, Plan] = {}

    def document(self) -> Schema:
        """The whole schema, with the definitions that it refers to."""
        schema = self.arguments().schema
        if self._written:
            schema["$defs"] = {name: written.schema for name, written in self._written.items() if written}
        return schema

    def type_name(self, kind: str) -> str:
        return kind

    def keep(self, made: Schema, key: str, value: Any) -> bool:
        if (key == "format" and value not in _FORMATS) or (
            key == "pattern" and any(part in value for part in _UNSUPPORTED_PATTERNS)
        ):
            return False
        made[key] = value
        return True

    def reference(self, schema: Schema, place: Place) -> Written:
        reference = schema["$ref"]
        target = self.target(reference, place)
        name = self._names.get(reference)
        if name is None:
            name = self._names[reference] = name_of(reference, self._names.values())
            if isinstance(target, dict) and "$ref" in target and not target.keys() - {"$ref"}:
                self._flat(target, ("$defs", name))  # refuses one that leads nowhere
            self._written[name] = None
            made = self._written[name] = self.node(target, ("$defs", name))
            self._plans[name] = made.plan
        known = self._written[name]
        shape = known.shape if known is not None else _guess(target, self)
        out: Schema = {"$ref": f"#/$defs/{name}"}
        description = self.description(schema, [])
        if description:  # nothing may stand beside a reference
            out = {"anyOf": [out], **description}
        return Written(out, Reference(name, self._plans), shape)

    def choice(self, values: list[Any], schema: Schema) -> Written:
        kinds = types_of_values(values)
        plan: Plan = KEEP
        if "object" in kinds or "array" in kinds:
            texts = self.texts_for(values)
            if texts is None:
                return self.as_text(schema)
            plan, values, kinds = texts, list(texts.values), ["string"]
        if "number" in kinds and "integer" in kinds:
            kinds.remove("integer")
        made = self.base(kinds[0], {key: value for key, value in schema.items() if key not in _NUMBER})
        made["type"] = kinds[0] if len(kinds) == 1 else kinds
        if "const" in schema and not isinstance(plan, Choice):
            made["const"] = values[0]
        else:
            made["enum"] = list(values)
        return Written(made, plan, Shape(kinds, values=values))

    def nullable(self, written: Written) -> Written:
        if "null" in written.shape.types and written.shape.types != EVERY_TYPE:  # which is a guess
            return written
        schema = dict(written.schema)
        kind = schema.get("type")
        if kind in ("object", "array") or "$ref" in schema:
            outer = {key: schema.pop(key) for key in ("title", "description") if key in schema}
            schema = {"anyOf": [schema, {"type": "null"}]} | outer
        elif kind is None:
            schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
        else:
            schema["type"] = [*(kind if isinstance(kind, list) else [kind]), "null"]
            if "const" in schema:
                schema["enum"] = [schema.pop("const")]
            if "enum" in schema:
                schema["enum"] = [*schema["enum"], None]
        return Written(schema, written.plan, written.shape.or_null())

    def any_of(self, branches: list[Schema], description: Schema) -> Schema:
        return {"anyOf": branches, **description}

    def member(self, child: Written, key: str, part: Any, *, is_required: bool) -> tuple[Written, Member]:
        takes_null = "null" in child.shape.types
        if is_required:
            return child, Member(key, child.plan, VALUE if takes_null else NEVER)
        if not takes_null or (isinstance(part, dict) and part.get("default", part) is None):
            return self.nullable(child), Member(key, child.plan, ABSENT)
        # Null is a value of its own here: another form has to say that there is none.
        boxed = self.closed_object({"value": child.schema}, ["value"])
        made = {"anyOf": [boxed, {"type": "null"}], "description": _BOXED}
        return Written(made, child.plan, Shape(["object", "null"])), Member(key, child.plan, ABSENT, is_boxed=True)

    def closed_object(self, properties: dict[str, Schema], required: list[str]) -> Schema:
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _guess(target: Any, rewriter: StrictRewriter) -> Shape:
    """The shape of a definition that is still in the making, as far as it is certain."""
    if isinstance(target, dict) and target.keys().isdisjoint(_UNCERTAIN):
        if target.get("type") == "object" and target.get("properties"):
            return Shape(["object"])
        if target.get("type") == "array":
            return Shape(["array"])
    return Shape(EVERY_TYPE - {"null"} if _is_never_null(target, rewriter, 0) else EVERY_TYPE)


def _is_never_null(schema: Any, rewriter: StrictRewriter, depth: int) -> bool:
    if not isinstance(schema, dict) or depth > _DEEPEST_LOOK:
        return False
    if "type" in schema:
        return "null" not in infer_types(schema)
    if "enum" in schema or "const" in schema:
        return schema.get("const", 0) is not None and None not in schema.get("enum", ())
    if "$ref" in schema:
        return _is_never_null(rewriter.target(schema["$ref"], ()), rewriter, depth + 1)
    parts = schema.get("anyOf") or schema.get("oneOf") or ()
    return bool(parts) and all(_is_never_null(part, rewriter, depth + 1) for part in parts)
