"""`compare_definitions`: every change has a verdict, and every breaking one is found."""

from __future__ import annotations

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import registry, tool
from tools_testing import Change, arguments_for, compare_definitions


def definition(schema=None, **more):
    definition = {"name": "t", "description": "Do it.", "input_schema": {"type": "object", "properties": {}}}
    return definition | ({"input_schema": schema} if schema is not None else {}) | more


def closed(required=(), **properties):
    return {
        "type": "object", "properties": properties, "required": list(required), "additionalProperties": False,
    }  # fmt: skip


def of(part):
    return closed(v=part)


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}

COMPATIBLE = {
    "an optional parameter added": (closed(), closed(a=TEXT), "arguments.a was added, and is optional"),
    "a parameter no longer required": (closed(["a"], a=TEXT), closed(a=TEXT), "a is no longer required"),
    "a type widened": (of(NUMBER), of({"type": "number"}), "v may also be number"),
    "a type added": (of(TEXT), of({"type": ["string", "null"]}), "v may also be null"),
    "a value added": (of({"enum": ["a"]}), of({"enum": ["a", "b"]}), 'may also have the value "b"'),
    "a const that became an enum": (of({"const": 1}), of({"enum": [1, 2]}), "may also have the value 2"),
    "an enum removed": (of({"enum": ["a"]}), of({}), "no longer limited"),
    "a bound loosened": (of({"maximum": 5}), of({"maximum": 9}), "maximum was 5, is 9"),
    "a bound removed": (of({"minLength": 5}), of({}), "no longer has a minLength"),
    "a pattern removed": (of({"pattern": "a"}), of({}), "no longer has pattern"),
    "finer steps": (of({"multipleOf": 10}), of({"multipleOf": 5}), "multipleOf was 10, is 5"),
    "repetition allowed": (of({"uniqueItems": True}), of({}), "uniqueItems changed"),
    "an alternative added": (
        of({"anyOf": [TEXT]}), of({"anyOf": [TEXT, NUMBER]}), "accepts another alternative, integer",
    ),
    "null as an alternative": (of(TEXT), of({"anyOf": [TEXT, {"type": "null"}]}), "accepts another alternative, null"),
    "types written as alternatives": (
        of({"type": ["string", "null"]}), of({"anyOf": [TEXT, {"type": "null"}, NUMBER]}), "alternative, integer",
    ),
    "opened": (closed(), {"type": "object", "properties": {}}, "further members are now accepted"),
    "items widened": (
        of({"type": "array", "items": NUMBER}), of({"type": "array", "items": {"type": "number"}}), "v[] may also be",
    ),
    "another description of a parameter": (of(TEXT), of(TEXT | {"description": "x"}), "v has another description"),
    "another default": (of(TEXT | {"default": "a"}), of(TEXT | {"default": "b"}), "v has another default"),
    "a reference to the same": (
        of(TEXT), of({"$ref": "#/$defs/x"}) | {"$defs": {"x": TEXT | {"description": "x"}}}, "another description",
    ),
}  # fmt: skip

BREAKING = {
    "a required parameter added": (closed(), closed(["a"], a=TEXT), "a was added, and is required"),
    "a parameter now required": (closed(a=TEXT), closed(["a"], a=TEXT), "a is now required"),
    "a parameter removed": (closed(a=TEXT), closed(), "a was removed"),
    "a type narrowed": (of({"type": "number"}), of(NUMBER), "v may no longer be number"),
    "another type": (of(TEXT), of(NUMBER), "v may no longer be string"),
    "a new type": (of({}), of(TEXT), "v may no longer be"),
    "a value removed": (of({"enum": ["a", "b"]}), of({"enum": ["a"]}), 'may no longer have the value "b"'),
    "an enum added": (of(TEXT), of(TEXT | {"enum": ["a"]}), 'limited to "a"'),
    "true instead of 1": (of({"const": 1}), of({"const": True}), "may no longer have the value 1"),
    "a bound tightened": (of({"maximum": 5}), of({"maximum": 4}), "maximum was 5, is 4"),
    "a bound added": (of({}), of({"minItems": 1}), "minItems was not set, is 1"),
    "a pattern added": (of({}), of({"pattern": "a"}), "has a new pattern"),
    "another pattern": (of({"pattern": "a"}), of({"pattern": "b"}), "has another pattern"),
    "another format": (of({"format": "date"}), of({"format": "time"}), "has another format"),
    "coarser steps": (of({"multipleOf": 5}), of({"multipleOf": 10}), "multipleOf was 5, is 10"),
    "repetition forbidden": (of({}), of({"uniqueItems": True}), "uniqueItems changed"),
    "an alternative removed": (
        of({"anyOf": [TEXT, NUMBER]}), of({"anyOf": [TEXT]}), "no longer accepts its alternative integer",
    ),
    "an alternative narrowed": (
        of({"oneOf": [TEXT, NUMBER]}), of({"oneOf": [TEXT, NUMBER | {"minimum": 0}]}), "alternative integer",
    ),
    "null no longer": (of({"anyOf": [TEXT, {"type": "null"}]}), of(TEXT), "alternative null"),
    "closed": ({"type": "object", "properties": {}}, closed(), "further members are no longer accepted"),
    "a part described that was open": (
        {"type": "object", "properties": {}}, {"type": "object", "properties": {"a": TEXT}}, "a may no longer be",
    ),
    "deep inside": (
        of({"type": "array", "items": closed(x=TEXT)}),
        of({"type": "array", "items": closed(["x"], x=TEXT)}),
        "arguments.v[].x is now required",
    ),
    "inside a recursive part": (
        of({"$ref": "#/$defs/t"}) | {"$defs": {"t": closed(x=TEXT, next={"$ref": "#/$defs/t"})}},
        of({"$ref": "#/$defs/t"}) | {"$defs": {"t": closed(x=NUMBER, next={"$ref": "#/$defs/t"})}},
        "v.x may no longer be string",
    ),
    "values of a mapping": (
        of({"type": "object", "additionalProperties": {"type": "number"}}),
        of({"type": "object", "additionalProperties": NUMBER}),
        "may no longer be number",
    ),
    "a condition added": (of({}), of({"not": TEXT}), "has a new not"),
    "impossible now": (of(TEXT), of(False), "is no longer"),
}  # fmt: skip


