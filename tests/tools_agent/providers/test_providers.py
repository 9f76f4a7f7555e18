"""Promises of all providers, through the real SDKs and a server that speaks their protocols."""

import asyncio
import contextlib
import gc
import itertools
import json
import warnings
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anthropic
import google.genai
import openai
import pytest

from tools_agent import (
    Agent,
    Assistant,
    OpenAIProvider,
    ProviderError,
    ReasoningDelta,
    Request,
    Retrying,
    System,
    TextDelta,
    ToolCallDelta,
    ToolResult,
    Usage,
    User,
)
from tools_core import File, Image, Result, ToolCall, tool

PNG = Image(b"\x89PNG\r\n\x1a\n" + bytes(8))


@tool
def add(a: int, b: int = 0) -> int:
    """Add numbers."""
    return a + b


@tool(examples=[{"city": "Oslo"}])
def example_tool(city: str) -> str:
    """Return a forecast."""
    return city


TOOLS = [dict(add.definition) | {"name": "math.add"}]  # as an MCP server may name it
ADD = ("call_1", "math_add", '{"a": 1, "b": 2}')
HELLO = {"texts": ["Hel", "lo"]}
CALL = {"texts": ["I add."], "calls": [ADD, ("call_2", "math_add", '{"a": 3}')]}


def ask(*messages, **options):
    return Request(model="m", messages=[*messages] or [User(content="Hi")], tools=TOOLS, **options)


def pieces_of(api, request=None):
    async def collect():
        return [piece async for piece in api.provider.astream(request or ask())]

    return asyncio.run(collect())


def text_of(deltas):
    return "".join(delta.content for delta in deltas if isinstance(delta, TextDelta))


def calls_of(deltas):
    calls = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            id_, name, text = calls.get(delta.index, (None, None, ""))
            calls[delta.index] = (id_ or delta.id, name or delta.name, text + delta.arguments)
    return [(id_, name, json.loads(text)) for _, (id_, name, text) in sorted(calls.items())]


def test_text_and_calls_arrive_as_deltas_and_then_together(api):
    service = api(CALL)
    *deltas, reply = pieces_of(service)
    assert text_of(deltas) == reply.content == "I add."
    calls = [(call.id, call.name, call.arguments) for call in reply.tool_calls]
    assert calls_of(deltas) == calls
    assert calls == [("call_1", "math.add", {"a": 1, "b": 2}), ("call_2", "math.add", {"a": 3})]
    assert (reply.stop_reason, reply.provider, reply.model) == ("tool", service.name, "m")
    assert reply.items == ()


def test_requests_replace_half_surrogate_pairs(api):
    service = api(HELLO)
    pieces_of(service, ask(User(content="caf\udce9, not café")))
    assert "caf\ufffd, not café" in json.dumps(service.body, ensure_ascii=False)


def test_usage_counts_cached_tokens_as_input(api):
    assert pieces_of(api(HELLO))[-1].usage == Usage(input_tokens=10, output_tokens=5, cache_read_tokens=4)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(HELLO, "stop"), (HELLO | {"stop": "length"}, "length"), (HELLO | {"stop": "filter"}, "content_filter")],
)
def test_all_providers_share_the_words_for_stop_reasons(api, answer, reason):
    service = api(answer)
    *_, reply = pieces_of(service)
    assert reply.content == "Hello"
    assert reply.stop_reason == ("refusal" if service.name == "anthropic" and reason == "content_filter" else reason)


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
def test_a_refusal_is_the_text_and_the_stop_reason_of_the_reply(connect, name):
    *deltas, reply = pieces_of(connect(name, {"refusal": "I will not."}))
    assert text_of(deltas) == reply.content == "I will not."
    assert (reply.stop_reason, reply.tool_calls) == ("refusal", ())


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
def test_the_error_for_a_cut_off_call_names_the_call(connect, name):
    api = connect(name, {"calls": [("call_1", "math_add", '{"a": ')], "stop": "length"})
    with pytest.raises(ProviderError, match=r"cut off \(.*\) in the call `math_add`.*raise the limit"):
        pieces_of(api)
    assert api.delays == []


