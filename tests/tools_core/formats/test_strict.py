"""OpenAI's strict dialect, rule by rule."""

from __future__ import annotations

import json

import pytest

from tools_core.formats import FormatError, openai_strict, responses_strict


def strict(properties, required=None, **rest):
    """What becomes of the properties of a tool that requires all of them."""
    required = list(properties) if required is None else required
    schema = {"type": "object", "properties": properties, "required": required, **rest}
    [written] = responses_strict.definitions([{"name": "t", "description": "T.", "input_schema": schema}])
    assert written["strict"] is True
    return written["parameters"]


def back(schema, arguments):
    [call] = responses_strict.calls(
        [{"type": "function_call", "call_id": "c", "name": "t", "arguments": json.dumps(arguments)}],
        [{"name": "t", "input_schema": schema}],
    )
    return call.arguments


def refused(schema):
    with pytest.raises(FormatError) as caught:
        openai_strict.definitions([{"name": "weather", "input_schema": schema}])
    assert caught.value.tool == "weather"
    assert caught.value.format == "openai-strict"
    assert "`weather`" in str(caught.value)
    return caught.value


def parts(schema):
    """Every subschema of what was written."""
    yield schema
    for part in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]:
        yield from parts(part)
    if "items" in schema:
        yield from parts(schema["items"])


def test_objects_are_closed_all_is_required_and_what_is_optional_may_be_null():
    schema = strict({"city": {"type": "string"}, "days": {"type": "integer"}}, ["city"])
    assert schema == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }


def test_a_default_and_what_strict_has_no_keyword_for_is_said_in_the_description():
    schema = strict(
        {
            "city": {"type": "string", "description": "Where.", "minLength": 3, "maxLength": 1},
            "days": {"type": "integer", "default": 5, "minimum": 1},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 1},
            "site": {"type": "string", "format": "uri", "pattern": "(?=a)b", "examples": ["x"]},
        }
    )
    assert schema["properties"] == {
        "city": {"type": "string", "description": "Where. (at least 3 characters; at most 1 character)"},
        "days": {"type": "integer", "minimum": 1, "description": "Default 5"},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "No item twice"},
        "site": {
            "type": "string",
            "description": 'In the format uri; matching the pattern (?=a)b; for example "x"',
        },
    }


def test_keywords_that_need_their_json_are_said_as_json():
    [part] = strict({"a": {"type": "string", "not": {"const": "x"}}})["properties"].values()
    assert part == {"type": "string", "description": 'Must fit the JSON Schema {"not":{"const":"x"}}'}


def test_an_open_object_is_json_text_that_calls_parse():
    schema = {"type": "object", "properties": {"env": {"type": "object", "additionalProperties": {"type": "string"}}}}
    [part] = strict(schema["properties"])["properties"].values()
    assert part["type"] == "string"
    assert part["description"].startswith("JSON text that fits")
    assert back(schema, {"env": '{"A": "1"}'}) == {"env": {"A": "1"}}
    assert back(schema, {"env": None}) == {}
    assert back(schema, {"env": "{broken"}) == {"env": "{broken"}


def test_further_members_beside_named_ones_are_json_text():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": True}
    made = strict(schema["properties"], additionalProperties=True)
    assert list(made["properties"]) == ["a", "additional_properties"]
    assert back(schema, {"a": 1, "additional_properties": '{"b": 2, "a": 9}'}) == {"a": 1, "b": 2}


