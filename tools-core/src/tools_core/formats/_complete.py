"""Complete schemas: `properties`, `items` and choices, which servers of models require and JSON Schema does not."""

from __future__ import annotations

from typing import Any

from tools_core._jsonschema._keywords import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP
from tools_core._jsonschema._types import types_of


def completed(schema: Any) -> Any:
    """Return a schema with the `properties` of each object, the `items` of each array, and no empty choice.

    One incomplete schema makes OpenAI and others refuse the whole request. Booleans become objects.
    """
    if schema is True or schema is False:
        return {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        return schema
    result = {keyword: _part(keyword, value) for keyword, value in schema.items()}
    if result.get("enum") == []:
        del result["enum"]  # no value is valid, and the tool refuses each
    types = types_of(result) if isinstance(result.get("type"), str | list) else ()
    if "object" in types:
        result.setdefault("properties", {})
    if "array" in types and (result.get("items") in (None, {"not": {}}) or "prefixItems" in result):
        result["items"] = _any_of(result.get("prefixItems") or [])
    return result


def _part(keyword: str, value: Any) -> Any:
    if isinstance(value, bool) and keyword in ("additionalProperties", "unevaluatedItems", "unevaluatedProperties"):
        return value
    if keyword in ONE_SCHEMA:
        return completed(value)
    if keyword in SCHEMA_LIST and isinstance(value, list):
        return [completed(part) for part in value]
    if keyword in SCHEMA_MAP and isinstance(value, dict):
        return {name: completed(part) for name, part in value.items()}
    return value


def _any_of(schemas: list[Any]) -> Any:
    """Return one schema for all items of a tuple."""
    different = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
    return {"anyOf": different} if len(different) > 1 else different[0] if different else {}
