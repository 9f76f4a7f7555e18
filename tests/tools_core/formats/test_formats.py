"""What holds for every format, and for the module as such."""

from __future__ import annotations

import copy
import doctest
import json
import pickle
import subprocess
import sys
from itertools import chain
from types import MappingProxyType
from typing import Annotated

import pytest

import tools_core.formats
from tools_core import Registry, Result, Tool, ToolCall, tool
from tools_core._values._frozen import freeze
from tools_core.formats import FORMATS, Format, FormatError
from tools_core.formats._openapi import OpenApiRewriter
from tools_core.formats._quick import gemini_object, strict_object
from tools_core.formats._strict import StrictRewriter

NAMES = ["openai", "openai-strict", "responses", "responses-strict", "anthropic", "gemini", "mcp"]


@tool(read_only=True)
def weather(city: Annotated[str, "City name"], days: int = 3, tags: list[str] | None = None) -> dict[str, int]:
    """Weather for a city."""
    return {"degrees": days}


class Greeter(Tool):
    """Greet."""

    def execute(self, name: str) -> Result:
        return Result.ok(f"Hello, {name}!")


def test_there_are_seven_formats_each_found_by_name_and_as_an_attribute():
    assert list(FORMATS) == NAMES
    assert len(FORMATS) == 7
    for name in NAMES:
        assert FORMATS[name] is getattr(tools_core.formats, name.replace("-", "_"))
        assert isinstance(FORMATS[name], Format)
        assert FORMATS[name].name == name
        assert name in repr(FORMATS[name])
    assert "openai" in FORMATS
    assert "bard" not in FORMATS
    with pytest.raises(KeyError):
        FORMATS["bard"]
    with pytest.raises(AttributeError, match="no attribute 'bard'"):
        tools_core.formats.bard  # noqa: B018


def test_the_example_in_the_docstring_works():
    assert doctest.testmod(tools_core.formats) == (0, 10)


def test_the_core_does_not_load_the_formats_nor_one_format_the_others():
    loaded = "print([m for m in sys.modules if m.startswith('tools_core.formats')])"
    for code, modules in (
        ("import sys, tools_core, tools_core._registry._registry", []),
        ("import sys; from tools_core.formats import mcp", ["_chat", "_strict", "_gemini", "_openapi", "_rewrite"]),
    ):
        listed = subprocess.run([sys.executable, "-c", f"{code}; {loaded}"], capture_output=True, text=True, check=True)
        if modules:
            assert [module for module in modules if f"formats.{module}'" in listed.stdout] == []
        else:
            assert listed.stdout.strip() == "[]"


def test_the_formats_load_neither_typing_nor_dataclasses():
    code = "import sys, tools_core.formats as f; [f.FORMATS[n] for n in f.FORMATS]; print('typing' in sys.modules, "
    code += "'dataclasses' in sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("name", FORMATS)
def test_tools_and_their_definitions_and_a_registry_s_give_the_same(name):
    registry = Registry()
    registry.register(weather)
    registry.register(Greeter)
    tools = [weather, Greeter()]
    written = FORMATS[name].definitions(tools)
    assert written == FORMATS[name].definitions([each.definition for each in tools])
    assert written == FORMATS[name].definitions(registry.definitions())
    assert written == FORMATS[name].definitions(registry.all())
    assert json.loads(json.dumps(written)) == written


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_that_is_given_is_changed_or_shared(name):
    schema = {
        "type": "object",
        "properties": {
            "a": {"enum": ["x", "y"]},
            "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": ["string", "null"]}}}},
            "d": {"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["k"]}]},
            "e": {"type": "string", "enum": ["m"], "default": "m"},
        },
        "required": ["a"],
    }
    plain = {"type": "object", "properties": {"e": {"type": "string", "enum": ["m"]}}, "required": ["e"]}
    definitions = [
        {"name": "t", "description": "T.", "input_schema": schema, "annotations": {"read_only": True}},
        {"name": "u", "description": "U.", "input_schema": plain},
    ]
    before = copy.deepcopy(definitions)
    written = FORMATS[name].definitions(definitions)
    assert definitions == before
    assert containers(written).isdisjoint(containers(definitions))
    assert FORMATS[name].definitions(freeze(definitions)) == written