def test_the_error_for_a_malformed_event_contains_the_event(connect):
    odd = {"choices": [{"index": 0, "delta": "Hello"}]}
    with pytest.raises(ProviderError, match=r"the server sent .*Hello"):
        pieces_of(connect("openai", {"events": [odd]}))


def test_a_status_in_an_event_is_treated_as_the_status_of_the_response(connect):
    api = connect("openai", {"events": [{"error": {"message": "busy", "code": 502}}]}, HELLO)
    assert pieces_of(api)[-1].content == "Hello"
    assert len(api.delays) == 1


def test_an_event_without_choices_is_skipped(connect):
    end = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    *_, reply = pieces_of(connect("openai", {"events": [{"choices": None}, end]}))
    assert reply.content == "Hi"


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
def test_invalid_json_arguments_reach_the_tool_and_return_to_the_model(connect, name):
    api = connect(name, {"calls": [("call_1", "math_add", '{"a": oops}')]}, HELLO)
    *_, reply = pieces_of(api)
    [call] = reply.tool_calls
    assert call.raw == '{"a": oops}'
    result = add.call(call)
    assert result.error_type == "validation_error"
    pieces_of(api, ask(User(content="Hi"), reply, ToolResult(tool_call_id="call_1", name=call.name, result=result)))
    assert "oops" in json.dumps(api.body)


def test_only_its_own_provider_receives_reasoning_again(api, connect):
    service = api({"thought": "Hmm.", **CALL}, HELLO)
    *deltas, reply = pieces_of(service)
    assert [delta for delta in deltas if isinstance(delta, ReasoningDelta)] == [ReasoningDelta("Hmm.")]
    assert reply.items
    assert json.loads(reply.to_json())["items"] == list(reply.items)
    results = [ToolResult(tool_call_id=id_, name="math.add", result=Result.ok(3)) for id_ in ("call_1", "call_2")]
    history = [User(content="Hi"), reply, *results]
    pieces_of(service, ask(*history))
    [reasoning] = {
        "openai": lambda body: [body["messages"][1].get("reasoning_content")],
        "openai-responses": lambda body: [item["encrypted_content"] for item in body["input"] if "summary" in item],
        "anthropic": lambda body: [part["signature"] for part in body["messages"][1]["content"] if "thinking" in part],
        "gemini": lambda body: [body["contents"][1]["parts"][-1]["thoughtSignature"]],
    }[service.name](service.body)
    assert reasoning in ("Hmm.", "e", "signed", "c2lnbmVk+/8=", "c2lnbmVk-_8=")
    for name in {"openai", "openai-responses", "anthropic", "gemini"} - {service.name}:
        other = connect(name, HELLO)
        pieces_of(other, ask(*history))
        assert '"a": 1' in json.dumps(other.body).replace("\\", "")
        assert not any(word in json.dumps(other.body) for word in ("Hmm.", "signed", "c2lnbmVk", "encrypted_content"))


CACHED = {"cache_control": {"type": "ephemeral"}}
HISTORY = [
    System(content="Be brief."),
    User(content="What is this?", files=[PNG, File(b"%PDF-1.7")]),
    Assistant(
        content="Adding.", tool_calls=[ToolCall("call_1", "math.add", {"a": 1}), ToolCall("call_2", "draw", "{}")]
    ),
    ToolResult(tool_call_id="call_1", name="math.add", result=Result.error("too small")),
    ToolResult(tool_call_id="call_2", name="draw", result=Result.ok(PNG)),
    User(content="And now?"),
]