def changes_of(old, new):
    return compare_definitions(definition(old), definition(new))


@pytest.mark.parametrize(("old", "new", "words"), COMPATIBLE.values(), ids=COMPATIBLE)
def test_a_schema_that_accepts_as_much_as_before_is_compatible(old, new, words):
    changes = changes_of(old, new)
    assert [change for change in changes if change.is_breaking] == []
    assert any(words in str(change) for change in changes), changes


@pytest.mark.parametrize(("old", "new", "words"), BREAKING.values(), ids=BREAKING)
def test_a_schema_that_accepts_less_is_breaking(old, new, words):
    breaking = [change for change in changes_of(old, new) if change.is_breaking]
    assert any(words in str(change) for change in breaking), breaking


@pytest.mark.parametrize("name", list(registry))
def test_an_installed_tool_does_not_differ_from_itself(name):
    definition = registry[name].definition
    assert compare_definitions(definition, copy.deepcopy(definition)) == []


def test_name_description_and_hints_have_verdicts():
    changes = compare_definitions(
        definition(annotations={"read_only": True, "destructive": True}),
        definition(name="u", description="Other.", annotations={"open_world": True, "destructive": False}),
    )
    assert {str(change) for change in changes} == {
        "breaking: name was t, is u",
        "compatible: description changed",
        "breaking: read_only was True, is not set",
        "breaking: open_world was not set, is True",
        "compatible: destructive was True, is False",
    }


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (closed(a=NUMBER), closed(a={"type": "number"}), "breaking"),
        (closed(a={"type": "number"}), closed(a=NUMBER), "compatible"),
        (of({"enum": ["a"]}), of({"enum": ["a", "b"]}), "breaking"),
        (of({"enum": ["a", "b"]}), of({"enum": ["a"]}), "compatible"),
        (closed(["a"], a=TEXT), closed(a=TEXT), "breaking"),
        (closed(), None, "breaking"),
        (None, closed(), "compatible"),
    ],
    ids=["wider", "narrower", "more values", "fewer values", "no longer sure", "gone", "new"],
)
def test_an_output_schema_that_allows_more_is_breaking(old, new, verdict):
    before = definition(**({"output_schema": old} if old else {}))
    after = definition(**({"output_schema": new} if new else {}))
    (change,) = compare_definitions(before, after)
    assert (change.verdict, change.path.partition(".")[0]) == (verdict, "output")


def test_a_change_is_a_value_with_a_text():
    change = Change(verdict="breaking", path="arguments.a", reason="was removed")
    assert str(change) == "breaking: arguments.a was removed"
    assert len({change, Change(verdict="breaking", path="arguments.a", reason="was removed")}) == 1


PARTS = st.sampled_from(
    [TEXT, NUMBER, {"type": "number"}, {"type": ["string", "null"]}, {"enum": ["a", 1]}, {"enum": ["a"]}, {},
     {"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 5, "maximum": 9}, {"const": 1},
     {"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^a"}, {"anyOf": [TEXT, NUMBER]},
     {"anyOf": [{"type": "null"}, NUMBER]}, {"type": "array", "items": NUMBER}, {"type": "array"},
     {"type": "array", "items": {"type": "number"}, "minItems": 1}, closed(["x"], x=TEXT), closed(x=TEXT)]
)  # fmt: skip
SCHEMAS = st.builds(
    lambda properties, required, is_open: {
        "type": "object", "properties": properties, "required": sorted(required & properties.keys()),
        "additionalProperties": is_open,
    },
    st.dictionaries(st.sampled_from("ab"), PARTS), st.sets(st.sampled_from("ab")), st.booleans(),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS, SCHEMAS, st.data())
def test_without_a_breaking_change_every_valid_call_stays_valid(old, new, data):
    if any(change.is_breaking for change in changes_of(old, new)):
        return
    after = tool(lambda **arguments: None, name="after", input_schema=new, repair=False)
    valid = arguments_for(old)
    for _ in range(5):
        arguments = data.draw(valid)
        assert after.call(arguments).ok, arguments
