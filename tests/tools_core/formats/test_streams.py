"""Recorded streams of the providers, read directly and through their SDKs."""

from __future__ import annotations

import pytest

from tools_core import ToolCall
from tools_core.formats import FORMATS, AnswerError, anthropic, gemini, mcp, openai, responses

TOOLS = [
    {"name": "weather.get", "input_schema": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "now"},
]
EXPECTED = [("call_a", "weather.get", {"city": "Oslo"}), ("call_b", "now", {})]


def delta(*calls, finish=None, **more):
    result = {"role": "assistant", "content": None, **({"tool_calls": list(calls)} if calls else {})}
    choice = {"index": 0, "delta": result, "finish_reason": finish} | more
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def call(index, text=None, id=None, name=None):
    head = {"id": id, "type": "function"} if id else {}
    return {"index": index, **head, "function": {"name": name, "arguments": text} if name else {"arguments": text}}


def item(index, arguments, name, id, kind="added"):
    result = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": arguments}
    return {"type": f"response.output_item.{kind}", "output_index": index, "sequence_number": 0, "item": result}


def piece(index, text):
    kind = "response.function_call_arguments.delta"
    return {"type": kind, "output_index": index, "item_id": "fc", "sequence_number": 0, "delta": text}


def ended(kind="completed", **more):
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "status": kind} | more
    return {"type": f"response.{kind}", "sequence_number": 9, "response": response}


def block(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def block_delta(index, **delta):
    return {"type": "content_block_delta", "index": index, "delta": delta}


def stop(reason):
    ending = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}}


def content(*parts, **more):
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": list(parts)}} | more]}


START = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
# Two calls at once, their deltas mixed, the second one without arguments.
STREAMS = {
    "openai": [
        delta(content="Let me see."),
        delta(call(0, "", "call_a", "weather_get")),
        delta(call(0, '{"ci')),
        delta(call(1, "", "call_b", "now"), call(0, 'ty": "Os')),
        delta(call(0, 'lo"}')),
        delta(call(0, "", "call_x", "other"), index=1),
        delta(finish="tool_calls"),
        delta() | {"choices": [], "usage": {"total_tokens": 1, "prompt_tokens": 1, "completion_tokens": 0}},
    ],
    "responses": [
        ended("created"),
        item(1, "", "weather_get", "call_a"),
        piece(1, '{"ci'),
        item(2, "", "now", "call_b"),
        piece(1, 'ty": "Oslo"}'),
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "m", "delta": "Hm",
         "sequence_number": 0, "logprobs": []},
        item(2, "{}", "now", "call_b", "done"),
        item(1, '{"city": "Oslo"}', "weather_get", "call_a", "done"),
        ended(),
    ],
    "anthropic": [
        {"type": "message_start", "message": {**START, "usage": {"input_tokens": 1, "output_tokens": 1}}},
        block(0, type="text", text=""),
        block_delta(0, type="text_delta", text="Let me see."),
        {"type": "ping"},
        block(1, type="tool_use", id="call_a", name="weather_get", input={}),
        block_delta(1, type="input_json_delta", partial_json='{"ci'),
        block(2, type="tool_use", id="call_b", name="now", input={}),
        block_delta(1, type="input_json_delta", partial_json='ty": "Oslo"}'),
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_stop", "index": 2},
        stop("tool_use"),
        {"type": "message_stop"},
    ],
    "gemini": [
        content({"text": "Let me see."}),
        content({"functionCall": {"id": "call_a", "name": "weather.get", "args": {"city": "Oslo"}}}),
        content({"functionCall": {"id": "call_b", "name": "now", "args": {}}}, finishReason="STOP"),
    ],
}  # fmt: skip


def fed(format_, chunks):
    stream = format_.stream(TOOLS)
    for chunk in chunks:
        stream.feed(chunk)
    return stream


def plain(calls):
    return [(call.id, call.name, call.arguments) for call in calls]


@pytest.mark.parametrize("name", STREAMS)
def test_parallel_calls_are_assembled_from_interleaved_deltas(name):
    assert plain(fed(FORMATS[name], STREAMS[name]).calls) == EXPECTED


@pytest.mark.parametrize("name", STREAMS)
def test_a_truncated_stream_has_no_calls(name):
    is_end = {"openai": 7, "responses": 9, "anthropic": 11, "gemini": 3}[name]
    for length in range(is_end):
        with pytest.raises(AnswerError, match="has not ended"):
            fed(FORMATS[name], STREAMS[name][:length]).calls
    with pytest.raises(AnswerError, match=r"last call: `\w+[._]get`, call_a"):
        fed(FORMATS[name], [entry for entry in STREAMS[name][:-1] if "call_b" not in str(entry)][:5]).calls


