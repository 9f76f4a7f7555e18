"""`Document`: references, and schemas as JSON Schema 2020-12."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from tools_core import schema

Schema = dict[str, Any]

_OPENAPI_ONLY = frozenset(("nullable", "example", "discriminator", "xml", "externalDocs", "readOnly", "writeOnly"))
_SUBSCHEMAS = frozenset(("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"))
_LISTS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_MAPS = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
_BOUNDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
_JAVASCRIPT = re.compile(r"/\^.*\$/[a-z]*")  # a literal instead of a pattern
_MAX_CHAIN = 20  # references that lead to references


class CannotSendError(ValueError):
    """An operation that cannot be sent, with the reason."""


class Document:
    """An OpenAPI document of version 3.0 or 3.1."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self._is_old = str(data.get("openapi", "3.0")).startswith("3.0")

    def resolve(self, value: Any) -> Any:
        """Follow references within the document."""
        for _ in range(_MAX_CHAIN):
            if not isinstance(value, Mapping) or not isinstance(value.get("$ref"), str):
                return value
            value = self._target(value["$ref"])
        raise CannotSendError("a reference leads back to itself")

    def object_of(self, value: Any, parents: tuple[int, ...] = ()) -> dict[str, Any]:
        """Return a schema whose references and `allOf` at the root are merged; others remain."""
        value = self.resolve(value)
        if not isinstance(value, Mapping) or id(value) in parents:  # a part of itself
            return {}
        merged: dict[str, Any] = {}
        parts = [_without_children(self.object_of(part, (*parents, id(value)))) for part in value.get("allOf") or ()]
        rest = {key: item for key, item in value.items() if key != "allOf" and not _is_mistake(key, item)}
        for part in (*parts, rest):
            properties = {**merged.get("properties", {}), **part.get("properties", {})}
            required = [*dict.fromkeys([*merged.get("required", ()), *part.get("required", ())])]
            merged |= part
            merged |= {"properties": properties} if properties else {}
            merged |= {"required": required} if required else {}
        return merged

    def alternatives(self, value: Any) -> list[dict[str, Any]]:
        """Return a schema and all that its `anyOf` and `oneOf` offer, each once, as `object_of` returns them."""
        schemas: dict[int, tuple[Any, dict[str, Any]]] = {}  # a schema must live as long as its id
        waiting = [value]
        while waiting:
            item = self.resolve(waiting.pop())
            if id(item) not in schemas:
                merged = self.object_of(item)
                schemas[id(item)] = item, merged
                waiting += [*(merged.get("anyOf") or ()), *(merged.get("oneOf") or ())]
        return [merged for _, merged in schemas.values()]

    def types(self, value: Any) -> set[str]:
        """Return the types that a schema states; empty if it allows any."""
        stated = set[str]()
        for merged in self.alternatives(value):
            types = merged.get("type") or (["object"] if "properties" in merged else [])
            stated |= {types} if isinstance(types, str) else {*types}
        return stated

    def is_read_only(self, value: Any) -> bool:
        """Return whether a property is only in responses."""
        resolved = self.resolve(value)
        return isinstance(resolved, Mapping) and resolved.get("readOnly") is True

    def json_schema(self, value: Schema) -> Schema:
        """Return the schema of arguments, with all that it refers to, as far as it can be enforced."""
        conversion = _Conversion(self, siblings=not self._is_old)
        converted: Schema = conversion.convert(value)
        while conversion.waiting:  # no recursion: the references of large documents are a long chain
            name, reference = conversion.waiting.pop()
            conversion.definitions[name] = conversion.convert(self.target(reference))
        if conversion.definitions:
            converted["$defs"] = conversion.definitions
        return schema.enforceable(converted)[0]  # the server validates them again

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise CannotSendError(f"{reference} is not in the document: bundle the document into one file")
        value: Any = self.data
        keys = pointer_keys(reference)
        if not keys:  # an anchor, or the whole document
            raise CannotSendError(f"{reference} is not in the document")
        if keys[:1] == ["$defs"] and "$defs" not in self.data:
            value = {"$defs": self._nested_definitions}  # pydantic and others refer to the root of the schema
        for key in keys:
            try:
                value = value[int(key) if isinstance(value, list) else key]
            except (KeyError, TypeError, ValueError, IndexError):
                raise CannotSendError(f"{reference} is not in the document") from None
        return value

    @cached_property
    def _nested_definitions(self) -> dict[str, Any]:
        """The definitions inside of schemas, by name."""
        definitions, waiting = dict[str, Any](), [self.data]
        while waiting:
            value: Any = waiting.pop()
            if isinstance(value, Mapping):
                if isinstance(value.get("$defs"), Mapping):
                    definitions = {**value["$defs"], **definitions}
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value
        return definitions

    def target(self, reference: str) -> Any:
        """Return what a reference names, which may be another reference."""
        self.resolve({"$ref": reference})
        return self._target(reference)


