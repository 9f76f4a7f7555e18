"""`arguments_for`: what it makes is what its kind says, by the core's own word."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from tools_core import DefinitionError, InvalidArguments, registry, tool
from tools_testing import NoValueError, arguments_for
from tools_testing._values._source import samples

# Schemas from plain to nasty; each of them can be met, but for the impossible ones


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
    "true": True,
    "string": {"type": "string"},
    "short string": {"type": "string", "maxLength": 2},
    "long string": {"type": "string", "minLength": 50, "maxLength": 60},
    "fixed length": {"type": "string", "minLength": 7, "maxLength": 7},
    "integer": {"type": "integer"},
    "bounded integer": {"type": "integer", "minimum": 3, "maximum": 5},
    "open bounds": {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
    "huge bounds": {"type": "integer", "minimum": 10**40, "maximum": 10**40 + 2},
    "number": {"type": "number"},
    "open interval": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "narrow interval": {"type": "number", "minimum": 0.1, "maximum": 0.10001},
    "multiple": {"type": "integer", "multipleOf": 7},
    "multiple in bounds": {"type": "integer", "multipleOf": 97, "minimum": 100, "maximum": 200},
    "decimal steps": {"type": "number", "multipleOf": 0.01, "minimum": 0, "maximum": 1},
    "two steps": {"allOf": [{"type": "integer", "multipleOf": 6}, {"multipleOf": 10}]},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "several types": {"type": ["string", "integer", "null"]},
    "enum": {"enum": ["a", 1, None, [1], {"b": 2}]},
    "enum with a type": {"type": "string", "enum": ["a", 1, "b"]},
    "enum with bounds": {"enum": [1, 5, 10], "minimum": 5},
    "const": {"const": {"deep": [1, {"er": True}]}},
    "array": {"type": "array"},
    "array of integers": {"type": "array", "items": {"type": "integer"}},
    "sized array": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 4},
    "unique": {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    "unique booleans": {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True},
    "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
    "long tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"const": 1}], "minItems": 4},
    "contains": {"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 100}},
    "contains two": {"type": "array", "contains": {"const": "x"}, "minContains": 2, "maxContains": 3},
    "open object": {"type": "object"},
    "object": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    "closed object": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
    "mapping": {"type": "object", "additionalProperties": {"type": "integer"}},
    "big mapping": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 5},
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
    "members that change others": {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "dependentSchemas": {"kind": {"required": ["size"], "properties": {"size": {"minimum": 1, "type": "integer"}}}},
    },
    "unevaluated": {
        "type": "object",
        "allOf": [{"properties": {"a": {"type": "string"}}}],
        "properties": {"b": {"type": "integer"}},
        "unevaluatedProperties": False,
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
    "not": {"type": "integer", "not": {"enum": [0, 1, -1]}},
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
    "alternatives": {"type": "string", "pattern": "^(?:red|green|blue)$"},
    "escapes": {"type": "string", "pattern": r"^\d{4}-\d\d\s\w+\.\S$"},
    "unicode": {"type": "string", "pattern": r"^[\u4e00-\u9fff]\u{1F600}\x41\cA$"},
    "negated class": {"type": "string", "pattern": r"^[^a-z\d\s]{4}$"},
    "named and back": {"type": "string", "pattern": r"^(?<quote>['\"])[a-z]*\k<quote>(x)\2$"},
    "look ahead": {"type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]{1,6}$"},
    "word boundary": {"type": "string", "pattern": r"\bcat\b"},
    "lazy": {"type": "string", "pattern": "^a+?b*?c{2,}?$"},
    "pattern and length": {"type": "string", "pattern": "^[ab]+$", "minLength": 12, "maxLength": 15},
    "two patterns": {"allOf": [{"type": "string", "pattern": "^[a-c]+$"}, {"pattern": "^..?.?$"}]},
    **{
        f"format {name}": {"type": "string", "format": name}
        for name in ("date", "date-time", "time", "duration", "uuid", "email", "uri", "ipv4", "ipv6", "hostname", "x")
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
    "open": {"type": "object"},
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

HURRIED = settings(
    max_examples=15,
    phases=[Phase.generate],
    database=None,
    suppress_health_check=list(HealthCheck),
)


def echo(schema, *, strict):
    return tool(lambda **arguments: arguments, name="echo", input_schema=schema, strict=strict)


def accepts(schema, arguments, *, strict=True):
    try:
        echo(schema, strict=strict).invoke(arguments)
    except InvalidArguments:
        return False
    return True


def drawn(strategy, count=15):
    """Some examples, as hypothesis makes them."""
    made = []

    @settings(HURRIED, max_examples=count)
    @given(strategy)
    def run(example):
        made.append(example)

    run()
    return made


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_valid_arguments_are_accepted_as_they_stand(schema):
    judge = echo(schema, strict=True)
    for arguments in drawn(arguments_for(schema)):
        judge.invoke(arguments)  # raises InvalidArguments for what does not fit


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_nearly_valid_arguments_are_objects_that_no_repair_saves(schema):
    try:
        strategy = arguments_for(schema, "near")
    except NoValueError as error:
        assert schema == SCHEMAS["open"], error
        return
    for arguments in drawn(strategy):
        assert isinstance(arguments, dict)
        assert not accepts(schema, arguments, strict=False)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_whatever_is_hostile_is_answered_with_a_result(schema):
    answering = echo(schema, strict=False)
    for arguments in drawn(arguments_for(schema, "hostile")):
        assert answering.call(arguments).error_type in (None, "validation_error")


@pytest.mark.parametrize("schema", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_schema_without_values_is_told_and_not_searched_for_ever(schema):
    with pytest.raises(NoValueError, match="no valid value was found"):
        arguments_for(schema)


def test_the_part_without_values_is_named():
    with pytest.raises(NoValueError, match="the required property 'value'"):
        arguments_for(IMPOSSIBLE["bounds that exclude each other"])


def test_an_optional_part_without_values_is_left_out():
    schema = {"type": "object", "properties": {"a": False, "b": {"type": "integer"}}, "additionalProperties": False}
    assert all("a" not in arguments for arguments in drawn(arguments_for(schema)))


def test_a_schema_that_refuses_no_object_has_nothing_nearly_valid():
    with pytest.raises(NoValueError, match="open to everything"):
        arguments_for({"type": "object"}, "near")


def test_a_schema_that_the_core_does_not_take_is_refused_with_its_reason():
    with pytest.raises(DefinitionError, match="cannot be enforced"):
        arguments_for(of({"type": "text"}))


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind is"):
        arguments_for({}, "wrong")


def test_the_same_seed_gives_the_same_samples_and_another_one_others():
    schema = SCHEMAS["object"]
    assert samples(schema, 10) == samples(schema, 10)
    assert samples(schema, 10) != samples(schema, 10, seed=1)


def test_what_fails_shrinks_to_the_simplest_arguments():
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


PARAMETERS = ["string"] * 8 + ["integer"] * 5 + ["number", "boolean", "null", "array", "object"] * 2
EVERYTHING = {
    "type": "object",
    "properties": {f"parameter_{number}": {"type": kind} for number, kind in enumerate(PARAMETERS)},
}


@pytest.fixture(scope="module")
def many():
    """What hypothesis gives for parameters of all types."""
    made = []

    @settings(HURRIED, max_examples=150, derandomize=True)
    @given(arguments_for(EVERYTHING | {"required": list(EVERYTHING["properties"])}))
    def run(arguments):
        made.extend(arguments.values())

    run()
    return made


@pytest.mark.parametrize(
    ("name", "found"),
    {
        "an empty string": lambda value: value == "",
        "a null byte": lambda value: isinstance(value, str) and "\0" in value,
        "characters beyond the first plane": lambda value: isinstance(value, str) and any(c > "\uffff" for c in value),
        "a number beyond 64 bits": lambda value: type(value) is int and abs(value) > 2**64,
        "a negative number": lambda value: type(value) is int and value < 0,
        "a fraction": lambda value: type(value) is float and not value.is_integer(),
        "an empty list": lambda value: value == [],
        "an empty object": lambda value: value == {},
        "null": lambda value: value is None,
    }.items(),
)
def test_among_the_valid_ones_are_those_that_break_programs(many, name, found):
    assert any(map(found, many)), name


def test_among_the_hostile_ones_are_broken_text_and_values_that_are_no_json():
    made = drawn(arguments_for(SCHEMAS["object"], "hostile"), 300)
    assert {str, bytes, list, dict, set} <= {type(each) for each in made}


@pytest.mark.parametrize("name", list(registry))
def test_the_schema_of_every_installed_tool_has_values_of_all_kinds(name):
    schema = registry[name].definition["input_schema"]
    assert all(accepts(schema, arguments) for arguments in samples(schema, 20))
    assert not any(accepts(schema, arguments, strict=False) for arguments in samples(schema, 20, "near"))
    assert samples(schema, 20, "hostile")


# Schemas that nobody thought of


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
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.recursive(leaves(), containers, max_leaves=8))
def test_arguments_for_any_schema_are_accepted_or_there_are_none(part):
    schema = of(part)
    try:
        made = samples(schema, 5)
    except NoValueError:
        return
    assert all(accepts(schema, arguments) for arguments in made), json.dumps(schema)
