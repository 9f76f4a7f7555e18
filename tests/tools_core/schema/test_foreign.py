"""Schemas of other programs, as far as they can be enforced."""

from __future__ import annotations

import pytest

from tools_core import schema

LETTERS = {"pattern": r"^\p{L}+$"}  # as Zod writes
CASES = [
    ({"properties": {"x": {"type": "string", **LETTERS}}}, {"x": "é"}, {"x": 1}, ["#/properties/x/pattern"]),
    ({"properties": {"x": {"minimum": 0, "exclusiveMinimum": True}}}, {"x": 1}, {"x": 0}, []),
    ({"properties": {"x": {"maximum": 9, "exclusiveMaximum": False}}}, {"x": 9}, {"x": 10}, []),
    ({"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}, ["a", 1], ["a", "b"], []),
    ({"dependencies": {"a": ["b"]}}, {"a": 1, "b": 1}, {"a": 1}, []),
    ({"dependencies": {"a": {"required": ["b"]}, "c": ["d"]}}, {"a": 1, "b": 1}, {"a": 1}, []),
    ({"contains": {"type": "string"}, "type": "array"}, ["a", 1], [1], []),
    ({"type": "object", "unevaluatedProperties": False}, {}, {"a": 1}, []),
    # A removed part may have covered the member, or counted fewer items.
    (
        {"allOf": [{"$dynamicRef": "#x"}, {"required": ["a"]}], "unevaluatedProperties": False},
        {"a": 1},
        {},
        ["#/allOf/0/$dynamicRef", "#/unevaluatedProperties"],
    ),
    ({"contains": LETTERS, "maxContains": 1}, ["1", "2"], [], ["#/contains/pattern", "#/maxContains"]),
    ({"properties": {"a": {"required": True, "type": "string"}}}, {"a": "b"}, {"a": 1}, ["#/properties/a/required"]),
    ({"properties": {"a": {"$ref": "#/missing", "type": "string"}}}, {"a": "b"}, {"a": 1}, ["#/properties/a/$ref"]),
    ({"properties": {"a": {"$id": "x", "minLength": 1}}}, {"a": "b"}, {"a": ""}, ["#/properties/a/$id"]),
    (
        {"properties": {"a": {"$ref": "#/definitions/A"}}, "definitions": {"A": {"type": "strin"}}},
        {"a": 1},
        None,
        ["#/definitions/A/type"],
    ),
    # Without the keyword these would refuse what the whole schema accepts.
    ({"not": {"type": "string", **LETTERS}}, "1", None, ["#/not"]),
    ({"not": {"$ref": "#/missing"}}, "1", None, ["#/not"]),
    ({"oneOf": [{"type": "string", **LETTERS}, {"const": "1"}]}, "1", 2, ["#/oneOf/0/pattern"]),
    ({"if": LETTERS, "then": False, "else": {"type": "string"}}, "1", None, ["#/if"]),
    (
        {"patternProperties": {r"^\p{L}$": {}}, "additionalProperties": False},
        {"é": 1},
        None,
        [r"#/patternProperties/^\p{L}$"],
    ),
]


@pytest.mark.parametrize(("foreign", "good", "bad", "removed"), CASES, ids=lambda value: str(value)[:50])
def test_foreign_schemas_keep_enforceable_keywords(foreign, good, bad, removed):
    usable, places = schema.enforceable(foreign)
    validator = schema.compile(usable)
    assert validator.is_valid(good)
    assert bad is None or not validator.is_valid(bad)
    assert places == removed


def test_a_schema_that_can_be_enforced_is_unchanged():
    complete = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^a"}}, "required": ["x"]}
    assert schema.enforceable(complete) == (complete, [])


@pytest.mark.parametrize("value", [[], "x", None, {"x": object()}])
def test_invalid_schemas_are_refused(value):
    with pytest.raises(schema.SchemaError):
        schema.enforceable(value)