def test_all_of_is_merged_and_one_of_is_any_of():
    made = strict(
        {
            "a": {"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3, "maximum": 9}], "description": "A."},
            "b": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
            "c": {
                "allOf": [
                    {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
                    {"type": "object", "properties": {"y": {"type": "string"}}},
                ]
            },
        }
    )["properties"]
    assert made["a"] == {"type": "integer", "minimum": 3, "maximum": 9, "description": "A."}
    assert made["b"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert made["c"]["properties"] == {"x": {"type": "string"}, "y": {"type": ["string", "null"]}}
    assert made["c"]["required"] == ["x", "y"]


def test_alternatives_of_all_arguments_go_into_one_member_that_calls_take_out():
    one = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    two = {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}
    schema = {"type": "object", "anyOf": [one, two]}
    [written] = openai_strict.definitions([{"name": "t", "input_schema": schema}])
    made = written["function"]["parameters"]
    assert made["type"] == "object"
    assert "anyOf" not in made
    assert [part["required"] for part in made["properties"]["arguments"]["anyOf"]] == [["city"], ["lat"]]
    assert back(schema, {"arguments": {"lat": 1.5}}) == {"lat": 1.5}


def test_a_tool_s_own_member_called_arguments_is_an_ordinary_one():
    schema = {"type": "object", "properties": {"arguments": {"type": "object"}}, "required": ["arguments"]}
    assert back(schema, {"arguments": '{"a":1}'}) == {"arguments": {"a": 1}}


def test_null_that_is_a_value_of_its_own_is_told_from_absence():
    schema = {"type": "object", "properties": {"limit": {"type": ["integer", "null"], "default": 10}}}
    made = strict(schema["properties"], [])["properties"]["limit"]
    assert [part["type"] for part in made["anyOf"]] == ["object", "null"]
    assert back(schema, {"limit": None}) == {}
    assert back(schema, {"limit": {"value": None}}) == {"limit": None}
    assert back(schema, {"limit": {"value": 3}}) == {"limit": 3}


def test_null_as_the_default_is_the_same_as_absence():
    schema = {"type": "object", "properties": {"limit": {"type": ["integer", "null"], "default": None}}}
    assert strict(schema["properties"], [])["properties"]["limit"] == {"type": ["integer", "null"]}
    assert back(schema, {"limit": None}) == {}


def test_a_required_null_stays():
    schema = {"type": "object", "properties": {"limit": {"type": ["integer", "null"]}}, "required": ["limit"]}
    assert back(schema, {"limit": None}) == {"limit": None}


def test_recursion_stays_a_reference():
    node = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node", "description": "The next."}},
        "required": ["name"],
    }
    schema = {"type": "object", "properties": {"list": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    made = strict(schema["properties"], ["list"], **{"$defs": schema["$defs"]})
    assert made["properties"]["list"] == {"$ref": "#/$defs/Node"}
    assert made["$defs"]["Node"]["properties"]["next"] == {
        "anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}],
        "description": "The next.",
    }
    sent = {"list": {"name": "a", "next": {"name": "b", "next": None}}}
    assert back(schema, sent) == {"list": {"name": "a", "next": {"name": "b"}}}


def test_a_reference_inside_an_all_of_of_one_is_a_reference():
    node = {"type": "object", "properties": {"next": {"allOf": [{"$ref": "#/$defs/Node"}], "description": "The next."}}}
    made = strict({"list": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": node}})
    assert made["$defs"]["Node"]["properties"]["next"]["anyOf"] == [{"$ref": "#/$defs/Node"}, {"type": "null"}]


def test_a_recursion_that_could_only_be_written_out_is_refused():
    node = {
        "type": "object",
        "properties": {key: {"$ref": "#/$defs/Node", "minProperties": 1} for key in ("left", "right")},
    }
    error = refused({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}})
    assert "make it flatter and smaller" in str(error)


def test_a_schema_that_is_recursive_as_a_whole_refers_to_a_definition():
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}, "name": {"type": "string"}}, "required": ["name"]}
    made = strict(schema["properties"], ["name"])
    assert made["properties"]["next"]["anyOf"][0] == {"$ref": "#/$defs/root"}
    assert made["$defs"]["root"]["additionalProperties"] is False
    assert back(schema, {"name": "a", "next": {"name": "b", "next": None}}) == {"name": "a", "next": {"name": "b"}}


def test_alternatives_that_look_alike_on_the_wire_are_json_text():
    made = strict({"a": {"anyOf": [{"type": "string"}, {"type": "object"}]}})["properties"]["a"]
    assert made["type"] == "string"
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "object"}]}}}
    assert back(schema, {"a": '"{}"'}) == {"a": "{}"}
    assert back(schema, {"a": "{}"}) == {"a": {}}


