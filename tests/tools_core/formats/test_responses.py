"""Recorded answers of providers, and the results that are sent back."""

from __future__ import annotations

import base64
import json

import pytest

from tools_core import Audio, File, Image, Registry, Result, ToolCall, tool
from tools_core.formats import (
    FORMATS,
    AnswerError,
    anthropic,
    gemini,
    mcp,
    openai,
    openai_strict,
    responses,
    responses_strict,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
DATA = base64.b64encode(PNG).decode()
WEATHER_SCHEMA = {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
DEFINITIONS = [
    {"name": "weather.get", "description": "Weather.", "input_schema": {"type": "object", **WEATHER_SCHEMA}},
    {"name": "now", "description": "The time.", "input_schema": {"type": "object", "properties": {}}},
]
EXPECTED = [ToolCall("call_a", "weather.get", {"city": "Oslo", "days": 2}), ToolCall("call_b", "now", {})]

# Each answer calls weather.get and now.
ARGUMENTS = '{"city": "Oslo", "days": 2}'
CHAT = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1_795_000_000, "model": "gpt",
    "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": {
        "role": "assistant", "content": None, "refusal": None,
        "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "weather_get", "arguments": ARGUMENTS}},
            {"id": "call_b", "type": "function", "function": {"name": "now", "arguments": ""}},
        ],
    }}],
}  # fmt: skip
RESPONSE = {
    "id": "resp_1", "object": "response", "created_at": 1_795_000_000.0, "model": "gpt", "parallel_tool_calls": True,
    "tool_choice": "auto", "tools": [],
    "output": [
        {"id": "rs_1", "type": "reasoning", "summary": []},
        {"id": "fc_1", "type": "function_call", "call_id": "call_a", "name": "weather_get", "arguments": ARGUMENTS,
         "status": "completed"},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}]},
        {"id": "fc_2", "type": "function_call", "call_id": "call_b", "name": "now", "arguments": "{}"},
    ],
}  # fmt: skip
MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "tool_use",
    "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "call_a", "name": "weather_get", "input": {"city": "Oslo", "days": 2}},
        {"type": "tool_use", "id": "call_b", "name": "now", "input": {}},
    ],
}  # fmt: skip
WEATHER = {"id": "call_a", "name": "weather.get", "args": {"city": "Oslo", "days": 2}}
PARTS = [
    {"text": "Let me see."},
    {"functionCall": WEATHER, "thoughtSignature": "c2ln"},
    {"functionCall": {"id": "call_b", "name": "now"}},
]
CONTENT = {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": PARTS}}]}


@pytest.fixture(params=["raw", pytest.param("sdk", marks=pytest.mark.slow)])
def load(request, sdk):
    """Load a response as a dict, or as an object of the SDK."""
    return lambda module, name, raw: raw if request.param == "raw" else sdk(module, name).model_validate(raw)


def part(value, *path):
    """Return a part of a response, which may be a dict or an object."""
    for key in path:
        value = getattr(value, key) if isinstance(key, str) and not isinstance(value, dict) else value[key]
    return value


CASES = {
    "openai": (openai, "openai.types.chat", "ChatCompletion", CHAT, [("choices", 0, "message"), ("tool_calls",)]),
    "responses": (responses, "openai.types.responses", "Response", RESPONSE, [("output",)]),
    "anthropic": (anthropic, "anthropic.types", "Message", MESSAGE, [("content",)]),
    "gemini": (gemini, "google.genai.types", "GenerateContentResponse", CONTENT,
               [("candidates", 0, "content"), ("parts",)]),
}  # fmt: skip


@pytest.mark.parametrize(("format_", "module", "name", "raw", "paths"), CASES.values(), ids=CASES)
def test_calls_are_read_from_a_response_and_its_parts(format_, module, name, raw, paths, load):
    response = load(module, name, raw)
    for path in [(), *paths]:
        response = part(response, *path)
        calls = format_.calls(response, DEFINITIONS)
        assert [(call.id, call.name, call.arguments) for call in calls] == [
            (call.id, call.name, call.arguments) for call in EXPECTED
        ]
    item = next(item for item in response if format_.calls([item]))
    assert [call.id for call in format_.calls(item)] == ["call_a"]


def test_argument_text_is_unchanged_and_gemini_calls_are_read():
    assert openai.calls(CHAT, DEFINITIONS)[0].raw == '{"city": "Oslo", "days": 2}'
    calls = gemini.calls([part["functionCall"] for part in PARTS[1:]], DEFINITIONS)
    assert [(call.id, call.name) for call in calls] == [("call_a", "weather.get"), ("call_b", "now")]


@pytest.mark.slow
def test_messages_with_sdk_objects_are_read(sdk):
    message = sdk("anthropic.types", "Message").model_validate(MESSAGE)
    assert anthropic.calls({"role": "assistant", "content": message.content}, DEFINITIONS) == EXPECTED
    completion = sdk("openai.types.chat", "ChatCompletion").model_validate(CHAT)
    calls = openai.calls({"role": "assistant", "tool_calls": completion.choices[0].message.tool_calls}, DEFINITIONS)
    assert [call.id for call in calls] == ["call_a", "call_b"]
    response = sdk("google.genai.types", "GenerateContentResponse").model_validate(CONTENT)
    assert [call.id for call in gemini.calls(response.function_calls, DEFINITIONS)] == ["call_a", "call_b"]


CHUNK = {"choices": [{"index": 0, "delta": {"tool_calls": []}, "finish_reason": None}]}
EVENT = {"type": "response.output_item.done", "item": RESPONSE["output"][1]}
START = {"type": "content_block_start", "index": 0, "content_block": MESSAGE["content"][2]}


@pytest.mark.parametrize(
    ("format_", "response"),
    [(item, value) for item in FORMATS.values() for value in (7, None, object(), [object()], "text", ["x"])]
    + [(item, [{"a": 1}]) for item in FORMATS.values() if item is not gemini]
    + [(openai, CHUNK), (openai, [CHUNK]), (openai, [CHAT]), (openai, [CHAT["choices"][0]["message"]])]
    + [(responses, EVENT), (responses, [EVENT]), (responses, [RESPONSE]), (anthropic, START), (anthropic, [START])]
    + [(anthropic, [MESSAGE]), (gemini, [CONTENT]), (mcp, {"method": "tools/list", "params": {}})],
)
def test_an_unknown_item_raises_a_type_error_with_the_expected_input(format_, response):
    with pytest.raises(TypeError, match=rf"^{format_.name}: got .+; expected a") as caught:
        format_.calls(response)
    assert ("stream()" in str(caught.value)) == (format_ is not mcp)


def test_mcp_requests_and_their_params_are_read():
    request = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "weather.get", "arguments": {"city": "Oslo"}},
    }
    assert mcp.calls(request, DEFINITIONS) == [ToolCall("7", "weather.get", {"city": "Oslo"})]
    params = {"_meta": None, "name": "now", "arguments": None}  # as dumped by the SDK
    assert mcp.calls(params, DEFINITIONS) == [ToolCall(None, "now", None)]


