"""Schemas as Zod, servers and code generators write them."""

from __future__ import annotations

import pytest

from tools_core import schema, tool

INTERSECTION = {  # z.object(...).and(z.object(...))
    "type": "object",
    "allOf": [
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        {"type": "object", "properties": {"days": {"type": "integer"}}},
    ],
    "unevaluatedProperties": False,
}
CHOICE = {
    "type": "object",
    "properties": {"kind": {"type": "string"}},
    "if": {"properties": {"kind": {"const": "a"}}},
    "then": {"properties": {"left": {}}},
    "else": {"$ref": "#/$defs/right"},
    "$defs": {"right": {"properties": {"right": {}}}},
    "unevaluatedProperties": False,
}
TREE = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
    "unevaluatedProperties": {"type": "integer"},
}
PREFIX = {"anyOf": [{"prefixItems": [{"type": "string"}]}, True], "unevaluatedItems": {"type": "integer"}}
CONTAINS = {"type": "array", "contains": {"type": "integer", "minimum": 5}, "minContains": 2, "maxContains": 3}
DEPENDENT = {"dependentSchemas": {"card": {"required": ["address"], "properties": {"address": {"type": "string"}}}}}


@pytest.mark.parametrize(
    ("part", "good", "bad", "text"),
    [
        (
            INTERSECTION,
            {"city": "Oslo", "days": 1},
            {"city": "Oslo", "day": 1},
            'unknown argument "day": did you mean "days"?',
        ),
        (INTERSECTION, {"city": "Oslo"}, {"days": 1}, "city is required: a string"),
        (CHOICE, {"kind": "a", "left": 1}, {"kind": "a", "right": 1}, 'unknown argument "right"'),
        (CHOICE, {"kind": "b", "right": 1}, {"kind": "b", "left": 1}, 'unknown argument "left"'),
        (TREE, {"n": 1, "children": [{"n": 2}]}, {"children": [{"n": "x"}]}, "children[0].n must be an integer"),
        (PREFIX, ["a", 1], ["a", "b"], "[1] must be an integer"),
        (CONTAINS, [5, 6, 1], [5, 1], "must contain at least 2 of: an integer"),
        (CONTAINS, [5, 6, 7], [5, 6, 7, 8], "must contain at most 3 of: an integer"),
        ({"contains": {"type": "null"}, "minContains": 0}, [1], None, ""),
        ({"contains": {"type": "null"}, "maxContains": 0}, None, [None], "must contain at most 0 of: null"),
        (DEPENDENT, {"card": 1, "address": "a"}, {"card": 1}, "address is required"),
        (DEPENDENT, {"name": 1}, {"card": 1, "address": 2}, "address must be a string"),
    ],
)
def test_keywords_that_look_at_a_whole_value_are_enforced(part, good, bad, text):
    validator = schema.compile(part)
    assert good is None or validator.is_valid(good)
    if bad is not None:
        [problem, *_] = validator.check(bad).problems
        assert text in str(problem)


def test_values_are_repaired_below_these_keywords():
    report = schema.compile({**DEPENDENT, "unevaluatedProperties": {"type": "integer"}}).check({"card": "1"})
    assert [str(problem) for problem in report.problems] == ["address is required: a string"]
    report = schema.compile({"unevaluatedProperties": {"type": "integer"}}).check({"card": "1"})
    assert (report.value, report.problems) == ({"card": 1}, [])


def test_a_schema_that_refers_to_itself_covers_its_own_members():
    recursive = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}, "unevaluatedProperties": False}},
    }
    validator = schema.compile(recursive)
    assert validator.is_valid({"next": {"next": {}}})
    assert not validator.is_valid({"next": {"other": 1}})


def test_a_boolean_is_the_schema_of_a_parameter():
    def find(**arguments):
        """Find.

        Args:
            anything: Any value.
        """

    properties = {"anything": True, "never": False}
    find_tool = tool(find, input_schema={"properties": properties, "additionalProperties": False})
    assert find_tool.description == "Find.\n\nanything: Any value."
    assert find_tool.call(anything=[1]).ok and not find_tool.call(never=1).ok