def test_alternatives_are_undone_by_the_one_that_a_value_has_the_shape_of():
    one = {
        "type": "object",
        "properties": {"kind": {"const": "map"}, "of": {"type": "object"}},
        "required": ["kind", "of"],
    }
    two = {
        "type": "object",
        "properties": {"kind": {"const": "text"}, "of": {"type": "string"}},
        "required": ["kind", "of"],
    }
    schema = {"type": "object", "properties": {"a": {"anyOf": [one, two]}}, "required": ["a"]}
    assert "anyOf" in strict(schema["properties"])["properties"]["a"]
    assert back(schema, {"a": {"kind": "map", "of": "{}"}}) == {"a": {"kind": "map", "of": {}}}
    assert back(schema, {"a": {"kind": "text", "of": "{}"}}) == {"a": {"kind": "text", "of": "{}"}}


def test_a_tuple_is_a_list_of_its_parts_with_their_order_in_words():
    part = strict({"p": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": False}})
    made = part["properties"]["p"]
    assert made["items"] == {"anyOf": [{"type": "number"}, {"type": "string"}]}
    assert made["maxItems"] == 2
    assert "prefixItems" in made["description"]


def test_a_choice_of_lists_is_a_choice_of_texts():
    schema = {"type": "object", "properties": {"size": {"enum": [[1, 2], [3, 4]]}}}
    assert strict(schema["properties"])["properties"]["size"] == {"type": "string", "enum": ["[1,2]", "[3,4]"]}
    assert back(schema, {"size": "[3,4]"}) == {"size": [3, 4]}


def test_broken_json_stays_as_it_came_for_the_tool_to_refuse():
    schema = {"type": "object", "properties": {"env": {"type": "object"}}}
    message = {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"env": '}}]}
    [call] = openai_strict.calls(message, [{"name": "t", "input_schema": schema}])
    assert call.raw == '{"env": '


def test_arguments_that_nothing_was_changed_in_stay_the_provider_s_text():
    schema = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    message = {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": '{ "n": 1.50 }'}}]}
    [call] = openai_strict.calls(message, [{"name": "t", "input_schema": schema}])
    assert call.raw == '{ "n": 1.50 }'


def test_no_written_part_has_a_keyword_that_strict_has_not():
    schema = strict(
        {
            "a": {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}, "minProperties": 1},
            "c": {"if": {"const": 1}, "then": {"const": 1}},
            "d": {"type": "array", "contains": {"const": 1}},
            "e": {
                "type": "object",
                "properties": {"f": {}},
                "dependentRequired": {"f": ["g"]},
                "patternProperties": {},
            },
        }
    )
    known = {
        "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "format", "items", "maxItems",
        "minItems", "pattern", "properties", "required", "type",
    }  # fmt: skip
    for part in parts(schema):
        assert part.keys() <= known
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])


# Limits, and what is no schema


def nested(levels):
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    for _ in range(levels - 1):
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    return schema


def test_more_levels_than_the_provider_takes_are_refused_by_name():
    assert openai_strict.definitions([{"name": "weather", "input_schema": nested(10)}])
    error = refused(nested(11))
    assert "nested 11 levels deep; the limit is 10" in str(error)
    assert error.path == "/".join(["properties/x"] * 10)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({f"p{n}": {"type": "string"} for n in range(5_001)}, "5,001 properties; the limit is 5,000"),
        ({"a": {"enum": list(range(1_000))}}, "1,001 enum values; the limit is 1,000"),
        ({"a": {"enum": [f"{n:060}" for n in range(251)]}}, "15,060 characters; the limit is 15,000"),
        ({f"{n:0>1000}": {"type": "string"} for n in range(121)}, "121,000 characters; the limit is 120,000"),
    ],
    ids=["properties", "enum values", "a long enum", "text"],
)
def test_larger_schemas_than_the_provider_takes_are_refused_by_name(properties, words):
    assert words in str(refused({"type": "object", "properties": properties}))


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "dict"}, '"type" must be one of string'),
        ({"$ref": "#/$defs/Gone"}, "nothing at the $ref"),
        ({"enum": []}, "at least one value"),
        ("string", "a schema is an object or a boolean"),
        ({"type": "object", "properties": []}, '"properties" must be an object'),
        ({"type": "object", "properties": {"b": {}}, "required": 7}, '"required" must be'),
        ({"type": "object", "properties": {"b": {}}, "dependentRequired": []}, '"dependentRequired" must be'),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, "the limit itself"),
        ({"anyOf": {"type": "string"}}, '"anyOf" must be an array'),
        ({"type": ["string", "text"]}, '"type" must be one of string'),
        ({"$dynamicRef": "#a"}, 'write "$ref"'),
    ],
    ids=[
        "type",
        "reference",
        "enum",
        "text",
        "properties",
        "required",
        "dependentRequired",
        "exclusiveMinimum",
        "anyOf",
        "types",
        "dynamic",
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(part, words):
    error = refused({"type": "object", "properties": {"a": part}})
    assert words in str(error)
    assert error.path == "properties/a"


def test_alternatives_that_multiply_become_json_text():
    union = {"anyOf": [{"type": "object", "properties": {f"p{n}": {"const": n}}} for n in range(7)]}
    made = strict({"a": {"allOf": [union, {"anyOf": union["anyOf"][::-1]}]}})["properties"]["a"]
    assert made["type"] == "string"
    assert made["description"].startswith("JSON text that fits the JSON Schema")


def test_an_optional_reference_that_is_never_null_stays_a_plain_one():
    expression = {"anyOf": [{"type": "number"}, {"type": "object", "properties": {"of": {"$ref": "#/$defs/E"}}}]}
    made = strict({"e": {"$ref": "#/$defs/E"}}, **{"$defs": {"E": expression}})
    of = made["$defs"]["E"]["anyOf"][1]["properties"]["of"]
    assert of == {"anyOf": [{"$ref": "#/$defs/E"}, {"type": "null"}]}


def test_numbers_of_members_are_said_where_members_go_elsewhere():
    properties = {"a": {"type": "object", "properties": {"b": {}}, "additionalProperties": True, "maxProperties": 3}}
    assert strict(properties)["properties"]["a"]["description"] == "At most 3 members"


@pytest.mark.slow
def test_both_apis_of_openai_get_the_same_strict_schema(real_definitions):
    for definitions in real_definitions[:2]:
        chat = [each["function"]["parameters"] for each in openai_strict.definitions(definitions)]
        assert chat == [each["parameters"] for each in responses_strict.definitions(definitions)]


def test_alternatives_with_the_same_members_of_other_forms_are_json_text():
    one = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    two = {"type": "object", "properties": {"x": {"type": "object"}}, "required": ["x"]}
    schema = {"type": "object", "properties": {"a": {"anyOf": [one, two]}}, "required": ["a"]}
    assert strict(schema["properties"])["properties"]["a"]["type"] == "string"
    assert back(schema, {"a": '{"x": "{}"}'}) == {"a": {"x": "{}"}}


def test_a_tuple_is_not_merged_with_another_list():
    pair = {"type": "array", "prefixItems": [{"type": "string"}], "items": False}
    made = strict({"a": {"allOf": [pair, {"type": "array", "items": {"type": "string"}}]}})["properties"]["a"]
    assert made["type"] == "string"
    assert "prefixItems" in made["description"]
