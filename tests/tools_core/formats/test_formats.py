"""The promises of every format, and the rules of each provider for definitions and names."""

from __future__ import annotations

import copy
import doctest
import json
import re
from types import MappingProxyType
from typing import Annotated

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import tools_core.formats
from tools_core import File, Image, Registry, Result, Tool, ToolCall, tool
from tools_core.formats import FORMATS, FormatError, gemini, legal_names

PROVIDERS = [name for name in FORMATS if name != "mcp"]


@tool(read_only=True)
def weather(city: Annotated[str, "City name"], days: int = 3, tags: list[str] | None = None) -> dict[str, int]:
    """Weather for a city."""
    return {"degrees": days}


class Greeter(Tool):
    """Greet."""

    def execute(self, name: str) -> Result:
        return Result.ok(f"Hello, {name}!")


def schema_in(converted):
    converted = converted.get("function", converted)
    keys = ("parameters", "input_schema", "parametersJsonSchema", "inputSchema")
    return next(converted[key] for key in keys if key in converted)


def test_each_format_is_found_by_its_name_and_as_an_attribute():
    for name, entry in FORMATS.items():
        assert entry is getattr(tools_core.formats, name.replace("-", "_"))
        assert (entry.name, name in repr(entry)) == (name, True)


def test_the_example_in_the_docstring_works():
    assert doctest.testmod(tools_core.formats).failed == 0


@pytest.mark.parametrize("name", FORMATS)
def test_tools_and_definitions_are_converted_alike(name):
    registry = Registry()
    registry.register(weather)
    registry.register(Greeter)
    tools = [weather, Greeter()]
    converted = FORMATS[name].definitions(tools)
    assert converted == FORMATS[name].definitions([item.definition for item in tools])
    assert converted == FORMATS[name].definitions(registry.definitions())
    assert json.loads(json.dumps(converted)) == converted


@pytest.mark.parametrize("name", FORMATS)
def test_definitions_are_neither_changed_nor_shared(name):
    member = {"type": "array", "items": {"type": "string", "enum": ["x"], "default": "x"}}
    definition = {"name": "t", "input_schema": {"type": "object", "properties": {"a": member}, "required": []}}
    before = copy.deepcopy(definition)
    converted = FORMATS[name].definitions([definition])
    assert definition == before
    assert containers(converted).isdisjoint(containers(definition))