@pytest.mark.parametrize("format_", [openai_strict, responses_strict], ids=lambda item: item.name)
def test_strict_calls_have_no_nulls_for_absent_members(format_):
    raw = json.loads(
        json.dumps(CHAT if format_ is openai_strict else RESPONSE).replace('\\"days\\": 2', '\\"days\\": null')
    )
    assert format_.calls(raw, DEFINITIONS)[0].arguments == {"city": "Oslo"}


@pytest.mark.parametrize(
    ("format_", "response"),
    [
        (openai, {"role": "assistant", "content": "Hello.", "tool_calls": None}),
        (openai, {"role": "assistant", "content": "Hello."}),
        (responses, {"output": []}),
        (anthropic, {"content": "Hello."}),
        (gemini, {"candidates": [{"content": {"parts": None, "role": "model"}}]}),
        (gemini, {"candidates": [{"content": None, "finish_reason": "SAFETY"}]}),
        (gemini, {"candidates": None}),
        (gemini, [{"part_of_a_later_version": {}}]),
    ],
)
def test_responses_without_calls_return_an_empty_list(format_, response):
    assert format_.calls(response, DEFINITIONS) == []


@pytest.mark.parametrize(
    ("format_", "case", "changes", "message"),
    [
        (anthropic, "anthropic", {"stop_reason": "max_tokens"}, r"cut off \(max_tokens\) in the call `now`"),
        (gemini, "gemini", {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}, r"\(MALFORMED_FUNCTION"),
        (gemini, "gemini", {"candidates": [{"finishReason": "UNEXPECTED_TOOL_CALL", "finishMessage": "f"}]}, r"\(f\)"),
    ],
)
def test_lost_or_truncated_calls_raise_answer_error(format_, case, changes, message, load):
    _, module, name, raw, _ = CASES[case]
    with pytest.raises(AnswerError, match=message):
        format_.calls(load(module, name, raw | changes), DEFINITIONS)


