"""A schema that cannot be enforced is refused when it is compiled, never by accepting everything."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

import tools_core.schema
from tools_core.schema import SchemaError
from tools_core.schema import compile as compile_schema

ITSELF: dict[str, Any] = {}
ITSELF["not"] = ITSELF


@pytest.mark.parametrize(
    ("schema", "place", "advice"),
    [
        ({"$ref": "#x"}, "#/$ref", "cannot be resolved"),
        ({"$dynamicRef": "#x"}, "#/$dynamicRef", "$ref"),
        ({"properties": {"a": {"$id": "b"}}}, "#/properties/a/$id", "$defs"),
        ({"$ref": "#/$defs/none"}, "#/$ref", "cannot be resolved"),
        ({"unevaluatedProperties": 1}, "#/unevaluatedProperties", "a schema"),
        ({"dependencies": {}}, "#/dependencies", "dependentRequired"),
        ({"dependentSchemas": []}, "#/dependentSchemas", "an object of schemas"),
        ({"contains": {}, "minContains": -1}, "#/minContains", "a whole number"),
        ({"items": [{}]}, "#/items", "prefixItems"),
        ({"minimum": 1, "exclusiveMinimum": True}, "#/exclusiveMinimum", "a number"),
        ({"type": "int"}, "#/type", "integer"),
        ({"multipleOf": 0}, "#/multipleOf", "above 0"),
        ({"uniqueItems": 1}, "#/uniqueItems", "true or false"),
        ({"properties": {"a": "string"}}, "#/properties/a", "a schema"),
        ({"dependentRequired": {"a": "b"}}, "#/dependentRequired", "lists of names"),
        ({"$defs": {"unused": {"$dynamicAnchor": "x"}}}, "#/$defs/unused/$dynamicAnchor", "$ref"),
        ({"$ref": "#/extra", "extra": {"type": "int"}}, "#/extra/type", "integer"),
        ("string", "#", "must be a schema"),
    ],
)
def test_an_unsupported_schema_is_refused_with_path_and_advice(schema: Any, place: str, advice: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        compile_schema(schema)
    assert str(refusal.value).startswith(f"the schema at {place}")
    assert advice in str(refusal.value)
    assert len(str(refusal.value)) <= 400


def test_annotations_and_unknown_keywords_are_ignored() -> None:
    validator = compile_schema(
        {"$schema": "http://json-schema.org/draft-07/schema#", "format": "email", "default": 3, "x-mine": {"type": 7}}
    )
    assert validator.accepts("no address")


def test_keywords_inside_enum_and_default_are_data() -> None:
    odd = {"type": "object", "enum": [{"$ref": "#/none", "$id": "x"}], "default": {"$ref": "#/none"}}
    branches = [{**odd, "properties": {"a": {"$ref": "#"}}}, {"type": "array", "items": {"$ref": "#"}}]
    validator = compile_schema({"anyOf": branches, "properties": {"$ref": {"type": "null"}}})
    assert validator.check({"$ref": "#/none", "$id": "x"}, repair=False).problems
    assert validator.check([[]]).problems == []


def test_the_example_in_the_docstring_works() -> None:
    assert doctest.testmod(tools_core.schema).failed == 0


def test_later_changes_to_a_schema_have_no_effect() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    validator = compile_schema(schema)
    schema["properties"]["a"]["type"] = "string"  # type: ignore[index]
    assert validator.accepts({"a": 1})
    assert not validator.accepts({"a": "x"})


@pytest.mark.parametrize("schema", [{"enum": [{1, 2}]}, {"maximum": float("nan")}, ITSELF], ids=["set", "nan", "loop"])
def test_schemas_must_be_json(schema: Any) -> None:
    with pytest.raises(SchemaError, match="the schema is not JSON"):
        compile_schema(schema)


def test_a_reference_to_itself_refuses_every_value() -> None:
    validator = compile_schema({"$ref": "#"})
    assert not validator.accepts(1)
    assert validator.check(1).problems
