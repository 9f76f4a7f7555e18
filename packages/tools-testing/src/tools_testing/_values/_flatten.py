"""What several schemas ask of one value: their parts in place resolved, each alternative by a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools_testing._values._choices import Choices

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
DEEP = 3  # from here on the alternatives that end soonest are taken
_ENDLESS = 99
_IN_PLACE = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "not", "$defs", "definitions"})


class DeadEnd(Exception):
    """The choices so far leave no value; others may."""


class Exhausted(DeadEnd):
    """So many choices have led nowhere that it is better to begin anew."""


def resolve(root: dict[str, Any], reference: str) -> Any:
    """The part of the schema that a local `$ref` names."""
    target: Any = root
    pointer = reference.partition("#")[2]
    if "%" in pointer:
        from urllib.parse import unquote  # hardly any reference needs it

        pointer = unquote(pointer)
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        target = target[int(name)] if isinstance(target, list) else target[name]
    return target


class Flattening:
    """The flat schemas of one value, and whether only a look at the value can tell that it fits them all."""

    def __init__(self, root: dict[str, Any], choices: Choices, depth: int) -> None:
        self.root = root
        self.choices = choices
        self.depth = depth
        self.flat: list[dict[str, Any]] = []
        self.is_certain = True

    def add(self, schema: Any) -> None:
        """Take in one more schema."""
        if schema is False:
            raise DeadEnd
        if schema is True or not schema:
            return
        own = {key: item for key, item in schema.items() if key not in _IN_PLACE}
        if own:
            self.flat.append(own)
        if "$ref" in schema:
            self.add(resolve(self.root, schema["$ref"]))
        for part in schema.get("allOf", ()):
            self.add(part)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                self.add(self.alternative(schema[keyword]))
        if "oneOf" in schema or "not" in schema:
            self.is_certain = False
        if "if" in schema:
            self.condition(schema)

    def alternative(self, parts: Sequence[Any]) -> Any:
        if self.depth < DEEP:
            return self.choices.pick(parts)
        heights = [height(self.root, part) for part in parts]
        return self.choices.pick([part for part, high in zip(parts, heights, strict=True) if high == min(heights)])

    def condition(self, schema: dict[str, Any]) -> None:
        self.is_certain = False
        if self.choices.pick((True, False)):
            self.add(schema["if"])
            self.add(schema.get("then", True))
        else:  # that it does not fit `if` is left to chance
            self.add(schema.get("else", True))


def height(root: dict[str, Any], schema: Any, inside: frozenset[str] = frozenset()) -> int:
    """How many containers a value must have inside each other, at the least."""
    if not isinstance(schema, dict) or "const" in schema or "enum" in schema:
        return 0
    return max(_heights(root, schema, inside), default=0)


def _heights(root: dict[str, Any], schema: dict[str, Any], inside: frozenset[str]) -> Iterator[int]:
    if "$ref" in schema:
        reference = schema["$ref"]
        if reference in inside:
            yield _ENDLESS
            return
        yield height(root, resolve(root, reference), inside | {reference})
    for part in schema.get("allOf", ()):
        yield height(root, part, inside)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            yield min(height(root, part, inside) for part in schema[keyword])
    types = schema.get("type", "object" if "required" in schema else "array" if "minItems" in schema else "null")
    if types == "object":
        needed = [schema.get("properties", {}).get(name, True) for name in schema.get("required", ())]
        yield 1 + max((height(root, part, inside) for part in needed), default=0)
    elif types == "array":
        yield 1 + (height(root, schema.get("items", True), inside) if schema.get("minItems", 0) else 0)


def types_of(flat: Sequence[dict[str, Any]]) -> list[str]:
    """The types that all of them allow; an integer is a number."""
    allowed: list[str] = list(TYPES)
    for schema in flat:
        if "type" in schema:
            named = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            allowed = [kind for kind in allowed if kind in named or (kind == "integer" and "number" in named)]
    if "number" in allowed and "integer" in allowed:
        allowed.remove("integer")  # numbers are whole ones as well
    return allowed


_HINTS = {
    "object": {"properties", "required", "additionalProperties", "patternProperties", "propertyNames"}
    | {"minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems"},
    "string": {"pattern", "minLength", "maxLength", "format", "contentEncoding"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}


def likely_types(flat: Sequence[dict[str, Any]]) -> list[str]:
    """The types allowed; where none is named, those that the keywords speak of stand for all."""
    allowed = types_of(flat)
    if any("type" in schema for schema in flat):
        return allowed
    keywords = {keyword for schema in flat for keyword in schema}
    spoken = [kind for kind in allowed if _HINTS.get(kind, set()) & keywords]
    return spoken or allowed