def test_calls_run_through_a_registry_and_return_to_the_provider():
    registry = Registry()

    @registry.register
    @tool
    def weather(city: str, days: int = 1) -> dict[str, object]:
        """Weather."""
        return {"city": city, "days": days}

    texts = {"a": '{"city":"Oslo","days":null}', "b": '{"city":'}
    items = [{"id": id_, "function": {"name": "weather", "arguments": text}} for id_, text in texts.items()]
    message = {"tool_calls": [*items, {"id": "c", "function": {"name": "wether", "arguments": "{}"}}]}
    calls = openai_strict.calls(message, registry.definitions())
    converted = openai_strict.results([(call, registry.call(call)) for call in calls], registry.definitions())
    assert [item["tool_call_id"] for item in converted] == ["a", "b", "c"]
    assert converted[0]["content"] == '{"city":"Oslo","days":1}'
    assert converted[1]["content"].startswith("Error: invalid JSON in arguments")
    assert converted[2]["content"].startswith("Error: no tool")


# Content of results

CALL = ToolCall("call_a", "weather.get", {})
OTHER = ToolCall("call_b", "now", {})
MIXED = Result.ok(["A map:", Image(PNG, name="map.png"), File(b"\xff\x00", name="raw.bin")])


def test_chat_results_have_pictures_in_one_final_message():
    converted = openai.results([(CALL, MIXED), (OTHER, Result.ok(Image(PNG)))], DEFINITIONS)
    assert [message["role"] for message in converted] == ["tool", "tool", "user"]
    assert converted[0]["content"] == (
        "A map:\n[image 1, in the message that follows]\n"
        "[file raw.bin, application/octet-stream, 2 bytes, not supported by this provider]"
    )
    texts = [part["text"] for part in converted[2]["content"] if part["type"] == "text"]
    assert texts == ["image 1, from weather_get (call_a):", "image 2, from now (call_b):"]
    urls = [part["image_url"]["url"] for part in converted[2]["content"] if part["type"] == "image_url"]
    assert urls == [f"data:image/png;base64,{DATA}"] * 2


def test_errors_are_text_for_openai_and_flags_elsewhere():
    error = [(CALL, Result.error("no such city"))]
    assert openai.results(error) == [{"role": "tool", "tool_call_id": "call_a", "content": "Error: no such city"}]
    assert responses.results(error) == [
        {"type": "function_call_output", "call_id": "call_a", "output": "Error: no such city"}
    ]
    [message] = anthropic.results(error)
    assert message["content"] == [
        {"type": "tool_result", "tool_use_id": "call_a", "content": "no such city", "is_error": True}
    ]
    [content] = gemini.results(error)
    assert content["parts"][0]["functionResponse"]["response"] == {"error": "no such city"}
    [result] = mcp.results(error)
    assert result == {"content": [{"type": "text", "text": "no such city"}], "isError": True}


def test_anthropic_results_share_one_message():
    [message] = anthropic.results([(CALL, MIXED), (OTHER, Result.ok(File(b"%PDF-1", name="r.pdf")))])
    assert [block["tool_use_id"] for block in message["content"]] == ["call_a", "call_b"]
    kinds = [part["type"] for part in message["content"][0]["content"]]
    assert kinds == ["text", "image", "text"]
    assert message["content"][1]["content"][0]["type"] == "document"


def test_responses_carry_pictures_and_documents_in_the_output():
    [item] = responses.results([(CALL, Result.ok([Image(PNG), File(b"%PDF-1"), Audio(b"fLaC"), "text"]))])
    assert [part["type"] for part in item["output"]] == ["input_image", "input_file", "input_text", "input_text"]
    assert "audio/flac" in item["output"][2]["text"]


def test_gemini_results_share_one_content():
    converted = gemini.results([(CALL, Result.ok({"degrees": 2})), (OTHER, MIXED)], DEFINITIONS)
    [first, second] = [part["functionResponse"] for part in converted[0]["parts"]]
    assert first == {"id": "call_a", "name": "weather.get", "response": {"output": {"degrees": 2}}}
    assert second["response"]["output"].startswith("A map:\n[file raw.bin")
    assert second["parts"] == [{"inlineData": {"mimeType": "image/png", "data": DATA}}]


def test_mcp_results_have_structured_content_and_a_halt_flag():
    converted = mcp.results([(CALL, Result.halt({"degrees": 2})), (OTHER, MIXED), (OTHER, Result.ok([1]))])
    assert converted[0] == {
        "content": [{"type": "text", "text": '{"degrees":2}'}],
        "isError": False,
        "structuredContent": {"degrees": 2},
        "_meta": {"ask-tools/halted": True},
    }
    assert [part["type"] for part in converted[1]["content"]] == ["text", "image", "resource"]
    assert "structuredContent" not in converted[2]


def test_text_files_become_text_if_files_are_unsupported():
    result = Result.ok(File(b"a,b\n1,2\n", "text/csv", name="t.csv"))
    assert openai.results([(CALL, result)])[0]["content"] == "[file t.csv, text/csv]\na,b\n1,2\n"
    assert mcp.results([(CALL, result)])[0]["content"][0]["resource"]["text"] == "a,b\n1,2\n"
