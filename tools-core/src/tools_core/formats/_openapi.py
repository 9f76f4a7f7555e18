"""Gemini's dialect: the subset of OpenAPI that its function declarations take."""

from __future__ import annotations

from tools_core.formats._dialect import Written
from tools_core.formats._memory import remembered
from tools_core.formats._plan import KEEP, VALUE, Member
from tools_core.formats._quick import gemini_object
from tools_core.formats._rewrite import Rewriter
from tools_core.formats._shape import Shape

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from tools_core.formats._dialect import Place, Schema
    from tools_core.formats._format import Definition
    from tools_core.formats._plan import Plan

_LONGEST_NAME = 64  # of a member
_FORMATS = {
    "STRING": frozenset(("date-time",)),
    "INTEGER": frozenset(("int32", "int64")),
    "NUMBER": frozenset(("double", "float")),
}


def gemini_schema(definition: Definition, format: str) -> dict[str, Any] | None:  # noqa: A002  (the field's word)
    """The parameters of a function declaration; None for a tool that takes nothing.

    Raises: FormatError for a recursive schema, and for what is no schema.
    """
    given = definition.get("input_schema")
    schema = gemini_object(given)
    if schema is None:
        schema = remembered(given, format, lambda: OpenApiRewriter(definition, format).arguments().schema)
    return schema if schema.get("properties") else None


def gemini_plan(definition: Definition, format: str) -> Plan | None:  # noqa: A002  (the field's word)
    """How to undo `gemini_schema` in arguments; None when there is nothing to undo."""
    plan = OpenApiRewriter(definition, format).arguments().plan
    return plan if plan.changes(set()) else None


class OpenApiRewriter(Rewriter):
    """References are written out, null is a flag, and only texts can be listed."""

    kept = {  # noqa: RUF012  (a constant of the class, typed in the base)
        "string": frozenset(("format", "maxLength", "minLength", "pattern")),
        "number": frozenset(("format", "maximum", "minimum")),
        "integer": frozenset(("exclusiveMaximum", "exclusiveMinimum", "format", "maximum", "minimum")),
        "array": frozenset(("maxItems", "minItems")),
        "object": frozenset(("maxProperties", "minProperties")),
        "boolean": frozenset(),
        "null": frozenset(),
    }

    def __init__(self, definition: Definition, format: str) -> None:  # noqa: A002  (the field's word)
        super().__init__(definition, format)
        self._open: list[str] = []  # the references that are being written out

    def type_name(self, kind: str) -> str:
        return kind.upper()

    def keep(self, made: Schema, key: str, value: Any) -> bool:
        if key == "format":
            if value not in _FORMATS[made["type"]]:
                return False
        elif key == "exclusiveMinimum":  # of integers alone: the next one is the least
            key, value = "minimum", max(int(value // 1) + 1, made.get("minimum", int(value // 1) + 1))
        elif key == "exclusiveMaximum":
            key, value = "maximum", min(-int(-value // 1) - 1, made.get("maximum", -int(-value // 1) - 1))
        elif key == "minimum":
            value = max(value, made.get(key, value))
        elif key == "maximum":
            value = min(value, made.get(key, value))
        made[key] = value
        return True

    def reference(self, schema: Schema, place: Place) -> Written:
        reference = schema["$ref"]
        if reference in self._open:
            raise self.error(
                f"the schema is recursive ({reference} contains itself), and this provider takes none that is; "
                f"limit its depth, or take an open object",
                place,
            )
        target = self.target(reference, place)
        outer = {key: value for key, value in schema.items() if key != "$ref"}
        self._open.append(reference)
        made = self.node({**target, **outer} if isinstance(target, dict) else target, place)
        self._open.pop()
        return made

    def choice(self, values: list[Any], schema: Schema) -> Written:
        some = [value for value in values if value is not None]
        if not some:
            return Written(self.base("null", schema), KEEP, Shape(["null"]))
        plan: Plan = KEEP
        if any(not isinstance(value, str) or not value for value in some):
            texts = self.texts_for(some)
            if texts is None:
                return self.as_text(schema)
            plan, some = texts, list(texts.values)
        relevant = {key: value for key, value in schema.items() if key != "format"}
        made = Written(self.base("string", relevant) | {"enum": list(some)}, plan, Shape(["string"], values=some))
        return self.nullable(made) if None in values else made

    def nullable(self, written: Written) -> Written:
        schema = dict(written.schema)
        if "anyOf" in schema:  # nothing may stand beside it
            schema["anyOf"] = [{**branch, "nullable": True} for branch in schema["anyOf"]]
        else:
            schema["nullable"] = True
        return Written(schema, written.plan, written.shape.or_null())

    def any_of(self, branches: list[Schema], description: Schema) -> Schema:
        flat = [part for branch in branches for part in branch.get("anyOf", [branch])]
        if "description" in description:  # nothing may stand beside anyOf: the first alternative says it
            words = [description["description"], flat[0].get("description", "")]
            flat[0] = {**flat[0], "description": " ".join(filter(None, words))}
        return {"anyOf": flat}

    def member(self, child: Written, key: str, part: Any, *, is_required: bool) -> tuple[Written, Member]:  # noqa: ARG002  (what only strict changes)
        return child, Member(key, child.plan, VALUE)

    def member_name(self, key: str, taken: dict[str, Any]) -> str:
        if not (key.isidentifier() and key.isascii() and len(key) <= _LONGEST_NAME):
            key = "".join([c if c.isascii() and c.isalnum() else "_" for c in key])[: _LONGEST_NAME - 4]
            key = key if key.isidentifier() else f"_{key}"
        return super().member_name(key, taken)

    def closed_object(self, properties: dict[str, Schema], required: list[str]) -> Schema:
        made: Schema = {"type": "OBJECT", "properties": properties}
        return made | ({"required": required} if required else {})
