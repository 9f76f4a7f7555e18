"""Promises of every format, and the rules of each provider for definitions."""

from __future__ import annotations

import copy
import doctest
import json
import subprocess
import sys
from types import MappingProxyType
from typing import Annotated

import pytest
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


def schema_in(written):
    written = written.get("function", written)
    keys = ("parameters", "input_schema", "parametersJsonSchema", "inputSchema")
    return next(written[key] for key in keys if key in written)


def test_each_format_is_found_by_its_name_and_as_an_attribute():
    for name, found in FORMATS.items():
        assert found is getattr(tools_core.formats, name.replace("-", "_"))
        assert (found.name, name in repr(found)) == (name, True)


def test_the_example_in_the_docstring_works():
    assert doctest.testmod(tools_core.formats).failed == 0


def test_the_core_does_not_load_the_formats():
    code = "import sys, tools_core, tools_core._registry; print('tools_core.formats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("name", FORMATS)
def test_tools_and_their_definitions_and_a_registry_s_give_the_same(name):
    registry = Registry()
    registry.register(weather)
    registry.register(Greeter)
    tools = [weather, Greeter()]
    written = FORMATS[name].definitions(tools)
    assert written == FORMATS[name].definitions([each.definition for each in tools])
    assert written == FORMATS[name].definitions(registry.definitions())
    assert json.loads(json.dumps(written)) == written


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_that_is_given_is_changed_or_shared(name):
    member = {"type": "array", "items": {"type": "string", "enum": ["x"], "default": "x"}}
    definition = {"name": "t", "input_schema": {"type": "object", "properties": {"a": member}, "required": []}}
    before = copy.deepcopy(definition)
    written = FORMATS[name].definitions([definition])
    assert definition == before
    assert containers(written).isdisjoint(containers(definition))


def containers(value):
    """The identities of all lists and dicts."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {id(value)}.union(*map(containers, items)) if isinstance(value, dict | list) else set()


@pytest.mark.parametrize("name", FORMATS)
def test_a_definition_of_a_name_alone_is_a_tool_without_arguments(name):
    [written] = FORMATS[name].definitions([MappingProxyType({"name": "ping"})])
    assert schema_in(written).items() >= {"type": "object", "properties": {}}.items()


@pytest.mark.parametrize("given", [["weather"], [{"description": "x"}], {"name": "weather"}, [7]])
def test_what_is_not_a_definition_is_refused_with_the_way_out(given):
    for use in (FORMATS["openai"].definitions, lambda given: FORMATS["openai"].calls([], given)):
        with pytest.raises(TypeError, match=r"registry\.definitions"):
            use(given)


def test_two_definitions_of_one_name_are_refused():
    with pytest.raises(FormatError, match="two definitions have the name `b`"):
        FORMATS["openai"].definitions([{"name": "a"}, {"name": "b"}, {"name": "b"}])


@pytest.mark.parametrize("name", FORMATS)
def test_calls_and_results_have_the_names_of_both_sides(name, answer):
    tools = [{"name": "math.sum"}, {"name": "math_sum"}, {"name": "a é"}]
    wire = [each.get("function", each)["name"] for each in FORMATS[name].definitions(tools)]
    assert wire == list(legal_names([each["name"] for each in tools], name).values())
    calls = FORMATS[name].calls(answer(name, [("1", each, {}) for each in [*wire, "made_up"]]), tools)
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
    written = FORMATS[name].definitions([definition]) + FORMATS[name].results([(call, each) for each in results])
    sent = json.dumps(written, ensure_ascii=False).encode().decode()
    assert "a\ufffdb" in sent


def test_the_two_halves_of_a_character_are_joined():
    [message] = FORMATS["openai"].results([(ToolCall("1", "t"), Result.ok("\ud83d\ude00"))])
    assert message["content"] == "😀"


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_root_that_providers_refuse_moves_into_the_description(name, answer):
    union = {"anyOf": [{"required": ["route"]}, {"required": ["file"]}]}
    schema = {"type": "object", "properties": {"route": {"type": "string"}, "file": {"type": "string"}}} | union
    definition = {"name": "find", "description": "Find.", "input_schema": schema}
    [written] = FORMATS[name].definitions([definition])
    assert not {"anyOf", "$ref"} & schema_in(written).keys()
    assert list(schema_in(written)["properties"]) == ["route", "file"]
    description = written.get("function", written)["description"]
    assert description.startswith("Find.\n\n")
    assert json.dumps(union, separators=(",", ":")) in description
    [call] = FORMATS[name].calls(answer(name, [("1", "find", {"route": "/"})]), [definition])
    assert call.arguments == {"route": "/"}


@pytest.mark.parametrize("name", ["anthropic", "anthropic-strict"])
def test_anthropic_sees_names_of_arguments_that_it_accepts_and_the_tool_its_own(name, answer):
    members = {"$filter": {"type": "string"}, "ids[]": {"type": "integer"}, "größe": {"type": "integer"}, "a.b": {}}
    definition = {"name": "find", "input_schema": {"properties": members, "required": ["$filter"]}}
    [written] = FORMATS[name].definitions([definition])
    wire = list(schema_in(written)["properties"])
    assert wire == ["_filter", "ids__", "gr__e", "a.b"]
    assert schema_in(written)["required"] == ["_filter"]
    [call] = FORMATS[name].calls(answer(name, [("1", "find", dict.fromkeys(wire, 1))]), [definition])
    assert call.arguments == dict.fromkeys(members, 1)


def test_gemini_has_the_json_schema_itself_and_all_definitions_in_one_tool():
    [[declaration]] = [each["functionDeclarations"] for each in gemini.tools([weather])]
    assert declaration["parametersJsonSchema"] == weather.definition["input_schema"]
    assert "parameters" not in declaration


def test_mcp_has_hints_and_the_output_schema_of_an_object():
    output = {"type": "object", "properties": {"n": {"type": "integer"}}}
    hints = {"read_only": True, "open_world": False}
    definition = {"name": "t", "input_schema": {}, "annotations": hints, "output_schema": output}
    [written] = FORMATS["mcp"].definitions([definition])
    assert written["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert written["outputSchema"] == output
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
def test_content_has_texts_and_files_in_their_order_and_describes_what_the_provider_cannot_carry(name, image):
    files = [Image(b"\x89PNG\r\n\x1a\n"), File(b"\xff\x00")]
    first, shown, last = FORMATS[name].content(["What is it?", *files])
    assert first["text"] == "What is it?"
    assert image.items() <= shown.items()
    assert "not supported by this provider" in last["text"]


class Routed(Tool):
    """Find a route."""

    examples = [{"from": "Oslo", "via[]": ["Moss"]}]
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
    assert definition["input_examples"] == [{"from": "Oslo", "via__": ["Moss"]}]
    assert definition["description"] == "Find a route."
    assert Draft202012Validator(definition["input_schema"]).is_valid(definition["input_examples"][0])


@pytest.mark.parametrize("name", ["openai", "openai-strict", "responses", "responses-strict", "gemini", "mcp"])
def test_other_formats_have_examples_in_the_description(name):
    definition = {**Routed().definition, "examples": [*Routed.examples, {"from": "Å"}]}
    [written] = FORMATS[name].definitions([definition])
    description = written.get("function", written)["description"]
    assert description == 'Find a route.\n\nExamples:\n{"from":"Oslo","via[]":["Moss"]}\n{"from":"Å"}'


@pytest.mark.parametrize("name", FORMATS)
def test_tools_without_examples_send_none(name):
    assert "xamples" not in json.dumps(FORMATS[name].definitions([Greeter()]))