def test_a_conversation_is_encoded_for_each_api(api):
    service = api(HELLO)
    pieces_of(service, ask(*HISTORY, settings={"max_tokens": 99}))
    data = PNG.to_dict()["data"]
    url = f"data:image/png;base64,{data}"
    body = service.body
    if service.name == "openai":
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
        assert body["messages"][1]["content"][1] == {"type": "image_url", "image_url": {"url": url}}
        assert body["messages"][2]["content"] == "Adding."
        names = [call["function"]["name"] for call in body["messages"][2]["tool_calls"]]
        ids = [call["id"] for call in body["messages"][2]["tool_calls"]]
        assert body["messages"][3] == {"role": "tool", "tool_call_id": ids[0], "content": "Error: too small"}
        assert body["messages"][5]["content"][1] == {"type": "image_url", "image_url": {"url": url}}
        assert body["messages"][5]["content"][2] == {"type": "text", "text": "And now?"}
        assert body["max_tokens"] == 99
    elif service.name == "openai-responses":
        kinds = [item.get("type", item.get("role")) for item in body["input"]]
        assert kinds == ["system", "user", "assistant", *["function_call"] * 2, *["function_call_output"] * 2, "user"]
        assert body["input"][1]["content"][1]["image_url"] == url
        names = [item["name"] for item in body["input"][3:5]]
        assert body["input"][6]["output"][0]["image_url"] == url
        assert (body["max_output_tokens"], body["store"]) == (99, False)
    elif service.name == "anthropic":
        assert body["system"] == [{"type": "text", "text": "Be brief."} | CACHED]
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        assert body["messages"][0]["content"][1] == image
        names = [block["name"] for block in body["messages"][1]["content"][1:]]
        [failed, drawn, then] = body["messages"][2]["content"]
        id_ = body["messages"][1]["content"][1]["id"]
        assert failed == {"type": "tool_result", "tool_use_id": id_, "content": "too small", "is_error": True}
        assert drawn["content"] == [image]
        assert then == {"type": "text", "text": "And now?"} | CACHED
        assert body["max_tokens"] == 99
    else:
        assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
        assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
        assert body["contents"][0]["parts"][1]["inlineData"]["data"] == data
        names = [part["functionCall"]["name"] for part in body["contents"][1]["parts"][1:]]
        [failed, drawn, then] = body["contents"][2]["parts"]
        assert failed["functionResponse"]["response"] == {"error": "too small"}
        assert data in json.dumps(drawn["functionResponse"]["parts"])
        assert then == {"text": "And now?"}
        assert body["generationConfig"] == {"maxOutputTokens": 99}
    assert names == ["math.add" if service.name == "gemini" else "math_add", "draw"]


SETTINGS = {"max_tokens": 9, "temperature": 0.5, "top_p": 0.9, "stop": "END", "seed": 7, "reasoning_effort": "low"}
SENT = {
    "openai": SETTINGS,
    "openai-responses": {
        "max_output_tokens": 9, "temperature": 0.5, "top_p": 0.9, "reasoning": {"effort": "low", "summary": "auto"},
    },
    "anthropic": {"max_tokens": 9, "stop_sequences": ["END"], "output_config": {"effort": "low"}},
    "gemini": {
        "maxOutputTokens": 9, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"], "seed": 7,
        "thinkingConfig": {"thinking_level": "LOW"},
    },
}  # fmt: skip
MISSING = {"openai-responses": ["stop", "seed"], "anthropic": ["temperature", "top_p", "seed"]}


def test_settings_have_the_same_names_for_all_providers(api):
    service = api(HELLO)
    more = {"reasoning": {"summary": "auto"}} if service.name == "openai-responses" else {}
    missing = MISSING.get(service.name, [])
    pieces_of(service, ask(settings={name: SETTINGS[name] for name in SETTINGS if name not in missing} | more))
    body = service.body.get("generationConfig") or service.body
    assert {name: body[name] for name in SENT[service.name]} == SENT[service.name]


