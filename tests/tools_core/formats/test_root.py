"""What Anthropic and OpenAI refuse at the root of a schema is said in another way, and undone in calls."""

from __future__ import annotations

import copy
import json
import re

import pytest

from tools_core import Registry, tool
from tools_core.formats import FORMATS

AS_THEY_ARE = ["anthropic", "openai", "responses"]
REFUSED = {"allOf", "anyOf", "enum", "not", "oneOf"}
LEGAL = re.compile("[a-zA-Z0-9_.-]{1,64}")

ROUTE_OR_FILE = {
    "type": "object",
    "properties": {"route": {"type": "string"}, "file": {"$ref": "#/$defs/file"}},
    "anyOf": [{"required": ["route"]}, {"required": ["file"]}],
    "$defs": {"file": {"type": "string", "minLength": 1}},
}
UNION = {
    "oneOf": [
        {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        {"type": "object", "properties": {"child": {"$ref": "#"}}, "required": ["child"]},
    ]
}
REFERENCE = {"$ref": "#/$defs/it", "$defs": {"it": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
ODD = {
    "type": "object",
    "properties": {
        "$filter": {"type": "string"},
        "ids[]": {"type": "array", "items": {"$ref": "#/properties/%24filter"}},
        "ids__": {"type": "integer"},
        "x" * 70: {"type": "integer"},
        "größe": {"type": "integer"},
        "a.b-c": {"type": "integer"},
    },
    "required": ["$filter", "ids__"],
    "dependentRequired": {"ids[]": ["größe"]},
}
CASES = {"beside": ROUTE_OR_FILE, "around": UNION, "reference": REFERENCE, "odd": ODD}


def written(name, schema, description="Find."):
    (made,) = FORMATS[name].definitions([{"name": "find", "description": description, "input_schema": schema}])
    made = made.get("function", made)
    return made.get("input_schema", made.get("parameters")), made["description"]


def heard(name, schema, arguments):
    """The arguments of a call that a provider tells us."""
    given = {"name": "find", "input_schema": schema}
    response = {
        "anthropic": {"content": [{"type": "tool_use", "id": "1", "name": "find", "input": arguments}]},
        "openai": {"tool_calls": [{"id": "1", "function": {"name": "find", "arguments": json.dumps(arguments)}}]},
        "responses": [{"type": "function_call", "call_id": "1", "name": "find", "arguments": json.dumps(arguments)}],
    }[name]
    (call,) = FORMATS[name].calls(response, [given])
    return call.arguments


@pytest.mark.parametrize("name", AS_THEY_ARE)
@pytest.mark.parametrize("schema", CASES.values(), ids=CASES)
def test_a_root_is_an_object_without_a_union_whatever_it_was_and_nothing_given_is_changed(name, schema):
    before = copy.deepcopy(schema)
    made, _ = written(name, schema)
    assert made["type"] == "object"
    assert "$ref" not in made
    assert not REFUSED & made.keys()
    assert schema == before


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_a_union_beside_the_arguments_is_told_in_words(name):
    made, description = written(name, ROUTE_OR_FILE)
    assert made == {key: value for key, value in ROUTE_OR_FILE.items() if key != "anyOf"}
    assert description.startswith("Find.\n\n")
    assert '{"anyOf":[{"required":["route"]},{"required":["file"]}]}' in description
    assert heard(name, ROUTE_OR_FILE, {"route": "/"}) == {"route": "/"}


@pytest.mark.parametrize("name", AS_THEY_ARE)
@pytest.mark.parametrize(("schema", "arguments"), [(UNION, {"child": {"id": 1}}), (REFERENCE, {"n": 1})])
def test_arguments_that_nobody_can_name_are_one_argument(name, schema, arguments):
    made, _ = written(name, schema)
    assert list(made["properties"]) == made["required"] == ["arguments"]
    references = re.findall(r'"\$ref": "#/\$defs/(\w+)"', json.dumps(made))
    assert set(references) == made["$defs"].keys() != set()
    assert heard(name, schema, {"arguments": arguments}) == arguments
    assert heard(name, schema, arguments) == arguments  # a model that saw through it


def test_anthropic_is_told_of_arguments_by_names_that_it_takes_and_the_tool_by_its_own():
    made, _ = written("anthropic", ODD)
    names = dict(zip(ODD["properties"], made["properties"], strict=True))
    assert all(LEGAL.fullmatch(each) for each in names.values())
    assert len(set(names.values())) == len(names)
    assert (names["ids__"], names["a.b-c"]) == ("ids__", "a.b-c")
    assert made["required"] == [names["$filter"], "ids__"]
    assert made["dependentRequired"] == {names["ids[]"]: [names["größe"]]}
    assert made["properties"][names["ids[]"]]["items"]["$ref"].startswith("#/$defs/")
    arguments = dict.fromkeys(ODD["properties"], 1)
    assert heard("anthropic", ODD, {names[each]: 1 for each in arguments}) == arguments
    assert list(written("openai", ODD)[0]["properties"]) == list(ODD["properties"])


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_a_tool_with_odd_arguments_can_be_called_through_every_provider(name):
    @tool(input_schema=ODD)
    def find(**arguments):
        return arguments

    registry = Registry()
    registry.register(find)
    (made,) = FORMATS[name].definitions(registry.definitions())
    schema = made.get("input_schema") or made.get("parameters") or made["function"]["parameters"]
    sent = dict(zip(schema["properties"], ["a", ["b"], 3, 4, 5, 6], strict=True))
    result = find.call(heard(name, ODD, sent))
    assert result.output == dict(zip(ODD["properties"], ["a", ["b"], 3, 4, 5, 6], strict=True))


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_an_ordinary_schema_stays_as_it_is(name):
    schema = {"type": "object", "properties": {"city": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    assert written(name, schema) == (schema, "Find.")