def containers(value):
    """The identities of all lists and dicts."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {id(value)}.union(*map(containers, items)) if isinstance(value, dict | list) else set()


@pytest.mark.parametrize("name", FORMATS)
def test_a_definition_with_only_a_name_has_no_arguments(name):
    [converted] = FORMATS[name].definitions([MappingProxyType({"name": "ping"})])
    assert schema_in(converted).items() >= {"type": "object", "properties": {}}.items()


@pytest.mark.parametrize("value", [["weather"], [{"description": "x"}], {"name": "weather"}, [7]])
def test_values_that_are_not_definitions_raise_a_helpful_type_error(value):
    for use in (FORMATS["openai"].definitions, lambda value: FORMATS["openai"].calls([], value)):
        with pytest.raises(TypeError, match=r"registry\.definitions"):
            use(value)


def test_two_definitions_with_the_same_name_are_refused():
    with pytest.raises(FormatError, match="two definitions have the name `b`"):
        FORMATS["openai"].definitions([{"name": "a"}, {"name": "b"}, {"name": "b"}])


@pytest.mark.parametrize("name", FORMATS)
def test_names_are_rewritten_for_the_provider_and_restored(name, answer):
    tools = [{"name": "math.sum"}, {"name": "math_sum"}, {"name": "a é"}]
    wire = [item.get("function", item)["name"] for item in FORMATS[name].definitions(tools)]
    assert wire == list(legal_names([item["name"] for item in tools], name).values())
    calls = FORMATS[name].calls(answer(name, [("1", item, {}) for item in [*wire, "made_up"]]), tools)
    assert [call.name for call in calls] == ["math.sum", "math_sum", "a é", "made_up"]
    if name == "gemini":
        [content] = gemini.results([(calls[2], Result.ok("x"))], tools)
        assert content["parts"][0]["functionResponse"]["name"] == wire[2]


@pytest.mark.parametrize("name", FORMATS)
def test_a_lone_surrogate_never_reaches_the_wire(name):
    text = "a\ud800b"
    definition = {"name": "t", "description": text, "input_schema": {"properties": {"x": {"default": text}}}}
    call = ToolCall("1", "t", {})
    results = [
        Result.ok(text),
        Result.error(text),
        Result.ok({"k": [text]}),
        Result.json(text),
        Result.ok([text, b"x"]),
    ]
    converted = FORMATS[name].definitions([definition]) + FORMATS[name].results([(call, item) for item in results])
    sent = json.dumps(converted, ensure_ascii=False).encode().decode()
    assert "a\ufffdb" in sent


def test_surrogate_pairs_are_joined():
    [message] = FORMATS["openai"].results([(ToolCall("1", "t"), Result.ok("\ud83d\ude00"))])
    assert message["content"] == "😀"


@pytest.mark.parametrize("name", PROVIDERS)
def test_unsupported_root_keywords_move_into_the_description(name, answer):
    union = {"anyOf": [{"required": ["route"]}, {"required": ["file"]}]}
    schema = {"type": "object", "properties": {"route": {"type": "string"}, "file": {"type": "string"}}} | union
    definition = {"name": "find", "description": "Find.", "input_schema": schema}
    [converted] = FORMATS[name].definitions([definition])
    assert not {"anyOf", "$ref"} & schema_in(converted).keys()
    assert list(schema_in(converted)["properties"]) == ["route", "file"]
    description = converted.get("function", converted)["description"]
    assert description.startswith("Find.\n\n")
    assert json.dumps(union, separators=(",", ":")) in description
    [call] = FORMATS[name].calls(answer(name, [("1", "find", {"route": "/"})]), [definition])
    assert call.arguments == {"route": "/"}


@pytest.mark.parametrize("name", ["anthropic", "anthropic-strict"])
def test_argument_names_are_rewritten_for_anthropic_and_restored(name, answer):
    members = {"$filter": {"type": "string"}, "ids[]": {"type": "integer"}, "größe": {"type": "integer"}, "a.b": {}}
    definition = {"name": "find", "input_schema": {"properties": members, "required": ["$filter"]}}
    [converted] = FORMATS[name].definitions([definition])
    wire = list(schema_in(converted)["properties"])
    assert wire == ["_filter", "ids__", "gr__e", "a.b"]
    assert schema_in(converted)["required"] == ["_filter"]
    [call] = FORMATS[name].calls(answer(name, [("1", "find", dict.fromkeys(wire, 1))]), [definition])
    assert call.arguments == dict.fromkeys(members, 1)


def test_gemini_gets_unchanged_schemas_in_one_tool():
    [[declaration]] = [item["functionDeclarations"] for item in gemini.tools([weather])]
    assert declaration["parametersJsonSchema"] == weather.definition["input_schema"]
    assert "parameters" not in declaration


def test_mcp_definitions_have_hints_and_object_output_schemas():
    output = {"type": "object", "properties": {"n": {"type": "integer"}}}
    hints = {"read_only": True, "open_world": False}
    definition = {"name": "t", "input_schema": {}, "annotations": hints, "output_schema": output}
    [converted] = FORMATS["mcp"].definitions([definition])
    assert converted["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert converted["outputSchema"] == output
    [other] = FORMATS["mcp"].definitions([definition | {"output_schema": {"type": "string"}}])
    assert "outputSchema" not in other


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("openai", {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}),
        ("responses", {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}),
        (
            "anthropic",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        ),
        ("gemini", {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}),
    ],
)
def test_content_describes_files_that_the_provider_does_not_support(name, image):
    files = [Image(b"\x89PNG\r\n\x1a\n"), File(b"\xff\x00")]
    first, picture, last = FORMATS[name].content(["What is it?", *files])
    assert first["text"] == "What is it?"
    assert image.items() <= picture.items()
    assert "not supported by this provider" in last["text"]


class Routed(Tool):
    """Find a route."""

    examples = [{"from": "Oslo", "via[]": ["Moss"]}, {"from": "Å"}]
    input_schema = {
        "type": "object",
        "properties": {"from": {"type": "string"}, "via[]": {"type": "array", "items": {"type": "string"}}},
        "required": ["from"],
        "additionalProperties": False,
    }

    def execute(self, **arguments):
        return arguments


@pytest.mark.parametrize("name", ["anthropic", "anthropic-strict"])
def test_anthropic_has_examples_in_a_field_with_legal_names(name):
    [definition] = FORMATS[name].definitions([Routed()])
    assert definition["input_examples"] == [{"from": "Oslo", "via__": ["Moss"]}, {"from": "Å"}]
    assert definition["description"] == "Find a route."
    assert Draft202012Validator(definition["input_schema"]).is_valid(definition["input_examples"][0])


@pytest.mark.parametrize("name", ["openai", "openai-strict", "responses", "responses-strict", "gemini", "mcp"])
def test_other_formats_have_examples_in_the_description(name):
    registry = Registry()
    registry.register(Routed)
    [converted] = FORMATS[name].definitions(registry.definitions())
    description = converted.get("function", converted)["description"]
    assert description == 'Find a route.\n\nExamples:\n{"from":"Oslo","via[]":["Moss"]}\n{"from":"Å"}'


PATTERNS = dict.fromkeys(FORMATS, "[A-Za-z0-9_-]{1,64}") | {
    "gemini": "[A-Za-z_][A-Za-z0-9_.:-]{0,63}",
    "mcp": "[A-Za-z0-9_.-]{1,64}",
}
NAMES = st.lists(
    st.one_of(st.text(max_size=80), st.text("a.:_-1é ", max_size=5), st.sampled_from(["a.b", "a_b", "a:b"]))
)


@given(names=NAMES)
@example(names=["a.b", "a_b", "a:b", "", "." * 70, "x" * 70, "x" * 71, "é", "è", "1", "-"])
@pytest.mark.parametrize("format_", ["openai", "gemini", "mcp"])
def test_names_are_legal_unique_and_independent_of_order(format_, names):
    result = legal_names(names, format_)
    assert result.keys() == set(names)
    assert len(set(result.values())) == len(result)
    assert all(re.fullmatch(PATTERNS[format_], name) for name in result.values())
    assert legal_names(sorted(names, reverse=True), format_) == result
    assert all(result[name] == name for name in names if re.fullmatch(PATTERNS[format_], name))


def test_rewritten_names_are_readable():
    assert legal_names(["math.sum"], "openai") == {"math.sum": "math_sum"}
    assert legal_names(["math.sum"], "gemini") == {"math.sum": "math.sum"}
    assert legal_names(["2d"], "gemini") == {"2d": "_2d"}


def test_a_rewritten_name_never_equals_another_name():
    result = legal_names(["math.sum", "math_sum"], "openai")
    assert result["math_sum"] == "math_sum"
    assert re.fullmatch("math_sum_[0-9a-f]{8}", result["math.sum"])
    again = legal_names(["math.sum", "math_sum", result["math.sum"]], "openai")
    assert len(set(again.values())) == 3