@pytest.mark.parametrize("model", ["gpt-5", "o4-mini", "openai/gpt-5"])
def test_models_of_openai_receive_the_new_name_of_max_tokens(connect, model):
    service = connect("openai", HELLO)
    pieces_of(service, Request(model=model, messages=[User(content="Hi")], settings={"max_tokens": 9}))
    assert service.body["max_completion_tokens"] == 9
    assert "max_tokens" not in service.body


@pytest.mark.parametrize(("name", "setting"), [(name, setting) for name in MISSING for setting in MISSING[name]])
def test_a_setting_that_an_api_lacks_is_an_error_that_names_it(connect, name, setting):
    with pytest.raises(ProviderError, match=f"the API has no setting '{setting}'"):
        pieces_of(connect(name), ask(settings={setting: 1}))


def test_an_unknown_setting_is_a_provider_error(api):
    with pytest.raises(ProviderError, match=r"(?s)rejects a name in `settings`.*colour"):
        pieces_of(api(), ask(settings={"colour": "red"}))


def test_blank_messages_are_not_sent_to_apis_that_refuse_them(api):
    service = api(HELLO)
    pieces_of(service, ask(Assistant(content="Hello"), User(content=" "), Assistant(content="\n"), User(content="Hi")))
    if service.name in ("anthropic", "gemini"):
        key, part = ("messages", "content") if service.name == "anthropic" else ("contents", "parts")
        texts = [[block["text"] for block in message[part]] for message in service.body[key]]
        assert texts == [["(the conversation continues)"], ["Hello"], ["(empty)", "Hi"]]
    else:
        sent = [message["content"] for message in service.body.get("messages", service.body.get("input"))]
        assert sent == ["Hello", *(["(empty)\n\nHi"] if service.name == "openai" else ["(empty)", "Hi"])]


def without_marks(value):
    return json.loads(json.dumps(value).replace(f", {json.dumps(CACHED)[1:-1]}", ""))


def test_anthropic_requests_of_one_session_share_a_cached_prefix(connect):
    service = connect("anthropic", CALL, HELLO, CALL, HELLO)
    agent = Agent(model=service.provider, tools=[add.renamed("math_add")], instructions="Be brief.")
    agent.generate("1 + 2?")
    agent.generate("And 3?")
    bodies = service.server.bodies
    assert len(bodies) == 4
    for earlier, later in itertools.pairwise(bodies):
        assert json.dumps([earlier["tools"], earlier["system"]]) == json.dumps([later["tools"], later["system"]])
        start = json.dumps(without_marks(earlier["messages"])).removesuffix("]}]")
        assert json.dumps(without_marks(later["messages"])).startswith(start)
    assert [tool.get("cache_control") for tool in bodies[-1]["tools"]] == [CACHED["cache_control"]]
    marked = ["cache_control" in message["content"][-1] for message in bodies[-1]["messages"]]
    assert marked == [False, False, False, False, True, False, True]


def test_marks_for_the_anthropic_cache_can_be_turned_off(connect):
    service = connect("anthropic", HELLO, cache=False)
    pieces_of(service, ask(*HISTORY))
    assert "cache_control" not in json.dumps(service.body)


def test_anthropic_receives_the_examples_of_a_tool(connect):
    service = connect("anthropic", HELLO)
    Agent(model=service.provider, tools=[example_tool]).generate("Hi")
    assert service.body["tools"][0]["input_examples"] == [{"city": "Oslo"}]


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "note": {"type": "string"}}, "required": ["n"]}


def test_structured_output_has_no_nulls_of_strict_mode(api):
    service = api({"texts": ['{"n": 1, ', '"note": null}']})
    *_, reply = pieces_of(service, Request(model="m", messages=[User(content="Hi")], output_schema=SCHEMA))
    assert reply.content == '{"n": 1}'
    schema = {
        "openai": lambda body: body["response_format"]["json_schema"]["schema"],
        "openai-responses": lambda body: body["text"]["format"]["schema"],
        "anthropic": lambda body: body["output_config"]["format"]["schema"],
        "gemini": lambda body: body["generationConfig"]["responseJsonSchema"],
    }[service.name](service.body)
    assert schema["properties"]["n"] == {"type": "integer"}


