"""`form_of`: a form for the arguments of a tool, from its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from tools_core import schema as schemas

Schema: TypeAlias = Any  # a dict or a boolean, as a package wrote it

NOTHING: Any = object()
_MAX_DEPTH = 5  # of nested fields; deeper values are JSON text, as in schemas that contain themselves
_FORMATS = ("date", "time", "date-time")
_SCALARS = {"string": "text", "integer": "number", "number": "number", "boolean": "flag"}
_CODE = ("code", "command", "content", "new_text", "old_text", "patch", "query", "script", "sql")
_MERGED = ("description", "title", "default")  # keywords next to a reference that take precedence


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a form.

    `kind` is text, number, flag, choice, date, time, date-time, bytes, json, object, list, map or union. `fields` are
    the fields of an object, the items of a list or a map, or the variants of a union, of which `selected` is the
    current one. `item` is the template of new items.
    """

    kind: str
    name: str = ""
    label: str = ""
    type: str = ""
    description: str = ""
    is_required: bool = True
    is_code: bool = False
    is_path: bool = False
    value: Any = NOTHING
    default: Any = NOTHING
    choices: Sequence[Any] = ()
    fields: Sequence[Field] = ()
    keys: Sequence[str] = ()  # of the items of a map
    item: Field | None = None
    selected: int = 0

    @property
    def has_value(self) -> bool:
        """Return whether the arguments have this value, or the schema has a default."""
        return self.value is not NOTHING

    @property
    def json(self) -> str:
        """The value as JSON text; empty without a value."""
        return "" if self.value is NOTHING else as_json(self.value)

    @property
    def default_json(self) -> str:
        """The default as JSON text; empty without a default."""
        return "" if self.default is NOTHING else as_json(self.default)

    @property
    def is_constant(self) -> bool:
        """Return whether only one value is possible."""
        return self.kind == "choice" and self.is_required and len(self.choices) == 1

    @property
    def is_group(self) -> bool:
        """Return whether it consists of other fields."""
        return self.kind in ("object", "list", "map", "union")


