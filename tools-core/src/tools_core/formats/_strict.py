"""Strict mode: the provider guarantees arguments that match a schema with fewer keywords.

Objects are closed. For OpenAI all members are required: optional ones accept null instead, and `without_absent` removes
these nulls. Limits that strict mode does not support move into the description; the tool itself validates them.

Sources: OpenAI, "Structured Outputs", "Supported schemas"; Anthropic, "Structured outputs", "JSON Schema limitations".
"""

from __future__ import annotations

import json
from typing import Any

from tools_core._jsonschema._types import accepts_null, flatten
from tools_core._values._errors import InvalidArguments
from tools_core._values._tool_call import ToolCall

# OpenAI's limits: levels of objects, characters of names and values, values of all enums.
_MAX_DEPTH, _MAX_CHARACTERS, _MAX_VALUES = 10, 120_000, 1_000
_SUPPORTED = frozenset(("title", "description", "type", "enum", "const"))
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems")
_FORMATS = frozenset(("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"))
_UNSUPPORTED_PATTERNS = ("(?", "\\b", "\\B", "\\p", "\\P", "\\1", "\\2")  # lookarounds, boundaries, back references
# Moved into the description if the provider's strict mode does not support them.
_DESCRIBED = (
    "default", "examples", "format", "pattern", *_BOUNDS, "minLength", "maxLength", "uniqueItems", "minProperties",
    "maxProperties", "contentEncoding", "contentMediaType",
)  # fmt: skip
_UNSUPPORTED = frozenset({
    "allOf", "contains", "dependentRequired", "dependentSchemas", "else", "if", "maxContains", "minContains", "not",
    "patternProperties", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip


class _NotStrictError(ValueError):
    """A schema that has no strict form."""


def strict_schema(schema: dict[str, Any], *, is_openai: bool) -> StrictSchema | None:
    """Return the strict form of an object schema; None if it has none, or is not a valid schema."""
    try:
        return StrictSchema(schema, is_openai=is_openai)
    except (_NotStrictError, AttributeError, TypeError):
        return None


class StrictSchema:
    """An object schema in strict form, with the numbers of optional members and unions, which Anthropic limits."""

    def __init__(self, root: dict[str, Any], *, is_openai: bool) -> None:
        self._root = root
        self._is_openai = is_openai
        self._definitions: dict[tuple[str, str], Any] = {}  # None while it is being converted
        self._values = self.optional = self.unions = 0
        self.schema = self._node(root, 0)
        for (place, name), definition in self._definitions.items():
            self.schema.setdefault(place, {})[name] = definition
        if self._values > _MAX_VALUES or len(json.dumps(self.schema)) > _MAX_CHARACTERS:
            raise _NotStrictError("too large")

    def _keeps(self, key: str, value: Any) -> bool:
        if key == "pattern":
            return self._is_openai and not any(part in value for part in _UNSUPPORTED_PATTERNS)
        if key == "format":
            return value in _FORMATS
        if not self._is_openai and key == "minItems":
            return value in (0, 1)
        return key in _SUPPORTED or key in (_BOUNDS if self._is_openai else ("default",))

    def _node(self, schema: Any, level: int) -> dict[str, Any]:
        if not _UNSUPPORTED.isdisjoint(schema):
            raise _NotStrictError("an unsupported keyword")
        strict = {key: value for key, value in schema.items() if self._keeps(key, value)}
        described = [key for key in _DESCRIBED if key not in strict and schema.get(key) is not None]
        if described:
            words = "; ".join(f"{key}: {json.dumps(schema[key], ensure_ascii=False)}" for key in described)
            strict["description"] = f"{strict['description']} ({words})" if strict.get("description") else words
        if "$ref" in schema:
            return self._reference(strict, schema["$ref"], level)
        if "anyOf" in schema or "oneOf" in schema:
            strict["anyOf"] = [self._node(part, level) for part in schema.get("anyOf", schema.get("oneOf"))]
        elif "type" not in strict:
            raise _NotStrictError("any type")
        types = strict.get("type", "")
        self.unions += "anyOf" in strict or isinstance(types, list)
        values = strict.get("enum", [strict.get("const")])
        if any(isinstance(value, dict | list) for value in values):
            raise _NotStrictError("a choice of objects or arrays")
        self._values += len(values)
        if "object" in types:
            self._members(strict, schema, level + 1)
        if "array" in types:
            strict["items"] = self._node(schema.get("items"), level)
        return strict

    def _reference(self, strict: dict[str, Any], reference: Any, level: int) -> dict[str, Any]:
        place, _, name = str(reference).removeprefix("#/").partition("/")
        is_known = reference == "#" or (place in ("$defs", "definitions") and name in self._root.get(place, ()))
        if not is_known or strict.keys() - {"title", "description", "default"}:
            raise _NotStrictError("a reference to another place, or with limits beside it")
        if reference != "#" and (place, name) not in self._definitions:
            self._definitions[place, name] = None
            self._definitions[place, name] = self._node(self._root[place][name], level)
        elif not self._is_openai and (reference == "#" or self._definitions[place, name] is None):
            raise _NotStrictError("recursion")
        return {"anyOf": [{"$ref": reference}], **strict} if strict else {"$ref": reference}

    def _members(self, strict: dict[str, Any], schema: dict[str, Any], level: int) -> None:
        members = schema.get("properties", {})
        required = schema.get("required", [])
        # An object without properties is open, except at the root: such a tool has no arguments.
        if schema.get("additionalProperties", not members and level > 1) is not False:
            raise _NotStrictError("an open object")
        if level > _MAX_DEPTH or not members.keys() >= set(required):
            raise _NotStrictError("objects nested too deeply, or a required member without a schema")
        strict["properties"] = {name: self._node(member, level) for name, member in members.items()}
        optional = [name for name in members if name not in required]
        self.optional += len(optional)
        for name in optional if self._is_openai else ():
            if not accepts_null(members[name], self._root):
                strict["properties"][name] = _nullable(strict["properties"][name])
        strict["required"] = list(members) if self._is_openai else [name for name in members if name in required]
        strict["additionalProperties"] = False


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type", "object")
    types = kind if isinstance(kind, list) else [kind]
    if "anyOf" in schema or not {"object", "array"}.isdisjoint(types):
        outer = {key: value for key, value in schema.items() if key in ("title", "description")}
        inner = {key: value for key, value in schema.items() if key not in outer}
        return {"anyOf": [*(inner["anyOf"] if inner.keys() == {"anyOf"} else [inner]), {"type": "null"}], **outer}
    strict = {key: value for key, value in schema.items() if key != "const"} | {"type": [*types, "null"]}
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return strict | {"enum": [*values, None]} if values else strict


def without_absent(call: ToolCall, schema: Any) -> ToolCall:
    """Remove nulls that represent absent members: the optional members for which the tool does not accept null."""
    if call.raw is not None and "null" not in call.raw:
        return call
    try:
        arguments = call.arguments
    except InvalidArguments:  # the tool itself reports them
        return call
    return ToolCall(call.id, call.name, _without_absent(arguments, [schema], schema))


def _without_absent(value: Any, schemas: list[Any], root: Any) -> Any:
    parts = [part for schema in schemas for part in flatten(schema, root)]
    if isinstance(value, list):
        items = [part["items"] for part in parts if "items" in part]
        return [_without_absent(item, items, root) for item in value]
    if not isinstance(value, dict):
        return value
    present: dict[str, Any] = {}
    for name, item in value.items():
        owners = [part for part in parts if name in part.get("properties", ())]
        members = [part["properties"][name] for part in owners]
        is_required = all(name in part.get("required", ()) for part in owners)
        if item is not None or is_required or any(accepts_null(member, root) for member in members):
            present[name] = _without_absent(item, members, root)
    return present