def test_an_unsupported_schema_becomes_an_instruction(api):
    service = api({"texts": ["[1]"]})
    *_, reply = pieces_of(service, ask(output_schema={"type": "array", "items": {"type": "integer"}}))
    assert "Reply with JSON that fits this JSON Schema" in json.dumps(service.body)
    assert reply.content == "[1]"


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
def test_arguments_of_strict_tools_have_no_nulls_for_absent_members(connect, name):
    service = connect(name, {"calls": [("call_1", "math_add", '{"a": 1, "b": null}')]}, strict=True)
    *_, reply = pieces_of(service)
    [definition] = service.body["tools"]
    assert definition.get("function", definition)["strict"] is True
    assert name == "anthropic" or reply.tool_calls[0].arguments == {"a": 1}


def busy(status, **headers):
    return {"status": status, "headers": {name.replace("_", "-"): value for name, value in headers.items()}}


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 503, 529])
def test_overload_is_retried_after_the_delay_of_the_api(api, status):
    service = api(busy(status, retry_after="7"), busy(status), HELLO)
    first, second, *deltas, reply = pieces_of(service)
    assert isinstance(first, Retrying)
    assert first.delay == 7
    assert "overloaded" in first.reason
    assert 0 < second.delay <= 1
    assert service.delays == [first.delay, second.delay]
    assert text_of(deltas) == reply.content == "Hello"
    assert len(service.server.bodies) == 3


def test_the_last_attempt_raises_the_error_of_the_api(api):
    service = api(*[busy(503)] * 3)
    with pytest.raises(ProviderError, match=rf"{service.name}: 503 overloaded") as caught:
        pieces_of(service)
    assert (caught.value.status, caught.value.retryable, len(service.server.bodies)) == (503, True, 3)


SOON = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [({"retry_after_ms": "1500"}, 1.5, 1.5), ({"retry_after": SOON}, 0, 50), ({}, 0.375, 0.5)],
    ids=["milliseconds", "date", "none"],
)
def test_all_forms_of_retry_delays_are_read(connect, headers, least, most):
    retrying, *_ = pieces_of(connect("openai", busy(429, **headers), HELLO))
    assert least <= retrying.delay <= most


@pytest.mark.parametrize("answer", [busy(400), busy(401), busy(429, retry_after="3600")])
def test_requests_that_cannot_succeed_are_not_retried(api, answer):
    service = api(answer)
    with pytest.raises(ProviderError) as caught:
        pieces_of(service)
    assert caught.value.status == answer["status"]
    assert ("check the API key" in str(caught.value)) == (answer["status"] == 401)
    assert service.delays == []


@pytest.mark.parametrize("answer", [busy(503, x_should_retry="false"), busy(429) | {"code": "insufficient_quota"}])
def test_an_error_that_forbids_retries_is_not_retried(connect, answer):
    service = connect("openai", answer)
    with pytest.raises(ProviderError, match="overloaded"):
        pieces_of(service)
    assert service.delays == []


@pytest.mark.parametrize("sent", [2, 3])
def test_a_retry_of_a_cut_stream_doubles_neither_text_nor_calls(api, sent):
    service = api(CALL | {"sent": sent}, CALL)
    received = pieces_of(service)
    [at] = [index for index, piece in enumerate(received) if isinstance(piece, Retrying)]
    *deltas, reply = received[at + 1 :]
    assert text_of(deltas) == reply.content == "I add."
    assert [call.id for call in reply.tool_calls] == ["call_1", "call_2"]


