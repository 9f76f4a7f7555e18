"""Schemas of other programs: older drafts, and keywords that this library does not enforce."""

from __future__ import annotations

import json
from typing import Any, TypeVar, cast

from tools_core._jsonschema._examine import examine
from tools_core._jsonschema._keywords import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP, UNSUPPORTED, VALUES
from tools_core._jsonschema._patterns import search_of
from tools_core._jsonschema._types import resolve
from tools_core._values._errors import SchemaError

S = TypeVar("S", dict[str, Any], bool)

_BOUNDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))


def enforceable(schema: S) -> tuple[S, list[str]]:
    """Return a schema without the parts that cannot be enforced, and the places that were removed.

    It accepts each value that `schema` accepts: for tools of other programs, which validate their arguments again.
    Drafts 4 to 7 are translated.

    Raises: SchemaError for a schema that is not JSON, or a root that is no schema.
    """
    try:
        return cast("S", examine(schema)), []
    except SchemaError:
        pass
    try:
        root: Any = json.loads(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"the schema is not JSON: {error}") from None
    translation = _Translation(root)
    result = translation.schema(root, "#")
    return cast("S", examine(result)), translation.removed


class _Translation:
    def __init__(self, root: Any) -> None:
        self.root = root
        self.removed: list[str] = []

    def schema(self, value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            return value
        value = _current(value)
        start = len(self.removed)
        result: dict[str, Any] = {}
        for keyword, part in value.items():
            before = len(self.removed)
            translated = self._keyword(keyword, part, f"{place}/{keyword}")
            is_looser = len(self.removed) > before
            if translated is None or (is_looser and keyword in ("not", "if")):  # what it refuses must not grow
                self.removed[before:] = [f"{place}/{keyword}"]
            else:
                result["anyOf" if is_looser and keyword == "oneOf" and "anyOf" not in value else keyword] = translated
        if len(result.get("patternProperties", ())) < len(value.get("patternProperties", ())):
            result.pop("additionalProperties", None)  # it would refuse what the removed pattern allows
        if len(self.removed) > start:  # a removed part may have covered these, or counted fewer items
            for keyword in ("unevaluatedItems", "unevaluatedProperties", "maxContains"):
                if result.pop(keyword, None) is not None:
                    self.removed.append(f"{place}/{keyword}")
        if "if" not in result:
            result.pop("then", None)
            result.pop("else", None)
        return result

    def _keyword(self, keyword: str, value: Any, place: str) -> Any:
        """Return the value of a keyword; None to remove it."""
        if keyword in UNSUPPORTED or (keyword == "$id" and place != "#/$id"):
            return None
        if keyword in VALUES:
            is_valid = VALUES[keyword][0](value) and (keyword != "pattern" or _is_pattern(value))
            return value if is_valid and (keyword != "$ref" or self._has_target(value)) else None
        if keyword in ONE_SCHEMA:
            return self.schema(value, place) if isinstance(value, dict | bool) else None
        if keyword in SCHEMA_LIST:
            is_list = isinstance(value, list) and value and all(isinstance(part, dict | bool) for part in value)
            return [self.schema(part, f"{place}/{index}") for index, part in enumerate(value)] if is_list else None
        if keyword in SCHEMA_MAP:
            if not isinstance(value, dict):
                return None
            is_pattern = keyword == "patternProperties"
            names = [name for name in value if isinstance(value[name], dict | bool)]
            names = [name for name in names if not is_pattern or _is_pattern(name)]
            self.removed += [f"{place}/{name}" for name in value if name not in names]
            return {name: self.schema(value[name], f"{place}/{name}") for name in names}
        return value

    def _has_target(self, reference: str) -> bool:
        try:
            resolve(self.root, reference)
        except (LookupError, ValueError):
            return False
        return True


def _current(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of drafts 4 to 7 in the words of 2020-12."""
    schema = dict(schema)
    for bound, exclusive in _BOUNDS:  # draft 4
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")
    if isinstance(dependencies := schema.get("dependencies"), dict):
        del schema["dependencies"]
        names = {name: part for name, part in dependencies.items() if isinstance(part, list)}
        schemas = {name: part for name, part in dependencies.items() if isinstance(part, dict | bool)}
        for keyword, parts in (("dependentRequired", names), ("dependentSchemas", schemas)):
            if parts:
                schema[keyword] = {**parts, **schema.get(keyword, {})}
    return schema


def _is_pattern(text: str) -> bool:
    try:
        search_of(text)
    except ValueError:
        return False
    return True