def as_json(value: Any) -> str:
    """Return a value as compact JSON text, as `JSON.stringify` writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def form_of(schema: Mapping[str, Any], arguments: Mapping[str, Any] | None = None) -> Field:
    """Return the form for the arguments of a tool, filled with arguments; defaults fill the other fields."""
    return _Builder(schema).field(dict(schema) | {"type": "object"}, {} if arguments is None else dict(arguments), 0)


class _Builder:
    """Builds the fields of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = dict(root)

    def field(self, schema: Schema, value: Any = NOTHING, depth: int = 1) -> Field:
        """Return the field for a schema."""
        schema = self._resolved(schema)
        options, is_nullable = self._options(schema)
        default = schema.get("default", NOTHING)
        value = default if value is NOTHING else value
        field = Field(
            kind="json",
            label=str(schema.get("title", "")),
            type=self._describe(schema),
            description=str(schema.get("description", "")),
            value=NOTHING if is_nullable and value is None else value,
            default=default,
        )
        if (choices := _choices(options)) is not None:
            return replace(field, kind="choice", choices=choices)
        if depth > _MAX_DEPTH or not options:
            return field
        if len(options) > 1:
            return self._union(field, options, depth)
        return self._single(field, options[0], depth)

    def _single(self, field: Field, schema: Mapping[str, Any], depth: int) -> Field:
        kind, text_format = schema.get("type"), str(schema.get("format", ""))
        if kind == "object":
            return self._object(field, schema, depth)
        if kind == "array" and isinstance(schema.get("items"), Mapping):
            items = field.value if isinstance(field.value, list) else []
            fields = [self.field(schema["items"], item, depth + 1) for item in items]
            return replace(field, kind="list", fields=fields, item=self.field(schema["items"], depth=depth + 1))
        if kind == "string" and schema.get("contentEncoding") == "base64":
            return replace(field, kind="bytes", type="file")
        if kind == "string" and text_format in _FORMATS:
            return replace(field, kind=text_format, type=text_format.replace("-", " and "))
        return replace(field, kind=_SCALARS.get(str(kind), "json"), is_path=text_format.endswith("path"))

    def _object(self, field: Field, schema: Mapping[str, Any], depth: int) -> Field:
        properties, extra = schema.get("properties", {}), schema.get("additionalProperties", {})
        values = field.value if isinstance(field.value, Mapping) else {}
        if not properties and depth and extra is not False:
            fields = [self.field(extra, value, depth + 1) for value in values.values()]
            return replace(field, kind="map", fields=fields, keys=[*values], item=self.field(extra, depth=depth + 1))
        required = schema.get("required", ())
        fields = [
            replace(
                self.field(part, values.get(name, NOTHING), depth + 1),
                name=name,
                label=name,
                is_required=name in required,
                is_code=name in _CODE,
            )
            for name, part in properties.items()
        ]
        return replace(field, kind="object", fields=fields)

    def _union(self, field: Field, options: Sequence[Mapping[str, Any]], depth: int) -> Field:
        ranks = [self._rank(option, field.value) for option in options]
        selected = ranks.index(max(ranks))
        fields: list[Field] = []
        for number, option in enumerate(options):
            part = self.field(option, field.value if number == selected else NOTHING, depth + 1)
            names = [str(constant.choices[0]) for constant in part.fields if constant.is_constant]
            title = str(option.get("title") or ", ".join(names) or self._describe(option))
            fields.append(replace(part, label=title, description=""))
        return replace(field, kind="union", fields=fields, selected=selected)

    def _rank(self, option: Mapping[str, Any], value: Any) -> tuple[bool, int]:
        """Return how well a value matches a variant: an incomplete object by its valid members."""
        if value is NOTHING or self._fits(option, value):
            return value is not NOTHING, 0
        members = value if isinstance(value, Mapping) else {}
        properties = option.get("properties", {})
        return False, sum(
            self._fits(properties[name], member) for name, member in members.items() if name in properties
        )

    def _resolved(self, schema: Schema) -> dict[str, Any]:
        """Return a schema without a reference at its root."""
        schema = dict(schema) if isinstance(schema, Mapping) else {}
        for _ in range(_MAX_DEPTH):
            parts = schema.get("allOf", ())
            if "$ref" in schema:
                target: Schema = {}
                with suppress(LookupError):
                    target = schemas.resolve(self._root, schema["$ref"])
            elif len(parts) == 1:
                target = parts[0]
            else:
                break
            outer = {key: schema[key] for key in _MERGED if key in schema}
            schema = {**(target if isinstance(target, Mapping) else {}), **outer}
        return cast("dict[str, Any]", schema)

    def _options(self, schema: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
        """Return the alternatives of a schema, and whether null is also allowed."""
        options = [self._resolved(option) for option in schema.get("anyOf") or schema.get("oneOf") or ()]
        types = schema.get("type")
        if not options and isinstance(types, list):
            options = [{**schema, "type": name} for name in types]
        options = options or [schema]
        others = [option for option in options if option.get("type") != "null" and option.get("const", 0) is not None]
        return others, len(others) < len(options)

    def _fits(self, option: Mapping[str, Any], value: Any) -> bool:
        definitions: dict[str, Any] = {key: self._root[key] for key in ("$defs", "definitions") if key in self._root}
        try:
            return schemas.compile({**definitions, **option}).is_valid(value)
        except schemas.SchemaError:
            return False

    def _describe(self, schema: Mapping[str, Any]) -> str:
        try:
            text = schemas.describe(dict(schema), self._root)
        except (schemas.SchemaError, LookupError):
            return ""
        return text.removeprefix("an ").removeprefix("a ")


def _choices(options: Sequence[Mapping[str, Any]]) -> list[Any] | None:
    """Return the values of alternatives that consist of constants."""
    values: list[Any] = []
    for option in options:
        if "const" in option:
            values.append(option["const"])
        elif isinstance(option.get("enum"), list):
            values += [value for value in option["enum"] if value is not None]
        else:
            return None
    return values
