"""Formats in the world: schemas that servers refuse, failures in all shapes, answers that were cut off."""

from __future__ import annotations

import pytest

from tools_core import formats, tool
from tools_core.formats import FORMATS, AnswerError

PLACES = {
    "openai": lambda definition: definition["function"]["parameters"],
    "openai-strict": lambda definition: definition["function"]["parameters"],
    "responses": lambda definition: definition["parameters"],
    "anthropic": lambda definition: definition["input_schema"],
    "gemini": lambda definition: definition["parametersJsonSchema"],
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ({"type": "object"}, {"type": "object", "properties": {}}),
        ({"type": ["object", "null"]}, {"type": ["object", "null"], "properties": {}}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"type": "array", "items": {"type": "array"}}, {"type": "array", "items": {"type": "array", "items": {}}}),
        (
            {"anyOf": [{"type": "array"}, {"type": "string"}]},
            {"anyOf": [{"type": "array", "items": {}}, {"type": "string"}]},
        ),
        ({"type": "string", "enum": []}, {"type": "string"}),
        (True, {}),
        (
            {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": False},
            {
                "type": "array",
                "prefixItems": [{"type": "number"}, {"type": "string"}],
                "items": {"anyOf": [{"type": "number"}, {"type": "string"}]},
            },
        ),
    ],
)
def test_every_object_has_properties_and_every_array_has_items(name, member, expected):
    schema = {"type": "object", "properties": {"a": member, "b": {"type": "integer"}}}
    [definition] = FORMATS[name].definitions([{"name": "t", "description": "", "input_schema": schema}])
    sent = PLACES[name](definition)["properties"]["a"]
    if name != "openai-strict" or "enum" not in str(member):  # whose strict form allows null
        assert sent == expected


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("schema", [{"type": "object"}, {}, None, {"type": "object", "additionalProperties": False}])
def test_a_tool_without_arguments_has_properties(name, schema):
    [definition] = FORMATS[name].definitions([{"name": "now", "description": "", "input_schema": schema}])
    assert PLACES[name](definition)["properties"] == {}


def test_definitions_of_the_tool_itself_do_not_change():
    @tool
    def draw(line: tuple[float, float]) -> str:
        """Draw."""
        return ""

    before = draw.input_schema
    formats.openai.definitions([draw])
    assert draw.input_schema == before and "items" not in before["properties"]["line"]


FAILURES = [
    {"error": {"message": "model is overloaded", "code": 502}},
    {"error": {"type": "server_error", "message": "model is overloaded"}, "choices": []},
    {"error": "model is overloaded"},
    {"error": {"code": 503, "status": "UNAVAILABLE", "detail": "model is overloaded"}},
    {"error": {"reason": "model is overloaded"}},
    {"type": "error", "error": {"type": "overloaded_error", "message": "model is overloaded"}},
    {"type": "error", "message": "model is overloaded"},
    {"object": "error", "message": "model is overloaded", "code": 400},
    {"detail": "model is overloaded"},
    {"type": "response.failed", "response": {"error": {"message": "model is overloaded"}}},
]


@pytest.mark.parametrize("name", ["openai", "responses", "anthropic", "gemini"])
@pytest.mark.parametrize("failure", FAILURES, ids=range(len(FAILURES)))
def test_a_failure_of_a_provider_keeps_its_text(name, failure):
    with pytest.raises(AnswerError, match=r"the provider failed: .*model is overloaded"):
        FORMATS[name].calls(failure)
    with pytest.raises(AnswerError, match=r"the provider failed: .*model is overloaded"):
        FORMATS[name].stream().feed(failure)


def openai_answer(arguments, reason):
    call = {"id": "1", "type": "function", "function": {"name": "get", "arguments": arguments}}
    return {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": reason}]}


def responses_answer(arguments, status):
    call = {"type": "function_call", "call_id": "1", "name": "get", "arguments": arguments}
    details = {"incomplete_details": {"reason": "max_output_tokens"}} if status == "incomplete" else {}
    return {"object": "response", "status": status, "error": None, "output": [call], **details}


def anthropic_answer(arguments, reason):
    return {
        "type": "message",
        "content": [{"type": "tool_use", "id": "1", "name": "get", "input": arguments}],
        "stop_reason": reason,
    }


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("openai", openai_answer('{"city": "Os', "length")),
        ("openai", openai_answer("", "content_filter")),
        ("responses", responses_answer('{"city": "Os', "incomplete")),
        ("anthropic", anthropic_answer({}, "max_tokens")),
    ],
)
def test_an_answer_that_was_cut_off_in_a_call_is_refused(name, answer):
    with pytest.raises(AnswerError, match=r"the answer was cut off \(\w+\) in the call `get`; raise the limit"):
        FORMATS[name].calls(answer)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("openai", openai_answer('{"city": "Oslo"}', "length")),
        ("openai", openai_answer('{"city": "Os', "tool_calls")),
        ("responses", responses_answer('{"city": "Oslo"}', "incomplete")),
        ("responses", responses_answer('{"city": "Oslo"}', "completed")),
    ],
)
def test_a_limit_does_not_affect_a_complete_call(name, answer):
    assert [call.name for call in FORMATS[name].calls(answer)] == ["get"]


WEATHER = {"name": "get", "arguments": '{"city": "Oslo"}'}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "function_call": WEATHER},
        {"role": "assistant", "tool_calls": [WEATHER]},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": WEATHER}]},
    ],
)
def test_a_call_is_read_in_the_older_forms_of_chat_completions(message):
    [call] = FORMATS["openai"].calls({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (call.name, call.arguments) == ("get", {"city": "Oslo"})


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("openai", {"choices": [{"message": None, "finish_reason": "content_filter"}]}),
        ("responses", {"output": None, "status": "cancelled"}),
        ("anthropic", {"content": None, "stop_reason": "refusal"}),
        ("gemini", {"candidates": [{"content": None, "finishReason": "SAFETY"}]}),
    ],
)
def test_an_answer_without_content_has_no_calls(name, answer):
    assert FORMATS[name].calls(answer) == []


def test_a_call_without_a_name_is_refused():
    with pytest.raises(TypeError, match="responses: got an object with type, arguments"):
        FORMATS["responses"].calls([{"type": "function_call", "arguments": "{}"}])