@pytest.mark.parametrize(
    ("format_", "end"),
    [
        (openai, delta(finish="length")),
        (responses, ended("incomplete", incomplete_details={"reason": "max_output_tokens"})),
        (anthropic, stop("max_tokens")),
    ],
)
def test_a_limit_inside_a_call_raises_answer_error(format_, end):
    length = {"openai": 3, "responses": 3, "anthropic": 6}[format_.name]
    with pytest.raises(AnswerError, match=r"cut off \((length|max_\w+)\) in the call `weather_get`, call_a"):
        fed(format_, [*STREAMS[format_.name][:length], end]).calls
    assert fed(format_, [*STREAMS[format_.name][:1], end]).calls == []  # only text was cut off


@pytest.mark.parametrize("name", ["openai-strict", "responses-strict", "anthropic-strict"])
def test_streams_and_calls_return_the_same_arguments(name):
    tools = [{"name": "t", "input_schema": {"properties": {"a": {"type": "string"}, "$b": {}}}}]
    stream = FORMATS[name].stream(tools)
    key = "_b" if name == "anthropic-strict" else "$b"
    text = f'{{"a": null, "{key}": 1}}'
    for chunk in {
        "openai-strict": [delta(call(0, text, "1", "t"), finish="tool_calls")],
        "responses-strict": [item(0, text, "t", "1", "done"), ended()],
        "anthropic-strict": [block(0, type="tool_use", id="1", name="t", input={"a": None, key: 1}), stop("tool_use")],
    }[name]:
        stream.feed(chunk)
    assert stream.calls[0].arguments["$b"] == 1
    assert ("a" in stream.calls[0].arguments) == (name == "anthropic-strict")  # its optional members stay optional


def test_invalid_json_in_arguments_is_passed_to_the_tool():
    [result] = fed(openai, [delta(call(0, '{"a":', "1", "now"), finish="tool_calls")]).calls
    assert result == ToolCall("1", "now", '{"a":')


def test_repeated_indexes_ids_and_names_are_understood():
    first, second = call(0, "{}", "1", "now"), call(0, "{}", "2", "now")
    del first["index"], second["index"]
    assert [entry.id for entry in fed(openai, [delta(first, second), delta(finish="stop")]).calls] == ["1", "2"]
    pieces = [delta(call(0, text, "1", "now")) for text in ('{"a"', ": 1}")]
    assert plain(fed(openai, [*pieces, delta(finish="stop")]).calls) == [("1", "now", {"a": 1})]


@pytest.mark.parametrize(
    ("format_", "chunk"),
    [(entry, value) for entry in (openai, responses, anthropic, gemini) for value in (None, "data: {}", {"a": 1}, [1])]
    + [(openai, {"choices": [{"message": {}}]}), (anthropic, {"type": "message", "content": []})]
    + [(responses, {"type": "function_call", "name": "now"}), (gemini, {"parts": []})],
)
def test_other_values_than_chunks_are_refused(format_, chunk):
    with pytest.raises(TypeError, match=f"^{format_.name}: got .+; expected a"):
        format_.stream().feed(chunk)


@pytest.mark.parametrize(
    ("format_", "chunk"),
    [
        (responses, {"type": "error", "message": "overloaded", "code": None}),
        (responses, ended("failed", error={"code": "server_error", "message": "overloaded"})),
        (anthropic, {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}),
        (
            gemini,
            content({"functionCall": {"name": "now", "partialArgs": [{"jsonPath": "$.a"}], "willContinue": True}}),
        ),
        (gemini, {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}),
    ],
)
def test_a_failure_inside_a_stream_raises_answer_error(format_, chunk):
    with pytest.raises(AnswerError, match=r"overloaded|stream_function_call_arguments|failed to write its calls"):
        format_.stream().feed(chunk)


def test_blocked_prompts_have_no_calls_and_mcp_cannot_stream():
    assert fed(gemini, [{"promptFeedback": {"blockReason": "SAFETY"}}]).calls == []
    with pytest.raises(TypeError, match="cannot stream"):
        mcp.stream()


# The same events, served to the SDKs over HTTP.


def openai_stream(url, sdk):
    client = sdk("openai", "OpenAI")(base_url=url, api_key="x")
    return client.chat.completions.create(model="m", messages=[], stream=True)


def responses_stream(url, sdk):
    return sdk("openai", "OpenAI")(base_url=url, api_key="x").responses.create(model="m", input="?", stream=True)


def anthropic_stream(url, sdk):
    client = sdk("anthropic", "Anthropic")(base_url=url, api_key="x")
    return client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}], stream=True)


def anthropic_helper(url, sdk):
    client = sdk("anthropic", "Anthropic")(base_url=url, api_key="x")
    with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]) as stream:
        yield from stream


def gemini_stream(url, sdk):
    client = sdk("google.genai", "Client")(api_key="x", http_options={"base_url": url})
    yield from client.models.generate_content_stream(model="m", contents="?")  # closed with its client


@pytest.mark.slow
@pytest.mark.parametrize("open_", [openai_stream, responses_stream, anthropic_stream, anthropic_helper, gemini_stream])
def test_sdk_chunks_are_assembled(open_, sdk, model_server):
    name = open_.__name__.partition("_")[0]
    server = model_server(lambda path, body: STREAMS[name])
    assert plain(fed(FORMATS[name], open_(server.url, sdk)).calls) == EXPECTED