class _Conversion:
    """Converts schemas; each part of the document that they refer to becomes one definition."""

    def __init__(self, document: Document, *, siblings: bool) -> None:
        self.document, self.siblings = document, siblings
        self.definitions: dict[str, Any] = {}
        self.waiting: list[tuple[str, str]] = []  # names of definitions, and their references
        self._names: dict[str, str] = {}  # by reference

    def convert(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str):
            siblings = value if self.siblings else {k: v for k, v in value.items() if k == "description"}
            rest = self._converted({key: item for key, item in siblings.items() if key != "$ref"})
            converted = {"$ref": f"#/$defs/{self._definition(reference)}", **rest}
            return _nullable(converted) if value.get("nullable") is True else converted  # meant, if not said in 3.0
        return self._converted(value)

    def _parts(self, keyword: str, value: Mapping[str, Any]) -> list[Any]:
        """Return the schemas of a keyword; those of `allOf` are open to the members of others."""
        if keyword != "allOf":
            return list(value[keyword])
        is_extended = len(value[keyword]) > 1 or "properties" in value
        return [self._parent(part, is_extended=is_extended) for part in value[keyword]]

    def _parent(self, value: Any, *, is_extended: bool) -> Any:
        """Return a part of `allOf`; a schema that lists its children, which refer to it, without these."""
        target = self.document.resolve(value)
        alone = _without_children(target) if isinstance(target, Mapping) else target
        if is_extended and isinstance(alone, Mapping) and alone.get("additionalProperties") is False:
            alone = {key: item for key, item in alone.items() if key != "additionalProperties"}
        return value if alone is target else alone

    def _definition(self, reference: str) -> str:
        if reference not in self._names:
            keys = [re.sub(r"[^\w.-]+", "_", key) for key in pointer_keys(reference)]
            starts = range(len(keys) - 1, -1, -1)  # the last key, or more of them if another definition has its name
            name = next((n for n in ("_".join(keys[at:]) for at in starts) if n not in self.definitions), None)
            name = name or f"{'_'.join(keys)}_{len(self._names)}"
            self._names[reference] = name
            self.definitions[name] = {}
            self.waiting.append((name, reference))
        return self._names[reference]

    def _converted(self, value: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for keyword, part in value.items():
            if _is_dropped(keyword, part):
                continue
            if keyword == "properties" and isinstance(part, Mapping):
                properties = {name: item for name, item in part.items() if not self.document.is_read_only(item)}
                result[keyword] = {name: self.convert(item) for name, item in properties.items()}
            elif keyword in _MAPS and isinstance(part, Mapping):
                result[keyword] = {name: self.convert(item) for name, item in part.items()}
            elif keyword in _LISTS and isinstance(part, list):
                # A server decides which alternative it takes; many documents have some that overlap.
                result["anyOf" if keyword == "oneOf" and "anyOf" not in value else keyword] = [
                    self.convert(item) for item in self._parts(keyword, value)
                ]
            elif keyword in ("const", "default", "enum"):
                result[keyword] = _values(part, keyword, value.get("type"))
            else:
                result[keyword] = self.convert(part) if keyword in _SUBSCHEMAS else part
        if "properties" in result and "required" in result:
            absent = value["properties"].keys() - result["properties"].keys()
            result["required"] = [name for name in result["required"] if name not in absent]
        for bound, exclusive in _BOUNDS:  # of 3.0
            if isinstance(result.get(exclusive), bool) and result.pop(exclusive) and bound in result:
                result[exclusive] = result.pop(bound)
        return _nullable(result) if value.get("nullable") is True else result


def pointer_keys(reference: str) -> list[str]:
    """Return the keys of a JSON pointer in a fragment."""
    keys = unquote(reference.partition("#")[2]).split("/")[1:]
    return [key.replace("~1", "/").replace("~0", "~") for key in keys]


def _is_dropped(keyword: str, part: Any) -> bool:
    """Return whether a keyword is no JSON Schema, or a mistake of a generator that would refuse every value."""
    return keyword in _OPENAPI_ONLY or keyword.startswith("x-") or _is_mistake(keyword, part)


def _is_mistake(keyword: str, part: Any) -> bool:
    if keyword == "properties":
        return not isinstance(part, Mapping)  # PHP writes [] for an empty object
    if keyword == "required":
        return not isinstance(part, list)
    return (keyword == "enum" and not part) or (keyword == "pattern" and bool(_JAVASCRIPT.fullmatch(str(part))))


def _values(part: Any, keyword: str, kind: Any) -> Any:
    """Return the value, or the values of an enumeration, as JSON has them: YAML reads dates, and `on` as a bool."""
    value = json.loads(json.dumps(part, default=lambda item: getattr(item, "isoformat", item.__str__)()))
    if keyword != "enum" or not isinstance(value, list):
        return value
    items = [json.dumps(item) if kind == "string" and not isinstance(item, str | None) else item for item in value]
    return list({json.dumps(item): item for item in items}.values())  # some clients want no twins


def _without_children(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if "discriminator" not in value or value.keys().isdisjoint(("oneOf", "anyOf")):
        return value
    return {key: item for key, item in value.items() if key not in ("oneOf", "anyOf", "discriminator")}


def _nullable(value: Schema) -> Schema:
    """Return a schema that also accepts null."""
    if isinstance(value.get("type"), str):
        enum = {"enum": [*value["enum"], None]} if "enum" in value and None not in value["enum"] else {}
        return {**value, "type": [value["type"], "null"], **enum}
    texts: Schema = {key: value[key] for key in ("description", "title", "default") if key in value}
    rest = {key: item for key, item in value.items() if key not in texts}
    return {**texts, "anyOf": [rest, {"type": "null"}]} if rest else value
