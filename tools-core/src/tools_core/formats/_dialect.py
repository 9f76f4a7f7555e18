"""What a dialect of schemas has to say for itself, and what it says in words."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tools_core._jsonschema._keywords import CONSTRAINTS
from tools_core.formats._errors import FormatError
from tools_core.formats._format import schema_of
from tools_core.formats._merge import UNIONS
from tools_core.formats._plan import TEXT, Choice
from tools_core.formats._shape import Shape
from tools_core.formats._standalone import standalone
from tools_core.formats._types import ANNOTATIONS, STRUCTURE, is_foreign
from tools_core.formats._words import NOTES, default_words, described, note, text

TYPE_CHECKING = False  # importing typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from tools_core.formats._format import Definition
    from tools_core.formats._plan import Member, Plan

    Schema: TypeAlias = dict[str, Any]
    Place: TypeAlias = tuple[str, ...]


class Written:
    """A schema in the dialect, how to undo it, and what its values look like."""

    __slots__ = ("plan", "schema", "shape")

    def __init__(self, schema: Schema, plan: Plan, shape: Shape) -> None:
        self.schema = schema
        self.plan = plan
        self.shape = shape


class Dialect(ABC):
    """One definition's schema in a provider's dialect: the parts that do not have parts themselves."""

    kept: dict[str, frozenset[str]]  # keywords that the dialect has, by type
    requires_all = False  # whether every member of an object has to be there on the wire

    def __init__(self, definition: Definition, format: str) -> None:  # noqa: A002  (the field's word)
        self.root: Any = schema_of(definition)
        self.tool: str = definition["name"]
        self.format = format

    def as_text(self, schema: Any) -> Written:
        """JSON text in place of what the dialect has no schema for."""
        outer = {key: value for key, value in schema.items() if key in ANNOTATIONS}
        inner = {key: value for key, value in schema.items() if key in CONSTRAINTS}
        for union in schema.get(UNIONS, ()):
            inner["allOf"] = [*inner.get("allOf", ()), {"anyOf": union}]
        if inner in ({}, {"type": "object"}, {"type": "array"}):
            said = {"object": "an object", "array": "an array"}.get(inner.get("type", ""), "any value")
            said = f"JSON text of {said}"
        else:
            said = f"JSON text that fits the JSON Schema {text(standalone(inner, self.root))}"
        outer[NOTES] = [said, *schema.get(NOTES, ())]
        return Written(self.base("string", outer), TEXT, Shape(["string"]))

    def rest(self, schema: Schema) -> Schema:
        """The member for the further ones of an open object."""
        keys = ("additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties")
        inner = {key: schema[key] for key in keys if key in schema and schema[key] is not True and schema[key] != {}}
        made = self.as_text({"type": "object", "description": "Further members", **inner})
        return self.nullable(made).schema if self.requires_all else made.schema

    def description(self, schema: Schema, notes: list[str]) -> Schema:
        """The keywords that describe: title and description, with what only words can say."""
        default = schema.get("default")
        said = [note(key, schema[key]) or "" for key in ("deprecated", "examples") if key in schema]
        if default is not None:
            said.insert(0, default_words(default))
        words = described(schema.get("description"), [*schema.get(NOTES, ()), *notes, *said])
        made = {"title": schema["title"]} if isinstance(schema.get("title"), str) else {}
        return made | ({"description": words} if words else {})

    def base(self, kind: str, schema: Schema) -> Schema:
        """The type, what the dialect keeps of the schema's own keywords, and the description."""
        made: Schema = {"type": self.type_name(kind)}
        notes: list[str] = []
        raw: Schema = {}
        for key, value in schema.items():
            if key in STRUCTURE or is_foreign(key, kind):
                continue
            if key in self.kept[kind] and self.keep(made, key, value):
                continue
            said = note(key, value)
            if said:
                notes.append(said)
            elif said is None and key in CONSTRAINTS:
                raw[key] = value
        if raw:
            notes.append(f"must fit the JSON Schema {text(standalone(raw, self.root))}")
        return made | self.description(schema, notes)

    def error(self, problem: str, place: Place) -> FormatError:
        """The error that names the tool, the place and the format."""
        return FormatError(problem, tool=self.tool, path="/".join(place), format=self.format)

    def texts_for(self, values: list[Any]) -> Choice | None:
        """A text for each value; None when they would not tell the values apart."""
        texts = {value if isinstance(value, str) and value else text(value): value for value in values}
        return Choice(texts) if len(texts) == len({text(value) for value in values}) else None

    def member_name(self, key: str, taken: dict[str, Any]) -> str:
        """The name of a member on the wire."""
        while key in taken:
            key += "_"
        return key

    @abstractmethod
    def type_name(self, kind: str) -> str:
        """A JSON type as the dialect spells it."""

    @abstractmethod
    def keep(self, made: Schema, key: str, value: Any) -> bool:
        """Write a keyword that the dialect has; False when it cannot hold this value."""

    @abstractmethod
    def choice(self, values: list[Any], schema: Schema) -> Written:
        """Write an enum."""

    @abstractmethod
    def nullable(self, written: Written) -> Written:
        """The same, or null."""

    @abstractmethod
    def any_of(self, branches: list[Schema], description: Schema) -> Schema:
        """Write alternatives."""

    @abstractmethod
    def member(self, child: Written, key: str, part: Any, *, is_required: bool) -> tuple[Written, Member]:
        """Write one member of an object."""

    @abstractmethod
    def closed_object(self, properties: dict[str, Schema], required: list[str]) -> Schema:
        """Write an object that has these members."""