def containers(value):
    """The identities of all lists and dicts."""
    if isinstance(value, dict):
        return {id(value)}.union(*(containers(item) for item in value.values()))
    return {id(value)}.union(*(containers(item) for item in value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("name", FORMATS)
def test_a_definition_of_a_name_alone_is_a_tool_that_takes_nothing(name):
    [written] = FORMATS[name].definitions([MappingProxyType({"name": "ping"})])
    assert "ping" in json.dumps(written)
    assert FORMATS[name].definitions([]) == []


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("given", [["weather"], [{"description": "x"}], {"name": "weather"}, [7]])
def test_what_is_no_definition_is_refused_with_the_way_out(name, given):
    with pytest.raises(TypeError, match="definition"):
        FORMATS[name].definitions(given)


@pytest.mark.parametrize("name", FORMATS)
def test_a_call_of_a_tool_that_there_is_not_keeps_its_name(name, answer):
    [call] = FORMATS[name].calls(answer(name, [("1", "made_up", {"a": 1})]), [weather])
    assert (call.name, call.arguments) == ("made_up", {"a": 1})


@pytest.mark.parametrize("name", FORMATS)
def test_calls_without_definitions_are_as_the_provider_wrote_them(name, answer):
    response = answer(name, [("1", "weather", {"city": "Oslo"}), ("2", "weather", {})])
    calls = FORMATS[name].calls(response)
    assert [call.id for call in calls] == ["1", "2"]
    assert [call.arguments for call in calls] == [{"city": "Oslo"}, {}]


@pytest.mark.parametrize("name", FORMATS)
def test_the_tool_takes_what_the_model_wrote(name, answer, model, parameters_of):
    [written] = FORMATS[name].definitions([weather])
    given = {"city": "Oslo", "days": 2, "tags": ["a"]}
    sent = given
    if name.endswith("strict") or name == "gemini":
        schema = parameters_of(name, written)
        sent = model(schema, 1).write_arguments(given)
    [call] = FORMATS[name].calls(answer(name, [("1", "weather", sent)]), [weather])
    assert weather.call(call) == Result.ok({"degrees": 2})


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("response", [7, None, object(), [object()], ["x"]])
def test_what_is_no_response_is_refused(name, response):
    with pytest.raises(TypeError, match="model_dump"):
        FORMATS[name].calls(response)


@pytest.mark.parametrize("name", FORMATS)
def test_no_calls_have_no_results(name):
    assert FORMATS[name].results([]) == []


def test_an_error_of_a_format_is_a_value_error_that_survives_pickling():
    error = FormatError("too large", tool="t", path="properties/a", format="gemini")
    assert isinstance(error, ValueError)
    assert str(error) == "`t` at properties/a for gemini: too large"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.tool, again.path, again.format) == (str(error), "t", "properties/a", "gemini")


@pytest.mark.slow
def test_ordinary_schemas_are_written_as_the_rewriters_would(real_definitions):
    ordinary = 0
    for definition in chain.from_iterable(real_definitions):
        schema = definition["input_schema"]
        strict, gemini = strict_object(schema), gemini_object(schema)
        ordinary += strict is not None
        assert strict is None or strict == StrictRewriter(definition, "").document()
        assert gemini is None or gemini == OpenApiRewriter(definition, "").arguments().schema
    assert ordinary > 3_000


@pytest.mark.parametrize("kind", ["integer", "number", "string"])
@pytest.mark.parametrize("bounds", [{"minimum": 1}, {"maximum": 2.5}, {"minimum": 0.5, "maximum": 9}])
def test_bounds_are_written_as_the_rewriters_would(kind, bounds):
    schema = {"type": "object", "properties": {"n": {"type": kind, **bounds}, "m": {"type": kind, **bounds}}}
    definition = {"name": "t", "input_schema": {**schema, "required": ["m"]}}
    written = FORMATS["openai-strict"].definitions([definition])[0]["function"]["parameters"]
    assert written == StrictRewriter(definition, "").document()
    declared = FORMATS["gemini"].definitions([definition])[0]["parameters"]
    assert declared == OpenApiRewriter(definition, "").arguments().schema


@pytest.mark.parametrize("name", ["openai-strict", "responses-strict", "gemini"])
def test_what_was_written_before_is_written_again_and_is_nobody_elses(name):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}}
    first = FORMATS[name].definitions([{"name": "t", "input_schema": schema}])
    wanted = copy.deepcopy(first)
    key = "parameters" if "parameters" in first[0] else "function"
    first[0][key].clear()
    schema["properties"]["n"].pop("multipleOf")
    other = FORMATS[name].definitions([{"name": "t", "input_schema": schema}])
    schema["properties"]["n"]["multipleOf"] = 2
    assert FORMATS[name].definitions([{"name": "t", "input_schema": schema}]) == wanted != other


@pytest.mark.parametrize("name", FORMATS)
def test_results_name_the_tool_as_the_definitions_do(name):
    clashing = [{"name": "a:b"}, {"name": "a é"}, {"name": "a_é"}]
    names = [each.get("function", each)["name"] for each in FORMATS[name].definitions(clashing)]
    written = FORMATS[name].results([(ToolCall("1", "a é", {}), Result.ok("x"))], clashing)
    if name == "gemini":
        assert written[0]["parts"][0]["functionResponse"]["name"] == names[1]
    assert len(written) == 1


def test_only_strict_formats_ask_for_strictness():
    asked = {name: FORMATS[name].definitions([weather])[0] for name in ("openai", "responses", "responses-strict")}
    assert "strict" not in asked["openai"]["function"]
    assert asked["responses"]["strict"] is False
    assert asked["responses-strict"]["strict"] is True
    assert FORMATS["openai-strict"].definitions([weather])[0]["function"]["strict"] is True
