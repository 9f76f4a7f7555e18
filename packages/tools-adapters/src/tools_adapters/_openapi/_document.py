"""`Document`: references, and schemas as JSON Schema 2020-12."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from tools_core import schema

Schema = dict[str, Any]

_OPENAPI_ONLY = frozenset(("nullable", "example", "discriminator", "xml", "externalDocs", "readOnly", "writeOnly"))
_SUBSCHEMAS = frozenset(("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"))
_LISTS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_MAPS = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
_BOUNDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
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

    def object_of(self, value: Any) -> dict[str, Any]:
        """Return a schema whose references and `allOf` at the root are merged; others remain."""
        value = self.resolve(value)
        if not isinstance(value, Mapping):
            return {}
        merged: dict[str, Any] = {}
        for part in (*map(self.object_of, value.get("allOf", ())), {k: v for k, v in value.items() if k != "allOf"}):
            properties = {**merged.get("properties", {}), **part.get("properties", {})}
            required = [*dict.fromkeys([*merged.get("required", ()), *_names(part.get("required"))])]
            merged |= part
            merged |= {"properties": properties} if properties else {}
            merged |= {"required": required} if required else {}
        return merged

    def types(self, value: Any) -> set[str]:
        """Return the types that a schema states; empty if it allows any."""
        merged = self.object_of(value)
        types = merged.get("type")
        stated = {types} if isinstance(types, str) else set(types or ())
        for keyword in ("oneOf", "anyOf"):
            for part in merged.get(keyword, ()):
                stated |= self.types(part)
        return stated | ({"object"} if "properties" in merged and not stated else set())

    def is_read_only(self, value: Any) -> bool:
        """Return whether a property is only in responses."""
        resolved = self.resolve(value)
        return isinstance(resolved, Mapping) and resolved.get("readOnly") is True

    def json_schema(self, value: Schema) -> Schema:
        """Return the schema of arguments, with all that it refers to, as far as it can be enforced."""
        conversion = _Conversion(self, siblings=not self._is_old)
        converted: Schema = conversion.convert(value)
        if conversion.definitions:
            converted["$defs"] = conversion.definitions
        return schema.enforceable(converted)[0]  # the server validates them again

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise CannotSendError(f"{reference} is not in the document: bundle the document into one file")
        value: Any = self.data
        for key in pointer_keys(reference):
            try:
                value = value[int(key) if isinstance(value, list) else key]
            except (KeyError, TypeError, ValueError, IndexError):
                raise CannotSendError(f"{reference} is not in the document") from None
        return value

    def target(self, reference: str) -> Any:
        """Return what a reference names, which may be another reference."""
        self.resolve({"$ref": reference})
        return self._target(reference)


class _Conversion:
    """Converts schemas; each part of the document that they refer to becomes one definition."""

    def __init__(self, document: Document, *, siblings: bool) -> None:
        self.document, self.siblings = document, siblings
        self.definitions: dict[str, Any] = {}
        self._names: dict[str, str] = {}  # by reference

    def convert(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str):
            siblings = value if self.siblings else {k: v for k, v in value.items() if k == "description"}
            rest = self._converted({key: item for key, item in siblings.items() if key != "$ref"})
            return {"$ref": f"#/$defs/{self._definition(reference)}", **rest}
        return self._converted(value)

    def _definition(self, reference: str) -> str:
        if reference not in self._names:
            keys = [re.sub(r"[^\w.-]+", "_", key) for key in pointer_keys(reference)] or ["document"]
            starts = range(len(keys) - 1, -1, -1)  # the last key, or more of them if another definition has its name
            name = next((n for n in ("_".join(keys[at:]) for at in starts) if n not in self.definitions), None)
            name = name or f"{'_'.join(keys)}_{len(self._names)}"
            self._names[reference] = name
            self.definitions[name] = {}  # it may refer to itself
            self.definitions[name] = self.convert(self.document.target(reference))
        return self._names[reference]

    def _converted(self, value: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for keyword, part in value.items():
            if keyword in _OPENAPI_ONLY or keyword.startswith("x-") or (keyword == "enum" and not part):
                continue  # an empty `enum` of a generator would refuse every value
            if keyword == "properties" and isinstance(part, Mapping):
                properties = {name: item for name, item in part.items() if not self.document.is_read_only(item)}
                result[keyword] = {name: self.convert(item) for name, item in properties.items()}
            elif keyword in _MAPS and isinstance(part, Mapping):
                result[keyword] = {name: self.convert(item) for name, item in part.items()}
            elif keyword in _LISTS and isinstance(part, list):
                result[keyword] = [self.convert(item) for item in part]
            else:
                result[keyword] = self.convert(part) if keyword in _SUBSCHEMAS else part
        absent = value.get("properties", {}).keys() - result.get("properties", {}).keys()
        if absent and "required" in result:
            result["required"] = [name for name in result["required"] if name not in absent]
        for bound, exclusive in _BOUNDS:  # of 3.0
            if isinstance(result.get(exclusive), bool) and result.pop(exclusive) and bound in result:
                result[exclusive] = result.pop(bound)
        return _nullable(result) if value.get("nullable") is True else result


def pointer_keys(reference: str) -> list[str]:
    """Return the keys of a JSON pointer in a fragment."""
    keys = unquote(reference.partition("#")[2]).split("/")[1:]
    return [key.replace("~1", "/").replace("~0", "~") for key in keys]


def _nullable(value: Schema) -> Schema:
    """Return a schema that also accepts null."""
    if isinstance(value.get("type"), str):
        enum = {"enum": [*value["enum"], None]} if "enum" in value and None not in value["enum"] else {}
        return {**value, "type": [value["type"], "null"], **enum}
    texts: Schema = {key: value[key] for key in ("description", "title", "default") if key in value}
    rest = {key: item for key, item in value.items() if key not in texts}
    return {**texts, "anyOf": [rest, {"type": "null"}]} if rest else value


def _names(value: Any) -> Iterable[str]:
    return value if isinstance(value, list) else ()