def test_a_stream_that_ends_early_is_retried(connect):
    early = {"events": ({"id": "c", "choices": [{"index": 0, "delta": {"content": "Hel"}}]},)}
    _, retrying, *deltas, reply = pieces_of(connect("openai", early, HELLO))
    assert "cut before the reply ended" in retrying.reason
    assert text_of(deltas) == reply.content == "Hello"


OVERLOADED = {
    "openai": {"error": {"message": "busy", "type": "server_error", "code": None}},
    "openai-responses": {"type": "error", "code": "server_error", "message": "busy", "param": None},
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
}


@pytest.mark.parametrize("name", OVERLOADED)
def test_overload_reported_in_a_stream_is_retried(connect, name):
    retrying, *_, reply = pieces_of(connect(name, {"events": (OVERLOADED[name],)}, HELLO))
    assert isinstance(retrying, Retrying)
    assert "busy" in retrying.reason
    assert reply.content == "Hello"


def test_a_malformed_call_of_gemini_is_retried(connect):
    failed = {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}
    retrying, *_, reply = pieces_of(connect("gemini", {"events": (failed,)}, CALL))
    assert "failed to write its calls" in retrying.reason
    assert len(reply.tool_calls) == 2


@pytest.mark.parametrize("name", ["openai", "gemini"])
def test_invalid_json_from_the_server_is_retried(connect, name):
    retrying, *_, reply = pieces_of(connect(name, {"raw": "data: {cut\r\n\r\n"}, HELLO))
    assert "the server sent invalid JSON" in retrying.reason
    assert reply.content == "Hello"


def test_the_version_of_the_gemini_api_can_be_chosen(connect):
    service = connect("gemini", HELLO, api_version="v7")
    assert pieces_of(service)[-1].content == "Hello"
    assert service.server.paths == ["/v7/models/m:streamGenerateContent?alt=sse"]


def test_a_prompt_that_gemini_blocks_is_a_filtered_reply(connect):
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    [reply] = pieces_of(connect("gemini", {"events": (blocked,)}))
    assert (reply.content, reply.stop_reason) == ("", "content_filter")


def test_calls_without_an_id_receive_one(connect):
    service = connect("gemini", {"calls": [(None, "math.add", '{"a": 1}')] * 2, "thought": "Hmm."}, HELLO)
    *_, reply = pieces_of(service)
    first, second = (call.id for call in reply.tool_calls)
    assert first
    assert first != second
    pieces_of(service, ask(User(content="Hi"), reply))
    sent = service.body["contents"][1]["parts"]
    assert [part["functionCall"]["id"] for part in sent if "functionCall" in part] == [first, second]


@pytest.mark.slow
def test_a_reply_that_takes_too_long_is_retried(api):
    service = api(HELLO | {"sent": 1, "waits": True}, HELLO)
    received = pieces_of(service, ask(timeout=3))  # a busy machine sends the second reply within this time
    [retrying] = [piece for piece in received if isinstance(piece, Retrying)]
    assert "no answer in time" in retrying.reason
    assert received[-1].content == "Hello"


def client_of(name, url):
    if name == "gemini":
        return google.genai.Client(api_key="key", http_options={"base_url": url}).aio
    kind = anthropic.AsyncAnthropic if name == "anthropic" else openai.AsyncOpenAI
    return kind(api_key="key", base_url=url, max_retries=2)


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini"])
def test_the_retries_of_a_passed_client_are_disabled(connect, name):
    api = connect(name, busy(503), HELLO, HELLO)
    url = f"{api.server.url}/v1" if name == "openai" else api.server.url
    providers = []

    def make():
        providers.append(client_of(name, url))
        return providers[-1]

    api.provider = type(api.provider)(client=make, retry=api.provider.retry)
    retrying, *_, reply = pieces_of(api)
    assert isinstance(retrying, Retrying)
    assert reply.content == pieces_of(api)[-1].content == "Hello"


