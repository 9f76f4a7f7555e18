"""`arguments_for`: generated arguments are valid or invalid, as the core's validator decides."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from tools_core import DefinitionError, registry, tool
from tools_testing import NoValueError, arguments_for

# Parameters from plain to difficult


def of(schema, **more):
    """A schema for arguments with one required parameter."""
    return {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    } | more


PARTS = {
    "anything": {},
    "string": {"type": "string"},
    "short string": {"type": "string", "maxLength": 2},
    "integer": {"type": "integer"},
    "bounded integer": {"type": "integer", "minimum": 3, "maximum": 5},
    "open bounds": {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
    "number": {"type": "number"},
    "open interval": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "multiple": {"type": "integer", "multipleOf": 7},
    "decimal steps": {"type": "number", "multipleOf": 0.01, "minimum": 0, "maximum": 1},
    "boolean": {"type": "boolean"},
    "several types": {"type": ["string", "integer", "null"]},
    "enum": {"enum": ["a", 1, None, [1], {"b": 2}]},
    "enum with a type": {"type": "string", "enum": ["a", 1, "b"]},
    "const": {"const": {"deep": [1, {"er": True}]}},
    "array of integers": {"type": "array", "items": {"type": "integer"}},
    "unique": {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
    "object": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    "closed object": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
    "mapping": {"type": "object", "additionalProperties": {"type": "integer"}},
    "one of many": {
        "type": "object",
        "properties": {"a": {}, "b": {}, "c": {}},
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    },
    "named members": {"type": "object", "propertyNames": {"pattern": "^[a-z]{2}$"}, "minProperties": 2},
    "members by pattern": {
        "type": "object",
        "patternProperties": {"^x-": {"type": "integer"}},
        "additionalProperties": False,
        "minProperties": 1,
    },
    "members that need others": {
        "type": "object",
        "properties": {"card": {"type": "string"}, "code": {"type": "integer"}},
        "dependentRequired": {"card": ["code"]},
    },
    "any of": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 10}]},
    "one of": {"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "multipleOf": 5}]},
    "tagged": {
        "oneOf": [
            {"type": "object", "properties": {"t": {"const": "a"}, "x": {"type": "integer"}}, "required": ["t", "x"]},
            {"type": "object", "properties": {"t": {"const": "b"}, "y": {"type": "string"}}, "required": ["t", "y"]},
        ]
    },
    "all of": {"allOf": [{"type": "integer", "minimum": 5}, {"maximum": 7}]},
    "all of objects": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"a": {"minLength": 3}, "b": {"type": "integer"}}, "required": ["b"]},
        ]
    },
    "not a string": {"not": {"type": "string"}},
    "if then else": {
        "type": "object",
        "properties": {"kind": {"enum": ["circle", "square"]}, "size": {"type": "integer"}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "circle"}}},
        "then": {"required": ["radius"], "properties": {"radius": {"type": "number"}}},
        "else": {"required": ["size"]},
    },
    "words": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"},
    "unanchored": {"type": "string", "pattern": "[0-9]{3}"},
    "escapes": {"type": "string", "pattern": r"^\d{4}-\d\d\s\w+\.\S$"},
    "unicode": {"type": "string", "pattern": r"^[\u4e00-\u9fff]\u{1F600}\x41$"},
    "negated class": {"type": "string", "pattern": r"^[^a-z\d\s]{4}$"},
    "named group": {"type": "string", "pattern": r"^(?<quote>['\"])[a-z]*(x)$"},
    "look ahead": {"type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]{1,6}$"},
    "pattern and length": {"type": "string", "pattern": "^[ab]+$", "minLength": 12, "maxLength": 15},
    **{
        f"format {name}": {"type": "string", "format": name}
        for name in ("date-time", "duration", "uuid", "email", "uri", "ipv6", "x")
    },
    "base64": {"type": "string", "contentEncoding": "base64"},
    "escaped reference": {"$ref": "#/$defs/with~1slash%25"},
    "reference to the root": {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
    "reference into properties": {"anyOf": [{"type": "integer"}, {"$ref": "#/properties/value/anyOf/0"}]},
    "tree": {"$ref": "#/$defs/tree"},
    "list": {"$ref": "#/$defs/list"},
    "expression": {"$ref": "#/$defs/expression"},
    "a property called $ref": {"type": "object", "properties": {"$ref": {"type": "integer"}}, "required": ["$ref"]},
    "constants that look like schemas": {"const": {"$ref": "#/nowhere", "$id": "x"}},
}

DEFS = {
    "with/slash%": {"type": "integer"},
    "tree": {
        "type": "object",
        "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "required": ["value"],
        "additionalProperties": False,
    },
    "list": {
        "anyOf": [
            {"type": "null"},
            {
                "type": "object",
                "properties": {"head": {"type": "string"}, "tail": {"$ref": "#/$defs/list"}},
                "required": ["head", "tail"],
            },
        ]
    },
    "expression": {
        "oneOf": [
            {"type": "number"},
            {
                "type": "object",
                "properties": {
                    "operator": {"enum": ["+", "*"]},
                    "operands": {"type": "array", "items": {"$ref": "#/$defs/expression"}, "minItems": 2},
                },
                "required": ["operator", "operands"],
                "additionalProperties": False,
            },
        ]
    },
}

SCHEMAS = {name: of(part, **{"$defs": DEFS}) for name, part in PARTS.items()} | {
    "nothing": {"type": "object", "properties": {}, "additionalProperties": False},
    "without a type": {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
    "alternatives of arguments": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "url": {"type": "string"}},
        "oneOf": [{"required": ["path"]}, {"required": ["url"]}],
        "additionalProperties": False,
    },
    "conditions on arguments": {
        "type": "object",
        "properties": {"mode": {"enum": ["r", "w"]}, "content": {"type": "string"}},
        "required": ["mode"],
        "if": {"properties": {"mode": {"const": "w"}}},
        "then": {"required": ["content"]},
    },
}

IMPOSSIBLE = {
    "bounds that exclude each other": of({"type": "integer", "minimum": 5, "maximum": 4}),
    "no multiple in the bounds": of({"type": "integer", "multipleOf": 100, "minimum": 1, "maximum": 99}),
    "types that exclude each other": of({"allOf": [{"type": "string"}, {"type": "integer"}]}),
    "an empty enum": of({"enum": []}),
    "false": of(False),
    "required and forbidden": of({"type": "string"}, required=["value", "other"]),
    "endless": of(
        {"$ref": "#/$defs/e"}, **{"$defs": {"e": {"type": "array", "items": {"$ref": "#/$defs/e"}, "minItems": 1}}}
    ),
    "not anything": of({"not": {}}),
    "too few distinct values": of({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3}),
}

QUIET = settings(
    max_examples=15,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def accepts(schema, arguments, *, repair=False):
    echo = tool(lambda **arguments: None, name="echo", input_schema=schema, repair=repair)
    return echo.call(arguments).error_type != "validation_error"


def drawn(strategy, count=15):
    """Examples, as hypothesis generates them."""
    values = []

    @settings(QUIET, max_examples=count)
    @given(strategy)
    def run(example):
        values.append(example)

    run()
    return values


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_valid_arguments_are_accepted_without_a_repair(schema):
    values = drawn(arguments_for(schema))
    assert [arguments for arguments in values if not accepts(schema, arguments)] == []


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_invalid_arguments_are_objects_that_no_repair_makes_valid(schema):
    values = drawn(arguments_for(schema, "invalid"))
    assert {type(arguments) for arguments in values} == {dict}
    assert [arguments for arguments in values if accepts(schema, arguments, repair=True)] == []


@pytest.mark.slow
@pytest.mark.parametrize("schema", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_schema_without_values_is_an_error(schema):
    with pytest.raises(NoValueError, match="no valid value was found"):
        arguments_for(schema)


def test_the_error_names_the_parameter_without_values():
    with pytest.raises(NoValueError, match="the required parameter 'value'"):
        arguments_for(IMPOSSIBLE["bounds that exclude each other"])


def test_an_optional_parameter_without_values_is_omitted():
    schema = {"type": "object", "properties": {"a": False, "b": {"type": "integer"}}, "additionalProperties": False}
    assert all("a" not in arguments for arguments in drawn(arguments_for(schema)))


@pytest.mark.slow
def test_a_schema_that_accepts_any_object_has_no_invalid_arguments():
    with pytest.raises(NoValueError, match="the schema accepts any"):
        arguments_for({"type": "object"}, "invalid")


def test_an_unsupported_schema_is_refused_with_the_reason():
    with pytest.raises(DefinitionError, match="cannot be enforced"):
        arguments_for(of({"type": "text"}))


def test_an_unknown_kind_is_an_error():
    with pytest.raises(ValueError, match="kind is"):
        arguments_for({}, "wrong")


def test_a_tool_stands_for_its_schema():
    @tool
    def repeat(text: str) -> str:
        """Repeat a text."""
        return text

    assert all(repeat.call(arguments).ok for arguments in drawn(arguments_for(repeat)))


@pytest.mark.slow
def test_failing_arguments_shrink_to_the_simplest():
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "count": {"type": "integer"}, "extra": {"type": "boolean"}},
        "required": ["text", "count"],
        "additionalProperties": False,
    }
    quiet = settings(max_examples=1_000, database=None)
    assert find(arguments_for(schema), lambda arguments: arguments["count"] > 100, settings=quiet) == {
        "text": "",
        "count": 101,
    }


MISMATCHES = {
    "an empty string": lambda value: value == "",
    "a null byte": lambda value: isinstance(value, str) and "\0" in value,
    "a path out of the folder": lambda value: value == "../../etc/passwd",
    "characters beyond the first plane": lambda value: isinstance(value, str) and any(c > "\uffff" for c in value),
    "an integer of more than 64 bits": lambda value: type(value) is int and abs(value) > 2**64,
    "a negative integer": lambda value: type(value) is int and value < 0,
    "a fraction": lambda value: type(value) is float and not value.is_integer(),
    "an empty list": lambda value: value == [],
    "an empty object": lambda value: value == {},
    "null": lambda value: value is None,
}


@pytest.mark.slow
def test_valid_arguments_include_values_that_programs_often_mishandle():
    kinds = ["string"] * 8 + ["integer"] * 5 + ["number", "boolean", "null", "array", "object"] * 2
    properties = {f"parameter_{number}": {"type": kind} for number, kind in enumerate(kinds)}
    values = []

    @settings(QUIET, max_examples=150, derandomize=True)
    @given(arguments_for({"type": "object", "properties": properties, "required": list(properties)}))
    def run(arguments):
        values.extend(arguments.values())

    run()
    assert [name for name, is_found in MISMATCHES.items() if not any(map(is_found, values))] == []


@pytest.mark.slow
def test_hostile_arguments_include_broken_text_and_values_that_are_not_json():
    values = drawn(arguments_for(SCHEMAS["object"], "hostile"), 300)
    assert {str, bytes, list, dict, set} <= {type(value) for value in values}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(registry))
def test_every_installed_tool_has_arguments_of_each_kind(name):
    tool = registry[name]
    schema = tool.definition["input_schema"]
    assert all(accepts(schema, arguments) for arguments in drawn(arguments_for(tool)))
    assert not any(accepts(schema, arguments, repair=True) for arguments in drawn(arguments_for(tool, "invalid")))
    assert drawn(arguments_for(tool, "hostile"))


# Random schemas


def leaves():
    bounds = st.integers(-20, 20)
    return st.one_of(
        st.sampled_from([{}, True, {"type": "boolean"}, {"type": "null"}, {"type": "string"}, {"type": "number"}]),
        st.builds(lambda low, width: {"type": "integer", "minimum": low, "maximum": low + abs(width)}, bounds, bounds),
        st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, bounds),
        st.builds(lambda step: {"type": "integer", "multipleOf": abs(step) + 1}, bounds),
        st.builds(lambda low, width: {"type": "string", "minLength": low, "maxLength": low + width},
                  st.integers(0, 9), st.integers(0, 9)),
        st.builds(lambda values: {"enum": values}, st.lists(st.integers() | st.text() | st.none(), min_size=1)),
        st.builds(lambda text: {"type": "string", "pattern": text},
                  st.sampled_from(["^a+$", "[0-9]{2}", "^(x|yz)*$", r"^\w\s\d$"])),
    )  # fmt: skip


def containers(inner):
    names = st.sampled_from(["a", "b", "c"])
    return st.one_of(
        st.builds(lambda item, low, unique: {"type": "array", "items": item, "minItems": low, "uniqueItems": unique},
                  inner, st.integers(0, 2), st.booleans()),
        st.builds(lambda members, needed, others: {"type": "object", "properties": members,
                                                   "required": sorted(needed & members.keys()),
                                                   "additionalProperties": others},
                  st.dictionaries(names, inner), st.sets(names), st.booleans() | inner),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"oneOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"allOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda part, other: {"if": part, "then": other}, inner, inner),
    )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.recursive(leaves(), containers, max_leaves=8))
def test_arguments_generated_for_any_schema_are_accepted(part):
    schema = of(part)
    try:
        values = drawn(arguments_for(schema), 5)
    except NoValueError:
        return
    assert all(accepts(schema, arguments) for arguments in values), json.dumps(schema)