def test_a_client_is_a_function_that_creates_an_asynchronous_one():
    with pytest.raises(TypeError, match=r"client is a function, such as `lambda: AsyncOpenAI\(\)`, got AsyncOpenAI"):
        OpenAIProvider("m", client=openai.AsyncOpenAI(api_key="key"))
    provider = OpenAIProvider("m", client=lambda: openai.OpenAI(api_key="key"))
    with pytest.raises(TypeError, match="creates an asynchronous client, got OpenAI"):
        Agent(model=provider).generate("Hi")


def test_a_server_at_another_address_needs_no_key(connect, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert pieces_of(connect("openai", HELLO, api_key=None))[-1].content == "Hello"


def test_closing_the_iterator_closes_the_connection(api):
    service = api(HELLO | {"sent": 3, "waits": True})

    async def first():
        async with contextlib.aclosing(service.provider.astream(ask())) as stream:
            assert isinstance(await anext(stream), TextDelta)
        return await asyncio.to_thread(service.server.hung_up.wait, 30)

    assert asyncio.run(first())


KEEPS_ALIVE = HELLO | {"keeps_alive": True}


@pytest.mark.slow
def test_the_end_of_an_event_loop_closes_its_connections(api, caplog):
    service = api(*[KEEPS_ALIVE] * 3)
    for _ in range(3):
        pieces_of(service)
        assert service.server.connections_closed.acquire(timeout=30)
    gc.collect()
    assert caplog.records == []


@pytest.mark.slow
def test_closing_a_loop_without_shutdown_leaks_no_client(connect, caplog):
    service = connect("openai", KEEPS_ALIVE, KEEPS_ALIVE)

    async def ask_once():
        return [piece async for piece in service.provider.astream(ask())]

    loop = asyncio.new_event_loop()
    loop.run_until_complete(ask_once())
    loop.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.run(ask_once())
        del loop
        gc.collect()
    assert service.server.connections_closed.acquire(timeout=30)
    assert service.server.connections_closed.acquire(timeout=30)
    assert caplog.records == []


@pytest.mark.slow
def test_a_closed_provider_has_no_connections_and_can_be_used_again(api):
    service = api(*[KEEPS_ALIVE] * 4)
    with service.provider:
        pieces_of(service)
    assert service.server.connections_closed.acquire(timeout=30)
    assert pieces_of(service)[-1].content == "Hello"
    service.provider.close()
    assert service.server.connections_closed.acquire(timeout=30)

    async def use_twice():
        for _ in range(2):
            async with service.provider:
                assert [piece async for piece in service.provider.astream(ask())][-1].content == "Hello"
            assert await asyncio.to_thread(service.server.connections_closed.acquire, timeout=30)

    asyncio.run(use_twice())


def test_a_closed_agent_closes_a_provider_that_it_created_from_a_name(connect, monkeypatch):
    service = connect("openai", *[KEEPS_ALIVE] * 3)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{service.server.url}/v1")
    with Agent(model="openai:m") as agent:
        agent.generate("Hi")
    assert service.server.connections_closed.acquire(timeout=30)

    async def use():
        async with Agent(model="openai:m") as agent:
            await agent.agenerate("Hi")
        assert await asyncio.to_thread(service.server.connections_closed.acquire, timeout=30)

    asyncio.run(use())
    with Agent(model=service.provider) as agent:
        agent.generate("Hi")
    assert not service.server.connections_closed.acquire(blocking=False)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_connection_serves_several_requests(connect, name):
    service = connect(name, *[KEEPS_ALIVE] * 4)

    async def ask_twice():
        for _ in range(2):
            [piece async for piece in service.provider.astream(ask())]

    asyncio.run(ask_twice())
    assert service.server.connections_closed.acquire(timeout=30)
    agent = Agent(model=service.provider)
    assert [agent.generate("Hi").content for _ in range(2)] == ["Hello", "Hello"]
    service.provider.close()
    assert service.server.connections_closed.acquire(timeout=30)
    assert not service.server.connections_closed.acquire(blocking=False)
