"""Real model servers: no reply of one model makes a session that another one refuses."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import traceback
from datetime import date
from typing import Literal

import pytest
from pydantic import BaseModel

from tools_agent import (
    Agent,
    AnthropicProvider,
    Assistant,
    GeminiProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ProviderError,
    Request,
    Retry,
    ScriptedProvider,
    Session,
    System,
    TextDelta,
    ToolResult,
    Usage,
    User,
    open_store,
)
from tools_core import Image, Result, ToolCall, tool
from tools_core.formats import FORMATS
from tools_core.text import is_blank


@tool
def weather(city: str = "Oslo") -> str:
    """Report the weather."""
    return f"sunny in {city}"


@tool
def touch(name: str = "") -> str:
    """Create an empty file."""
    return " \n"


HI = Request(model="m", messages=[User(content="Hi")])


def collected(pieces):
    async def collect():
        return [piece async for piece in pieces]

    return asyncio.run(collect())


def pieces_of(provider, request):
    return collected(provider.astream(request))


def chunk(delta, finish=None, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def say(text, finish="stop"):
    return [chunk({"role": "assistant", "content": text}), chunk({}, finish)]


def part(name=None, arguments=None, **more):
    """One piece of a call, without members that are None."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"type": "function", "function": function, **more}


def calls(*pieces, finish="tool_calls"):
    """A reply with calls, each piece in a separate chunk."""
    return [*(chunk({"role": "assistant", "tool_calls": [piece]}) for piece in pieces), chunk({}, finish)]


def claude(*blocks, stop="end_turn"):
    """A reply of Anthropic's API, with complete blocks."""
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": {}}
    starts = [{"type": "content_block_start", "index": at, "content_block": block} for at, block in enumerate(blocks)]
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}}
    return [{"type": "message_start", "message": message}, *starts, end, {"type": "message_stop"}]


def completed(*items):
    """A reply of the Responses API, which comes in one event."""
    response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    return [{"type": "response.completed", "sequence_number": 1, "response": response | {"output": list(items)}}]


def spoken(text):
    return {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def gemini(*parts, finish="STOP"):
    return [{"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, "finishReason": finish}]}]


PROVIDERS = {
    "openai": OpenAIProvider,
    "openai-responses": OpenAIResponsesProvider,
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
}
FINE = {
    "openai": say("fine"),
    "openai-responses": completed(spoken("fine")),
    "anthropic": claude({"type": "text", "text": "fine"}),
    "gemini": gemini({"text": "fine"}),
}


@pytest.fixture
def connect(model_server):
    """`connect("anthropic", *replies)` is a provider with a server that sends these replies; the last one repeats.

    A reply is a list of events, a JSON object, or a function of the request that returns one of them. `bodies` has the
    requests.
    """

    def connect(name, *replies, model="m", attempts=1, key="key", **options):
        bodies = []

        def answer(path, body):
            bodies.append(body)
            reply = replies[min(len(bodies), len(replies)) - 1]
            return reply(body) if callable(reply) else reply

        server = model_server(answer)
        url = f"{server.url}/v1" if name.startswith("openai") else server.url
        retry = Retry(attempts=attempts, first_delay=0.001)
        provider = PROVIDERS[name](model, api_key=key, base_url=url, retry=retry, **options)
        provider.bodies = bodies
        return provider

    return connect


# Requests


def history_of(name, body):
    """The calls, the ids of results, and the texts of a request, in its own format."""
    if name == "openai":
        messages = body["messages"]
        roles = [message["role"] for message in messages]
        assert "system" not in roles[1:]
        assert ("user", "user") not in itertools.pairwise(roles)
        allowed = {"role", "content", "tool_calls", "tool_call_id"}
        assert all(message.keys() <= allowed for message in messages)
        used = [call for message in messages for call in message.get("tool_calls", ())]
        requested = [(call["id"], json.loads(call["function"]["arguments"])) for call in used]
        answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        texts = [message["content"] for message in messages if message["content"] is not None]
        assert all(message["content"] or message.get("tool_calls") for message in messages)
        return requested, answered, texts
    if name == "openai-responses":
        items = body["input"]
        requested = [
            (item["call_id"], json.loads(item["arguments"])) for item in items if item.get("type") == "function_call"
        ]
        results = [item for item in items if item.get("type") == "function_call_output"]
        texts = [item["content"] for item in items if "content" in item] + [item["output"] for item in results]
        return requested, [item["call_id"] for item in results], texts
    if name == "anthropic":
        messages = body["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
        assert not any(message["content"][-1]["type"] == "thinking" for message in messages)
        blocks = [block for message in messages for block in message["content"]]
        requested = [(block["id"], block["input"]) for block in blocks if block["type"] == "tool_use"]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        return requested, answered, texts + [block["content"] for block in blocks if "content" in block]
    contents = body["contents"]
    assert [content["role"] for content in contents] == ["user", "model"] * (len(contents) // 2) + ["user"]
    parts = [part for content in contents for part in content["parts"]]
    requested = [(part["functionCall"]["id"], part["functionCall"]["args"]) for part in parts if "functionCall" in part]
    answered = [part["functionResponse"]["id"] for part in parts if "functionResponse" in part]
    return requested, answered, [part["text"] for part in parts if "text" in part]


def check(name, body):
    """Assert that a strict server accepts the history of a request."""
    requested, answered, texts = history_of(name, body)
    ids = [id for id, _ in requested]
    assert ids == answered
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9]{9}", id) for id in ids)  # the strictest rule, that of Mistral
    assert all(isinstance(arguments, dict) for _, arguments in requested)
    assert not any(is_blank(text) for text in texts)
    return requested


IDS = ["functions.weather:0", "7", "call_1", "", None, "x" * 100, "toolu/ü", "call_1", "\ud800", "a" * 9, "call 1", "|"]
MALFORMED = [
    '{"city": "a',  # cut off
    "[1]", '"Oslo"', "12", "null", "NaN", '{"city": NaN}', '{"city": 1e999}', '{"city": "\\ud800"}', "{'city': 'a'}",
    '{"city": "a"}{"city": "b"}', '{"city": 1, "city": 2}', '"{\\"city\\": \\"a\\"}"', "\x00", "[" * 5000, " ",
    {"city": float("nan")},
]  # fmt: skip
TEXTS = ["", " ", "\n\n", "\u200b", "\ufeff\u2060", "\u00a0", "ok", "\ud83d"]


def odd_history():
    """A conversation of other models and an interrupted program."""
    messages = [System(content="Be brief."), User(content="\n"), User(content="Hi"), System(content="\t")]
    for number, (id, arguments) in enumerate([*((id, {}) for id in IDS), *(("c", text) for text in MALFORMED)]):
        text = TEXTS[number % len(TEXTS)]
        call = ToolCall(id, "weather.get" if number % 2 else "weather", arguments)
        messages.append(Assistant(content=text, tool_calls=[call], provider="openai", server="elsewhere"))
        if number % 5:  # else nothing answered it
            result = ToolResult(id=f"r{number}", tool_call_id=id or "", name=call.name, result=Result.ok(text))
            messages.append(result)
        if number % 3 == 0:
            messages += [Assistant(content=text), User(content=text)]
    same = [ToolCall("t1", "weather", {"city": city}) for city in "AB"]
    answers = [ToolResult(id=id, tool_call_id="t1", name="weather", result=Result.ok(id)) for id in "ab"]
    messages += [Assistant(tool_calls=same), *answers]
    messages.append(ToolResult(tool_call_id="lost", name="weather", result=Result.ok("sunny")))
    return [*messages, System(content="Answer in English."), Assistant(content="Well.")]


@pytest.mark.parametrize("name", PROVIDERS)
def test_any_history_is_sent_in_a_form_that_a_strict_server_accepts(connect, name):
    provider = connect(name, FINE[name])
    *_, reply = pieces_of(provider, Request(model="m", messages=odd_history()))
    assert reply.content == "fine"
    check(name, provider.bodies[-1])
    sent = json.dumps(provider.bodies[-1], ensure_ascii=False)
    assert "sunny" in sent
    assert sent.index("Answer in English.") > 0


def used(id, name, arguments):
    """A call of Anthropic's API."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def item(call_id, arguments, **more):
    """A call of the Responses API."""
    return {"type": "function_call", "call_id": call_id, "name": "weather", "arguments": arguments, **more}


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
REASONING = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"}
# Replies of each API that used to make its next request invalid, with the number of their calls.
ODD_REPLIES = {
    "openai": [
        (calls(part("weather", '{"city":"a', index=0, id="c1")), 1),
        (calls(part("weather", '{"city":"a"}', index=0, id=7)), 1),
        (calls(part("weather", "NaN", index=0, id="c1")), 1),
        (calls(part("weather", {"city": "a"}, index=0, id="c1")), 1),
        (calls(part("weather", [1], index=0, id="c1")), 1),
        (calls(part("weather", "{}", index=0, id=""), part("touch", "{}", index=0, id="")), 2),
        (calls(part("weather", '{"city":"a"}', id="x"), part("weather", '{"city":"b"}', id="x")), 2),
        ([chunk({"reasoning": "hm", "channel": "analysis", "x": []}), *calls(part("touch", "{}", index=0))], 1),
    ],
    "openai-responses": [
        (completed(item(7, "{", id="f")), 1),
        (completed(REASONING, spoken(" ")), 0),
        (completed(item("c", "{}"), item("c", "{}")), 2),
        (completed(item("x" * 99, "[1]")), 1),
        (
            [
                *({"type": "response.output_item.done", "output_index": 0, "item": item(id, "{}")} for id in "ab"),
                *completed(),
            ],
            2,
        ),
    ],
    "anthropic": [
        (claude({"type": "text", "text": "\n\n"}, used("t1", "touch", {})), 1),
        (claude(used(7, "weather", {}), {"type": "text", "text": " "}), 1),
        (claude(used("t1", "weather", {"city": "A"}), used("t1", "weather", {"city": "B"})), 2),
        (claude(used("tool_a.1", "weather", [1])), 1),
        (claude(THOUGHT, stop="max_tokens"), 0),
        (claude(THOUGHT, {"type": "text", "text": "\u200b"}), 0),
        (claude({"type": None}, {"type": "new", "x": None}, {"type": "text", "text": "Hi"}), 0),
        ({"type": "message", "content": "Hi", "stop_reason": "end_turn"}, 0),
        (claude({"type": "text"}, {"type": "text", "text": None}, used("t1", "weather", {})), 1),
        (
            [
                *claude({"type": "text", "text": "Hi"})[:2],
                {"type": "content_block_delta", "index": 7, "delta": {"type": "input_json_delta", "partial_json": "{"}},
                {"type": "message_delta", "delta": None},
                {"type": "message_stop"},
            ],
            0,
        ),
    ],
    "gemini": [
        (gemini({"functionCall": {"name": "weather", "args": {}}}, {"functionCall": {"name": "touch"}}), 2),
        (gemini({"text": "hm", "thought": True}, finish="MAX_TOKENS"), 0),
        (gemini({"text": " "}, {"functionCall": {"id": "a/b", "name": "weather", "args": {"city": "a"}}}), 1),
    ],
}


def own_check(name, body):
    requested, answered, texts = history_of(name, body)
    assert [id for id, _ in requested] == answered
    assert len(set(answered)) == len(answered)
    assert all(isinstance(id, str) and id for id in answered)
    assert all(isinstance(arguments, dict) for _, arguments in requested)
    assert not any(is_blank(text) for text in texts if isinstance(text, str))
    if name in ("anthropic", "openai-responses"):
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id) for id in answered)
    return len(requested)


@pytest.mark.parametrize("name", PROVIDERS)
def test_an_odd_reply_leaves_a_session_that_its_own_server_accepts(connect, name):
    for reply, count in ODD_REPLIES[name]:
        provider = connect(name, reply, FINE[name])
        agent = Agent(model=provider, tools=[weather, touch])
        assert [agent.generate(prompt).content for prompt in ("go", "again")][1] == "fine", reply
        assert own_check(name, provider.bodies[-1]) == count, reply


@pytest.mark.parametrize("target", PROVIDERS)
def test_a_stored_session_continues_with_the_model_of_another_api(connect, target):
    store = open_store("sessions.sqlite3")
    for source in PROVIDERS:
        replies = [[odd, FINE[source]] if count else [odd] for odd, count in ODD_REPLIES[source]]
        provider = connect(source, *itertools.chain(*replies))
        for number in range(len(ODD_REPLIES[source])):
            Agent(f"{source}/{number}", model=provider, tools=[weather, touch], store=store).generate("go")
    provider = connect(target, FINE[target], model="other")
    for stored in open_store("sessions.sqlite3").sessions():
        agent = Agent(stored.id, model=provider, tools=[weather, touch], store=store)
        assert agent.generate("more").content == "fine", stored.id
        check(target, provider.bodies[-1])


def test_a_numeric_call_id_runs_its_tool_once(connect):
    ran = []

    @tool
    def write(name: str) -> str:
        """Write a file."""
        ran.append(name)
        return "wrote"

    provider = connect("openai", calls(part("write", '{"name":"a"}', index=0, id=0)), say("done"))
    agent = Agent("s", store=open_store("s.sqlite3"), model=provider, tools=[write])
    assert [agent.generate(prompt).outcome for prompt in ("write", "again")] == ["completed", "completed"]
    assert ran == ["a"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_encodes_an_answer_and_its_results_with_equal_legal_ids(name):
    wire = FORMATS[name]
    if name == "mcp":
        with pytest.raises(TypeError, match="mcp has no messages of a model"):
            wire.reply("Hi")
        return
    odd = {"functions.a:0": "{", 7: "[]", "t": "{}"}
    answers = [(ToolCall(id, "weather.get", text), Result.ok("")) for id, text in odd.items()]
    encoded = [*wire.reply("\u200b", [call for call, _ in answers]), *wire.results(answers)]
    api = name.removesuffix("-strict").replace("responses", "openai-responses")
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "?"}]}, *encoded], "input": encoded}
    body["contents"] = [{"role": "user", "parts": [{"text": "?"}]}, *encoded]
    assert own_check(api, body) == 3
    assert wire.reply(" ") == []


def after_results():
    """A conversation that was interrupted after a result of another model's call."""
    call = ToolCall("c", "weather", {})
    result = ToolResult(tool_call_id="c", name="weather", result=Result.ok("sunny"))
    return [User(content="Hi"), Assistant(tool_calls=[call]), result, User(content="And now?")]


@pytest.mark.parametrize(("model", "is_signed"), [("gemini-3-pro", True), ("gemini-2.5-pro", False)])
def test_calls_of_other_models_are_signed_for_models_that_require_it(connect, model, is_signed):
    provider = connect("gemini", FINE["gemini"])
    pieces_of(provider, Request(model=model, messages=after_results()))
    [part] = provider.bodies[-1]["contents"][1]["parts"]
    assert ("thoughtSignature" in part) == is_signed


@pytest.mark.parametrize(("model", "is_closed"), [("mistral-large", True), ("Devstral-Small", True), ("gpt-5", False)])
def test_mistral_receives_no_prompt_right_after_a_result(connect, model, is_closed):
    provider = connect("openai", FINE["openai"])
    pieces_of(provider, Request(model=model, messages=after_results()))
    roles = [message["role"] for message in provider.bodies[-1]["messages"]]
    assert roles == ["user", "assistant", "tool", *(["assistant"] if is_closed else []), "user"]


def test_a_server_that_refuses_a_prompt_after_a_result_gets_a_reply_between(connect):
    def answer(body):
        roles = [message["role"] for message in body["messages"]]
        refusal = {"object": "error", "message": "Unexpected role 'user' after role 'tool'", "code": "3230"}
        return (400, json.dumps(refusal)) if ("tool", "user") in itertools.pairwise(roles) else FINE["openai"]

    provider = connect("openai", answer)
    for _ in range(2):
        assert pieces_of(provider, Request(model="alias", messages=after_results()))[-1].content == "fine"
    assert len(provider.bodies) == 3


@pytest.mark.parametrize(("model", "is_inside"), [("gemini-3-pro", True), ("gemini-2.5-flash", False)])
def test_earlier_gemini_models_receive_pictures_after_results(connect, model, is_inside):
    @tool
    def look() -> Image:
        """Look."""
        return Image(b"\x89PNG", "image/png")

    call = {"functionCall": {"name": "look", "args": {}}}
    provider = connect("gemini", gemini(call, call), FINE["gemini"], model=model)
    Agent(model=provider, tools=[look]).generate("go")
    parts = provider.bodies[-1]["contents"][2]["parts"]
    assert [part["functionResponse"].get("parts") is not None for part in parts[:2]] == [is_inside] * 2
    assert sum("inlineData" in part for part in parts[2:]) == (0 if is_inside else 2)


def test_gemini_receives_data_with_references_as_text():
    call = ToolCall("1", "schema", {})
    [content] = FORMATS["gemini"].results([(call, Result.ok({"items": [{"$ref": "#/x"}]}))])
    assert content["parts"][0]["functionResponse"]["response"] == {"output": '{"items":[{"$ref":"#/x"}]}'}


def test_thoughts_that_a_server_refuses_are_not_sent_again(connect):
    def answer(body):
        if any("reasoning_content" in message for message in body["messages"]):
            return {"error": {"message": "please remove the property", "code": 400}}
        is_first = body["messages"][-1]["role"] == "user"
        return [chunk({"reasoning_content": "hm"}), *calls(part("weather", "{}", id="1"))] if is_first else say("done")

    provider = connect("openai", answer)
    assert Agent(model=provider, tools=[weather]).generate("go").content == "done"
    assert len(provider.bodies) == 3


@pytest.mark.parametrize("reason", ["Missing `reasoning_content` field", "reasoning_content is missing in message 2"])
def test_a_session_moves_to_a_model_that_requires_thoughts_in_its_history(connect, reason):
    def answer(body):
        replies = [message for message in body["messages"] if message["role"] == "assistant"]
        missing = any(not message.get("reasoning_content") for message in replies)
        return {"error": {"message": reason, "code": 400}} if missing else say("done")

    agent = Agent(model=connect("openai", calls(part("weather", "{}", id="1")), say("ok")), tools=[weather])
    agent.generate("go")
    agent.model = connect("openai", answer)
    assert agent.generate("more").content == "done"


def test_the_first_refusal_is_reported_if_the_request_without_thoughts_fails_too(connect):
    refusals = [{"error": {"message": reason, "code": 400}} for reason in ("no credit", "thoughts are required")]
    reply = claude(THOUGHT, used("t1", "weather", {}), stop="tool_use")
    agent = Agent(model=connect("anthropic", reply, *refusals), tools=[weather])
    with pytest.raises(ProviderError, match="no credit"):
        agent.generate("go")


def test_thoughts_return_to_the_server_that_sent_them_only(connect):
    thought = chunk({"reasoning_content": "secret"})
    first = connect("openai", [thought, *calls(part("weather", "{}", id="1"))], say("ok"))
    agent = Agent(model=first, tools=[weather])
    agent.generate("go")
    assert "secret" in json.dumps(first.bodies[-1])
    agent.model = second = connect("openai", say("fine"))
    agent.generate("more")
    assert "secret" not in json.dumps(second.bodies)


SUMMARY = {"type": "reasoning.summary", "summary": "hm", "index": 0}
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "s"}


@pytest.mark.parametrize(
    ("member", "pieces", "sent"),
    [
        ("reasoning_details", [SUMMARY | {"summary": letter} for letter in "hm"], [SUMMARY]),
        *(
            ("reasoning_details", details, details)
            for details in (
                [SUMMARY, {"type": "reasoning.encrypted", "data": "e", "id": "rs", "index": 0}],
                [{"type": "reasoning.encrypted", "data": id, "id": id, "index": 0} for id in "ab"],
            )
        ),
        ("thinking_blocks", [SIGNED | {"thinking": "h", "signature": ""}, SIGNED | {"thinking": "m"}], [SIGNED]),
        ("thinking_blocks", [SIGNED, {"type": "redacted_thinking", "data": "e"}, SIGNED], None),
    ],
    ids=["one in pieces", "two types", "two ids", "no index", "three without an index"],
)
def test_pieces_of_thoughts_are_joined_and_different_thoughts_are_not(connect, member, pieces, sent):
    thoughts = [chunk({member: [piece]}) for piece in pieces]
    provider = connect("openai", [*thoughts, *calls(part("weather", "{}", index=0, id="c1"))], say("done"))
    Agent(model=provider, tools=[weather]).generate("go")
    assert provider.bodies[-1]["messages"][1][member] == (sent or pieces)


@pytest.mark.parametrize("inline", [True, False], ids=["in the delta of the call", "in a separate delta"])
@pytest.mark.parametrize("where", [{"index": 0}, {}, {"id": "f1"}], ids=["index", "nothing", "id"])
def test_the_signature_of_a_call_returns_with_it(connect, inline, where):
    signature = {"extra_content": {"google": {"thought_signature": "SIG"}}}
    call = part("weather", '{"city":"A"}', **{**where, **(signature if inline else {}), "id": "f1"})
    pieces = [call] if inline else [call, {**where, **signature}]
    provider = connect("openai", calls(*pieces, finish="stop"), say("done"))
    Agent(model=provider, tools=[weather]).generate("go")
    [sent] = provider.bodies[-1]["messages"][1]["tool_calls"]
    assert sent["extra_content"] == signature["extra_content"]


# Replies

OSLO, ROME = '{"city":"Oslo"}', '{"city":"Rome"}'


@pytest.mark.parametrize(
    "pieces",
    {
        "one index": [part("weather", OSLO, index=0, id="a"), part("weather", ROME, index=0, id="b")],
        "one index, no ids": [part("weather", OSLO, index=0, id=""), part("weather", ROME, index=0, id="")],
        "one index, one id": [part("weather", OSLO, index=0, id="a"), part("weather", ROME, index=0, id="a")],
        "no index": [part("weather", OSLO, id="a"), part("weather", ROME, id="b")],
        "neither": [part("weather", OSLO), part("weather", ROME)],
        "neither, in pieces": [
            part("weather", ""), part(None, '{"city":'), part(None, '"Oslo"}'), part("weather", ""), part(None, ROME),
        ],
        "the name in each piece": [
            part("weather", '{"city":', index=0), part("weather", '"Oslo"}', index=0), part("weather", ROME, index=0),
        ],
        "interleaved by id": [
            part("weather", '{"city":', id="a"), part("weather", '{"city":', id="b"), part(None, '"Oslo"}', id="a"),
            part(None, '"Rome"}', id="b"),
        ],
        "an index only at first": [part("weather", '{"city":', index=0, id="a"), part(None, '"Oslo"}'),
                                   part("weather", ROME, index=1, id="b")],
        "arguments as objects": [part("weather", {"city": "Oslo"}, index=0),
                                 part("weather", {"city": "Rome"}, index=1)],
        "the whole call twice": [
            part("weather", OSLO, index=0, id="a"), part("weather", OSLO, index=0, id="a"),
            part("weather", ROME, index=1, id="b"),
        ],
        "numbers as ids": [part("weather", OSLO, index=0, id=0), part("weather", ROME, index=1, id=1)],
        "no function": [{"name": "weather", "arguments": OSLO, "index": 0}, part("weather", ROME, index=1, id="b")],
        "null arguments": [part("weather", OSLO, index=0, id="a"), {"index": 0, "function": {"arguments": None}},
                           part("weather", ROME, index=1, id="b")],
        "a new id in each piece": [
            part("weather", "", index=0, id="a"), part(None, '{"city":', index=0, id="b"),
            part(None, '"Oslo"}', index=0, id="c"), part("weather", ROME, index=1, id="d"),
        ],
        "a new index in each piece": [
            part("weather", '{"city":', id="a"), part(None, '"Os', index=0), part(None, 'lo"}', index=1),
            part("weather", ROME, index=2, id="b"),
        ],
        "an empty object first": [
            part("weather", "{}", index=0, id="a"), part(None, '{"city":', index=0), part(None, '"Oslo"}', index=0),
            part("weather", ROME, index=1, id="b"),
        ],
        "all arguments so far in each piece": [
            part("weather", '{"ci', index=0, id="a"), part(None, '{"city":"Os', index=0), part(None, OSLO, index=0),
            part(None, OSLO, index=0), part("weather", ROME, index=1, id="b"),
        ],
    }.items(),
    ids=lambda pair: pair[0],
)  # fmt: skip
def test_parallel_calls_are_not_merged_without_ids_or_indexes(connect, pieces):
    provider = connect("openai", calls(*pieces[1], finish="stop"))
    *deltas, reply = pieces_of(provider, HI)
    assert [call.arguments for call in reply.tool_calls] == [{"city": "Oslo"}, {"city": "Rome"}]
    assert len({call.id for call in reply.tool_calls}) == 2
    texts = ["".join(delta.arguments for delta in deltas if getattr(delta, "index", None) == at) for at in (0, 1)]
    assert [json.loads(text) for text in texts] == [{"city": "Oslo"}, {"city": "Rome"}]


@pytest.mark.parametrize(("arguments", "spaced"), [(OSLO, '{"city": "Oslo"}'), ("{}", ""), ("[1]", "[1]")])
def test_a_call_that_gets_another_id_in_each_event_runs_once(connect, arguments, spaced):
    events = [
        {"type": "response.output_item.added", "output_index": 1, "item": item("a", "")},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": arguments},
        {"type": "response.output_item.done", "output_index": 1, "item": item("b", arguments)},
    ]
    *_, reply = pieces_of(connect("openai-responses", [*events, *completed(item("c", spaced))]), HI)
    assert len(reply.tool_calls) == 1
    twice = [*events, *(event | {"output_index": 2} for event in events)]
    *_, reply = pieces_of(connect("openai-responses", [*twice, *completed(item("c", spaced), item("d", spaced))]), HI)
    assert len(reply.tool_calls) == 2


def think(*texts):
    return [*(chunk({"content": text}) for text in texts), chunk({}, "stop")]


THOUGHTS = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
EVENT = {"choices": [{"index": 0, "delta": {"content": "Hello"}}]}


@pytest.mark.parametrize(
    "reply",
    {
        "parts": think([THOUGHTS], [{"type": "text", "text": "Hel"}], [{"type": "text", "text": "lo"}]),
        "thoughts and text in one delta": think([THOUGHTS, {"type": "text", "text": "Hello"}]),
        "a part that is not in a list": think({"type": "text", "text": "Hello"}),
        "tags": think("<think>hm</think>Hello"),
        "tags in pieces": think("\n<th", "ink>h", "m</th", "ink", ">\n\nHello"),
        "tags of Magistral": think("[THINK]hm[/THINK]", "Hello"),
        "two thoughts": think("<think>a</think>\n", "<think>b</think>", "Hello"),
        "empty thoughts": think("<think>\n\n</think>\n\nHello"),
        "no opening tag": think("hm, so\n</think>\n\nHello"),
        "an opening tag alone": think("<think>", "Hello"),
        "no delta": [EVENT, {"choices": [{"index": 0, "finish_reason": "stop"}]}],
        "a delta that is null": [EVENT, {"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}],
        "choices that are null": [{"choices": None}, EVENT, chunk({}, "stop"), {"choices": None, "usage": None}],
        "usage alone at the end": [EVENT, {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}],
        "several choices": [chunk({"content": "Hello"}), {"choices": [{"index": 1, "delta": {"content": "Bye"}}]},
                            chunk({}, "stop")],
        "a reply that ignores stream": {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
        },
        "a reply that ends with the whole message": [
            chunk({"content": "Hello"}),
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]},
        ],
        "messages that grow beside the deltas": [
            {"choices": [{"delta": {"content": text}, "message": {"content": whole}, "finish_reason": "stop"}]}
            for text, whole in (("Hel", "Hel"), ("lo", "Hello"))
        ],
        "an event of a gateway first": [{"type": "ping"}, *say("Hello")],
        "chunks of a content filter": [
            {"choices": [], "prompt_filter_results": [], "usage": None}, chunk({"content": "Hello"}),
            {"choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {}}]}, chunk({}, "stop"),
        ],
        "reasons that are the word null": [chunk({"content": "Hello"}, "null"), chunk({}, "stop")],
        "text in a member": think([{"type": "output_text", "text": {"value": "Hello"}}]),
        "thoughts of changing types": [
            chunk({"reasoning_content": {"a": 1}}), chunk({"reasoning_content": "hm"}),
            chunk({"reasoning_details": "hm"}), chunk({"reasoning_details": [{"text": "hm"}]}), *say("Hello"),
        ],
        "halves of a character": think("\ud83d", "\ude00"),
        "half a character": think("Hello", "\ud83d"),
    }.items(),
    ids=lambda pair: pair[0],
)  # fmt: skip
def test_the_text_of_a_reply_is_found_in_all_its_forms(connect, reply):
    name, events = reply
    *deltas, message = pieces_of(connect("openai", events), HI)
    expected = {"halves of a character": "\U0001f600", "half a character": "Hello\ufffd"}.get(name, "Hello")
    assert message.content == expected
    assert message.stop_reason == "stop"
    if name != "no opening tag":
        assert "".join(delta.content for delta in deltas if isinstance(delta, TextDelta)) == expected


@pytest.mark.parametrize("text", ["1 < 2", "<b>bold</b>", "a <think>tag</think>", "```\n</think>\n```", "<", "<thin"])
def test_text_that_only_resembles_thoughts_is_unchanged(connect, text):
    *_, reply = pieces_of(connect("openai", think(*text)), HI)
    assert reply.content == text


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("openai", {"choices": [{"message": {"tool_calls": [part("weather", OSLO)]}, "finish_reason": "stop"}]}),
        ("openai", [*calls(part("weather", OSLO, id="a"))[:1], {"choices": [], "usage": {}}]),
        ("openai", [chunk({"function_call": {"name": "weather", "arguments": OSLO}}), chunk({}, "function_call")]),
        ("openai-responses", completed(item("a", OSLO))),
        ("openai-responses", completed(item("a", OSLO))[0]["response"]),
        ("openai-responses", [{"type": "response.output_item.done", "item": item("a", OSLO)}, *completed()]),
        (
            "openai-responses",
            [
                {"type": "response.output_item.added", "output_index": 0, "item": item("a", "")},
                {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": OSLO},
                *completed(),
            ],
        ),
        ("anthropic", claude(used("a", "weather", OSLO))),
        ("anthropic", {"type": "message", "content": [used("a", "weather", {"city": "Oslo"})], "stop_reason": None}),
        ("anthropic", [*claude(used("a", "weather", {"city": "Oslo"}))[:-2], {"type": "message_stop"}]),
        ("gemini", gemini({"functionCall": {"name": "weather", "args": {"city": "Oslo"}}})),
    ],
)
def test_a_call_is_found_in_all_forms_of_a_reply(connect, name, reply):
    *_, message = pieces_of(connect(name, reply), HI)
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("weather", {"city": "Oslo"})]
    assert message.stop_reason == "tool"


@pytest.mark.parametrize(
    "events",
    [
        completed(spoken("Hello")),
        [{"type": "response.output_item.done", "output_index": 0, "item": spoken("Hello")}, *completed()],
        [{"type": "response.output_text.delta", "delta": "Hel"}, *completed(spoken("Hello"))],
        completed(spoken("Hello"))[0]["response"],
        completed({"type": "message", "content": "Hello"}),
        [
            {"type": "response.output_text.delta", "delta": "Hello"},
            {"type": "response.output_item.done", "output_index": 0, "item": {**spoken("Hello"), "id": "other"}},
            *completed(spoken("Hello")),
        ],
        [{"type": "keepalive"}, {"type": "ping"}, {"region": "eu"}, *completed(spoken("Hello"))],
    ],
)
def test_text_that_only_comes_at_the_end_of_a_response_is_read(connect, events):
    *deltas, reply = pieces_of(connect("openai-responses", events), HI)
    assert reply.content == "".join(delta.content for delta in deltas if isinstance(delta, TextDelta)) == "Hello"


def test_a_byte_order_mark_before_a_reply_is_not_part_of_it(connect):
    page = "\ufeff" + "".join(f"data: {json.dumps(event)}\n\n" for event in say("fine"))
    *_, reply = pieces_of(connect("openai", (200, page)), HI)
    assert reply.content == "fine"


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_reply_is_kept_if_the_numbers_of_its_tokens_make_no_sense(connect, name):
    words = {"gemini": ("promptTokenCount", "candidatesTokenCount"), "openai": ("prompt_tokens", "completion_tokens")}
    numbers = [None, "12", -3] if name == "gemini" else [None, "x", "12", -3, 1.5, [], {}, float("inf"), float("nan")]
    for number in numbers:
        usage = dict.fromkeys(words.get(name, ("input_tokens", "output_tokens")), number)
        events = json.loads(json.dumps(FINE[name]))
        events[-2 if name == "anthropic" else -1] |= {"usage": usage, "usageMetadata": usage}
        if name == "openai-responses":
            events[-1]["response"]["usage"] = usage
        *_, reply = pieces_of(connect(name, events), HI)
        assert reply.content == "fine"
        assert (reply.usage.output_tokens == 12) == (number == "12")
        assert min(reply.usage.input_tokens, reply.usage.output_tokens) >= 0


def test_numbers_of_tokens_that_the_sdk_refuses_are_an_error_of_the_provider(connect):
    events = json.loads(json.dumps(FINE["gemini"]))
    events[-1]["usageMetadata"] = {"promptTokenCount": "x"}
    with pytest.raises(ProviderError, match="promptTokenCount"):
        pieces_of(connect("gemini", events), HI)


@pytest.mark.parametrize(
    "events", [calls(part(3, "{}", id="a")), say("fine", finish=3), calls(part({"a": 1}, "{}", id="a"))], ids=str
)
def test_a_reply_with_wrong_types_is_read_or_a_provider_error(connect, events):
    provider = connect("openai", events)
    try:
        *_, reply = pieces_of(provider, HI)
    except ProviderError as error:
        assert "name" in str(error)
    else:
        assert (reply.content, reply.stop_reason) == ("fine", "3")


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0}, {}])
def test_a_budget_counts_estimates_without_reported_tokens(connect, usage):
    def endless(body):
        return [*calls(part("weather", "{}", id=str(len(body["messages"]))))[:-1], chunk({}, "tool_calls", usage=usage)]

    agent = Agent(model=connect("openai", endless), tools=[weather], max_tokens=500, max_steps=50)
    response = agent.generate("word " * 100)
    assert response.interrupt_reason == "max_tokens"
    assert 125 < response.usage.input_tokens < 700
    assert response.usage.is_estimated
    reported = {"prompt_tokens": 9, "completion_tokens": 1}
    reporting = connect("openai", [*say("hi"), {"choices": [], "usage": reported}])
    assert Agent(model=reporting).generate("word").usage == Usage(input_tokens=9, output_tokens=1)


def test_a_slow_consumer_of_a_stream_does_not_time_out(connect, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    provider = connect("openai", think(*["x" * 50_000] * 9))
    request = Request(model="m", messages=[User(content="Hi")], timeout=30)

    async def collect():
        async for piece in provider.astream(request):
            now[0] += 60
            yield piece

    assert len(collected(collect())[-1].content) == 450_000


@pytest.mark.parametrize(
    ("name", "reason", "outcome"),
    [
        ("openai", "STOP", "completed"),
        ("openai", "eos", "completed"),
        ("openai", "end_turn", "completed"),
        ("openai", "model_length", "length"),
        ("openai", "MAX_TOKENS", "length"),
        ("openai", "content_filter", "content_filter"),
        ("openai", "sensitive", "content_filter"),
        ("openai", "a_new_word", "a_new_word"),
        ("anthropic", "refusal", "refusal"),
        ("anthropic", "model_context_window_exceeded", "length"),
        ("gemini", "MAX_TOKENS", "length"),
        ("gemini", "PROHIBITED_CONTENT", "content_filter"),
        ("gemini", "LANGUAGE", "LANGUAGE"),
    ],
)
def test_a_reason_to_stop_is_the_outcome_in_our_words(connect, name, reason, outcome):
    replies = {
        "openai": say("Hello", finish=reason),
        "anthropic": claude({"type": "text", "text": "Hello"}, stop=reason),
        "gemini": gemini({"text": "Hello"}, finish=reason),
    }
    response = Agent(model=connect(name, replies[name])).generate("Hi")
    assert (response.outcome, response.content) == (outcome, "Hello")


SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}


def test_a_turn_that_anthropic_pauses_continues(connect):
    paused = claude({"type": "text", "text": "I look."}, SEARCH, stop="pause_turn")
    provider = connect("anthropic", paused, paused, claude({"type": "text", "text": "Found it."}))
    agent = Agent(model=provider)
    response = agent.generate("Search")
    assert (response.outcome, response.content, response.steps) == ("completed", "Found it.", 3)
    last = provider.bodies[-1]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant"]  # as it was, without a message of the user
    assert [block["type"] for block in last[1]["content"]] == ["text", "server_tool_use"] * 2


def test_a_paused_turn_continues_after_a_limit(connect):
    paused = claude({"type": "text", "text": "I look."}, SEARCH, stop="pause_turn")
    agent = Agent(model=connect("anthropic", paused, claude({"type": "text", "text": "Found it."})), max_steps=1)
    assert agent.generate("Search").interrupt_reason == "max_steps"
    assert agent.generate().content == "Found it."


def with_choice(**members):
    return [chunk({"content": "Hel"}), {"choices": [{"index": 0, "delta": {}, **members}]}]


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("gemini", gemini(finish="MALFORMED_FUNCTION_CALL")),
        ("gemini", [{"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]}]),
        ("gemini", gemini({"text": "Hel"}, finish="UNEXPECTED_TOOL_CALL")),
        ("gemini", gemini(finish="OTHER")),
        ("openai", say("Hel", finish="abort")),
        ("openai", say("Hel", finish="insufficient_system_resource")),
        ("openai", say("Hel", finish="network_error")),
        ("openai", say("", finish="function_call_filter: MALFORMED_FUNCTION_CALL")),
        ("openai", with_choice(finish_reason="stop", native_finish_reason="network_error")),
        ("openai", with_choice(finish_reason="error", error={"code": 502, "message": "upstream"})),
        ("openai", [{"choices": [], "error": {"code": "server_error", "message": "upstream"}}]),
    ],
    ids=str,
)
def test_a_reply_that_its_server_gave_up_is_asked_for_again(connect, name, failed):
    provider = connect(name, failed, FINE[name], attempts=2)
    assert Agent(model=provider).generate("Hi").content == "fine"
    assert len(provider.bodies) == 2


def test_a_reply_that_fails_twice_names_the_reason_of_the_server(connect):
    with pytest.raises(ProviderError, match="MALFORMED_FUNCTION_CALL"):
        Agent(model=connect("gemini", gemini(finish="MALFORMED_FUNCTION_CALL"), attempts=2)).generate("Hi")
    with pytest.raises(ProviderError, match=r"\(abort\)"):
        Agent(model=connect("openai", say("", finish="abort"))).generate("Hi")


def test_a_request_that_the_server_of_a_gateway_refuses_is_not_repeated(connect):
    refused = with_choice(finish_reason="error", error={"code": 400, "message": "prompt is too long"})
    provider = connect("openai", refused, attempts=3)
    with pytest.raises(ProviderError, match="400 prompt is too long") as caught:
        Agent(model=provider).generate("Hi")
    assert (caught.value.is_too_long, len(provider.bodies)) == (True, 1)


@pytest.mark.parametrize("reason", ["length", "model_length", "MAX_TOKENS"])
def test_a_call_that_was_cut_by_a_limit_does_not_run(connect, reason):
    provider = connect("openai", calls(part("weather", '{"city": "Os', id="a"), finish=reason))
    with pytest.raises(ProviderError, match="cut off"):
        Agent(model=provider, tools=[weather]).generate("Hi")


def refusing(member, text):
    """A server that refuses a member of a request."""

    def answer(body):
        system = body.get("messages", [{}])[0].get("role") == "system" and "system"
        refusal = (400, json.dumps({"error": {"message": text}}))
        return refusal if member in (*body, system) else say('{"name": "Ann"}')

    return answer


class Named(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("response_format", "This response_format type is unavailable now"),
        ("response_format", "This model does not support response format `json_schema`."),
        ("response_format", "json mode cannot be combined with tool/function calling"),
        ("stream_options", "Unrecognized request argument supplied: stream_options"),
        ("system", "System role not supported"),
    ],
)
def test_a_server_without_a_part_of_the_api_gets_an_alternative(connect, member, text):
    provider = connect("openai", refusing(member, text))
    agent = Agent(model=provider, tools=[weather], output=Named, instructions="Be brief.")
    for _ in range(2):
        assert agent.generate("Who?").output == Named(name="Ann")
    assert len(provider.bodies) == 3  # what it lacks is remembered
    assert "Be brief." in json.dumps(provider.bodies[-1])
    assert member != "response_format" or "JSON Schema" in json.dumps(provider.bodies[-1])


@pytest.mark.parametrize(
    ("model", "refused", "text"),
    [
        ("alias", "max_tokens", "Unsupported parameter: 'max_tokens' ... Use 'max_completion_tokens' instead."),
        ("gpt-4o", "max_completion_tokens", "Unrecognized request argument supplied: max_completion_tokens"),
    ],
)
def test_the_limit_of_tokens_has_the_name_that_the_server_accepts(connect, model, refused, text):
    provider = connect("openai", refusing(refused, text), model=model)
    agent = Agent(model=provider, settings={"max_tokens": 9})
    for _ in range(2):
        assert agent.generate("Who?").completed
    assert len(provider.bodies) == 3
    assert 9 in provider.bodies[-1].values()


def test_a_refused_limit_keeps_its_name(connect):
    text = "max_completion_tokens is too large: 99. This model supports at most 9 completion tokens"
    provider = connect("openai", (400, json.dumps({"error": {"message": text}})), model="gpt-5")
    with pytest.raises(ProviderError, match="too large"):
        Agent(model=provider, settings={"max_tokens": 99}).generate("Hi")
    assert len(provider.bodies) == 1


@pytest.mark.parametrize(
    "text", ["messages.1.content: Input should be a valid string", "invalid type: null, expected a string"]
)
def test_a_server_that_refuses_null_gets_an_empty_text(connect, text):
    def answer(body):
        if any(message["content"] is None for message in body["messages"]):
            return 400, json.dumps({"error": {"message": text}})
        return say("done") if len(body["messages"]) > 1 else calls(part("weather", "{}", id="1"))

    assert Agent(model=connect("openai", answer), tools=[weather]).generate("Hi").content == "done"


def test_calls_of_another_model_continue_with_a_model_that_thinks(connect):
    def answer(body):
        if body["messages"][-1]["content"][0]["type"] == "tool_result" and "thinking" in body:
            return 400, json.dumps(
                {"error": {"message": "Expected `thinking` or `redacted_thinking`, found `tool_use`"}}
            )
        return claude({"type": "text", "text": "done"})

    settings = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    provider = connect("anthropic", answer)
    agent = Agent(Session(messages=after_results()[:3]), model=provider, tools=[weather], settings=settings)
    assert [agent.generate().content, agent.generate("And now?").content] == ["done", "done"]
    assert ["thinking" in body for body in provider.bodies] == [True, False, True]


def test_a_part_that_the_server_refuses_in_each_form_is_reported_once(connect):
    provider = connect("openai", (400, json.dumps({"error": {"message": "stream_options: no"}})), attempts=3)
    with pytest.raises(ProviderError, match="400 stream_options: no"):
        Agent(model=provider).generate("Hi")
    assert len(provider.bodies) == 2


PNG = Image(b"\x89PNG\r\n\x1a\n", "image/png")


@tool
def look() -> list:
    """Take a picture."""
    return ["Here:", PNG]


@pytest.mark.parametrize(
    ("name", "status", "reason", "count"),
    [
        ("openai", 400, "this model does not support image input", 4),
        ("openai", 404, "No endpoints found that support image input", 4),
        ("openai", 500, "image input is not supported - hint: you may need to provide the mmproj", 4),
        ("openai", 400, "Invalid content type. image_url is only supported by certain models.", 5),
        ("openai-responses", 400, "You uploaded an unsupported image, of another format than png", 5),
        ("anthropic", 400, "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum", 5),
        ("anthropic", 400, "Could not process image", 5),
        ("gemini", 400, "Unable to process input image. Please retry", 5),
    ],
)
def test_a_picture_that_a_server_refuses_does_not_end_the_session(connect, name, status, reason, count):
    calls_of = {
        "openai": calls(part("look", "{}", index=0, id="a")),
        "openai-responses": completed({**item("a", "{}"), "name": "look"}),
        "anthropic": claude(used("a", "look", {})),
        "gemini": gemini({"functionCall": {"name": "look", "args": {}}}),
    }

    def answer(body):
        if re.search("base64|inline_data", json.dumps(body)):
            return (status, json.dumps({"error": {"message": reason}}))
        return FINE[name]

    provider = connect(name, calls_of[name], answer)
    agent = Agent(model=provider, tools=[look])
    assert [agent.generate(prompt).content for prompt in ("go", "again")] == ["fine", "fine"]
    assert own_check(name, provider.bodies[-1]) == 1
    assert "image/png, 8 bytes: left out" in json.dumps(provider.bodies[-1])
    assert len(provider.bodies) == count  # a model without pictures is remembered


def test_a_refused_prompt_without_files_is_not_sent_again(connect):
    provider = connect("openai", (400, json.dumps({"error": {"message": "image too large"}})))
    with pytest.raises(ProviderError, match="image too large"):
        Agent(model=provider).generate("Hi")
    assert len(provider.bodies) == 1


GROQ = {"message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed"}


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("openai", (400, json.dumps({"error": GROQ}))),
        ("openai", [{"error": GROQ}]),
        ("openai", (429, json.dumps([{"error": {"code": 429, "message": "exhausted", "status": "EXHAUSTED"}}]))),
        ("openai", say("")),
        ("gemini", gemini()),
        ("openai-responses", [{"type": "response.failed", "response": {"status": "failed", "error": None}}]),
    ],
    ids=str,
)
def test_a_failure_of_the_model_itself_is_tried_again(connect, name, reply):
    provider = connect(name, reply, FINE[name], attempts=2)
    assert Agent(model=provider).generate("Hi").content == "fine"
    assert len(provider.bodies) == 2


def test_a_second_empty_reply_is_the_reply(connect):
    provider = connect("openai", say(""), attempts=5)
    assert (Agent(model=provider).generate("Hi").outcome, len(provider.bodies)) == ("completed", 2)


@pytest.mark.parametrize("start", ["", "".join(f"data: {json.dumps(event)}\n\n" for event in say("Hel", None)[:1])])
def test_an_error_in_a_stream_of_llama_cpp_fails_the_request(connect, start):
    failure = json.dumps(
        {"code": 400, "message": "exceeds the available context size", "type": "invalid_request_error"}
    )
    provider = connect("openai", (200, f"{start}error: {failure}\n\ndata: [DONE]\n\n"))
    with pytest.raises(ProviderError, match=r"openai: 400 exceeds the available context size$") as caught:
        pieces_of(provider, HI)
    assert caught.value.is_too_long


def test_an_error_in_a_list_is_read(connect):
    reply = (400, json.dumps([{"error": {"code": 400, "message": "Bad thing", "status": "INVALID_ARGUMENT"}}]))
    with pytest.raises(ProviderError, match=r"openai: 400 Bad thing$"):
        Agent(model=connect("openai", reply)).generate("Hi")


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}],
        [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": None}}],
        [
            {"type": "content_block_start", "index": 7, "content_block": {"type": "thinking", "thinking": None}},
            {"type": "content_block_delta", "index": 7, "delta": {"type": "thinking_delta", "thinking": "hm"}},
            {"type": "content_block_delta", "index": 7, "delta": {"type": "signature_delta", "signature": None}},
        ],
        [{"type": "ping"}, {"type": "new_event"}],
    ],
    ids=["no text", "null text", "null thoughts", "no start"],
)
def test_blocks_of_servers_that_resemble_anthropics_are_read(connect, events):
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "fine"}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": None}
    reply = [{"type": "message_start", "message": {"usage": None}}, *events, text, end, {"type": "message_stop"}]
    provider = connect("anthropic", reply, FINE["anthropic"])
    agent = Agent(model=provider)
    assert agent.generate("Hi").content == "fine"
    assert agent.generate("Again").content == "fine"
    json.dumps(provider.bodies)


def test_a_part_that_geminis_sdk_does_not_know_is_skipped(connect):
    provider = connect("gemini", gemini({"newKind": {"a": 1}}, {"text": "fine"}, {"newKind": {}}), FINE["gemini"])
    agent = Agent(model=provider)
    assert [agent.generate("Hi").content for _ in range(2)] == ["fine", "fine"]


def test_events_that_a_gateway_adds_to_a_stream_are_ignored(connect):
    metadata = {"type": "metadata", "region": "eu"}
    assert (
        Agent(model=connect("openai", [*say("fine")[:1], metadata, *say("fine")[1:], metadata])).generate("Hi").content
        == "fine"
    )
    with pytest.raises(ProviderError, match="expected an event of its API"):
        Agent(model=connect("openai", [metadata])).generate("Hi")


def test_a_reply_that_names_calls_and_has_only_text_is_text(connect):
    provider = connect("openai", say("Hello", finish="tool_calls"))
    assert Agent(model=provider).generate("Hi").content == "Hello"


# Failures

PAGE = "<!doctype html><html><body>LM Studio</body></html>"


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("page", [(200, PAGE), (200, "It works!"), (404, PAGE)], ids=["page", "text", "404"])
def test_an_address_without_a_model_server_is_named_after_one_request(connect, name, page):
    provider = connect(name, page, attempts=3)
    with pytest.raises(ProviderError, match="base_url") as caught:
        pieces_of(provider, HI)
    assert len(provider.bodies) == 1
    assert "body" not in str(caught.value)
    assert page[0] == 404 or "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ({"error": {"message": "gemma3 does not support tools", "type": "api_error"}}, "TextMode"),
        ({"error": "registry.ollama.ai/library/phi does not support tools"}, "TextMode"),
        ({"message": "No endpoints found that support tool use", "code": 404}, "TextMode"),
        ({"detail": [{"loc": ["body"], "msg": "extra fields not permitted"}]}, "extra fields not permitted"),
        ({"error": {"message": "overloaded", "type": "overloaded_error"}}, "overloaded"),
        ({"error": {"message": "`tools` is not supported in this model"}}, "TextMode"),
        ({"error": {"message": "Function calling is not enabled for models/x"}}, "TextMode"),
        ({"error": {"message": "tool choice requires --enable-auto-tool-choice and a parser"}}, "TextMode"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": "no such voice"}}}, "no such voice"),
        ({"error": {"msg": "broken"}}, "400 broken"),
        ({"detail": "Method Not Allowed"}, "check base_url"),
    ],
)
def test_an_error_of_the_server_names_the_fix(connect, body, cause):
    provider = connect("openai", (400, json.dumps(body)), attempts=3)
    with pytest.raises(ProviderError, match=cause) as caught:
        pieces_of(provider, HI)
    assert (caught.value.status, len(provider.bodies)) == (400, 1)


def test_a_server_that_does_not_run_is_named_with_its_address():
    provider = OpenAIProvider("m", api_key="k", base_url="http://127.0.0.1:9/v1", retry=Retry(attempts=1))
    with pytest.raises(ProviderError, match=r"cannot connect to 127\.0\.0\.1:9/v1 .*that the server runs"):
        pieces_of(provider, HI)


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("url", ["localhost:8000/v1", "model-server/v1", "http://localhost:PORT/v1", "http://[::1/v1"])
def test_an_invalid_address_is_reported_without_a_request(name, url):
    provider = PROVIDERS[name]("m", api_key="k", base_url=url)
    with pytest.raises(ProviderError, match="base_url") as caught:
        pieces_of(provider, HI)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("name", "key"),
    [("openai", "secret\n"), ("openai", "“secret”"), ("anthropic", "secret\n"), ("gemini", "x\r\nsecret: y")],
)
def test_a_key_that_no_header_can_have_is_reported_without_the_key(connect, name, key):
    provider = connect(name, FINE[name], attempts=3, key=key)
    with pytest.raises(ProviderError, match=r"the API key .* line breaks") as caught:
        pieces_of(provider, HI)
    assert not caught.value.retryable
    assert "secret" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(ProviderError, match=r"the API key .* line breaks") as caught:
        asyncio.run(provider.models())
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_a_client_that_the_sdk_cannot_create_is_a_provider_error(monkeypatch, connect):
    monkeypatch.setenv("SSL_CERT_FILE", "missing.pem")
    with pytest.raises(ProviderError, match=r"openai: the client cannot be created: .*No such file"):
        pieces_of(connect("openai", FINE["openai"]), HI)


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 128000 tokens",
        "prompt is too long: 578928 tokens > 200000 maximum",
        "The input token count (1200000) exceeds the maximum number of tokens allowed",
        "the request exceeds the available context size, try increasing it",
        "input length and `max_tokens` exceed context limit",
        "Input is too long for requested model.",
        "Your input exceeds the context window of this model.",
        "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Please reduce the length of the messages or completion. Current length is 8200 while limit is 8192",
        "Range of input length should be [1, 30720]",
        "Prompt exceeds max length",
        "Invalid request: Your request exceeded model token limit: 8192",
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        "prompt token count of 70000 exceeds the limit of 64000",
        "Input tokens exceed the configured limit of 272000 tokens.",
        "Invalid 'messages': array too long. Expected an array with maximum length 2048",
        "messages: too many total text bytes: 12000000 > 9000000",
    ],
)
def test_an_error_says_that_the_conversation_is_too_long(connect, text):
    for status in (400, 500):  # a server that fails at it is not asked again
        provider = connect("openai", (status, json.dumps({"error": {"message": text}})), attempts=3)
        with pytest.raises(ProviderError) as caught:
            pieces_of(provider, HI)
        assert caught.value.is_too_long
        assert len(provider.bodies) == 1


@pytest.mark.parametrize(
    ("status", "text", "is_too_long"),
    [
        (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.", True),
        (429, "Rate limit reached for input tokens per minute: the limit was exceeded", False),
        (400, "max_tokens is too large: 99999. This model supports at most 16384 completion tokens", False),
        (400, "Invalid 'tools[0].function.name': string too long. Expected a maximum length of 64", False),
    ],
)
def test_other_limits_are_no_limit_of_the_conversation(connect, status, text, is_too_long):
    with pytest.raises(ProviderError) as caught:
        pieces_of(connect("openai", (status, json.dumps({"error": {"message": text}}))), HI)
    assert (caught.value.is_too_long, caught.value.retryable) == (is_too_long, status == 429 and not is_too_long)


@pytest.mark.parametrize(
    ("text", "headers", "seconds"),
    [
        ("Limit 30000, Used 20000. Please try again in 1.2s. Visit us.", [], 1.2),
        ("Please try again in 420ms.", [], 0.42),
        ("Please try again in 1h6m0.5s.", [], 3960.5),
        ("Please try again in 7m.", [], 420),
        ("Please retry after 26 seconds.", [], 26),
        ("Please try again in a while.", [], None),
        ("Please try again in 9s.", [("Retry-After", "2")], 2),
        ("busy", [("Retry-After", "soon")], None),
        ("busy", [("Retry-After", "Fri, 31 Dec 99999 23:59:59 GMT")], None),
        ("busy", [("Retry-After-Ms", "120.5")], 0.1205),
    ],
)
def test_every_form_of_retry_after_is_read(connect, text, headers, seconds):
    reply = (429, json.dumps({"error": {"message": text}}), *headers)
    with pytest.raises(ProviderError) as caught:
        pieces_of(connect("openai", reply), HI)
    assert caught.value.retry_after == (seconds and pytest.approx(seconds))


@pytest.mark.parametrize("kind", ["insufficient_quota", "exceeded_current_quota_error", "billing_hard_limit_reached"])
def test_an_account_without_credit_is_not_asked_again(connect, kind):
    provider = connect("openai", (429, json.dumps({"error": {"message": "no credit", "type": kind}})), attempts=3)
    with pytest.raises(ProviderError, match="429 no credit"):
        pieces_of(provider, HI)
    assert len(provider.bodies) == 1


BUSY = {"message": "busy", "code": 503}


@pytest.mark.parametrize(
    ("reply", "cause", "retryable"),
    [
        ((200, '"ok"'), "no model server answers", False),
        ((200, "false"), "no model server answers", False),
        ((200, "null"), "no model server answers", False),
        ((200, "[]"), "the server sent nothing", True),
        ((200, "[1]"), "the server sent invalid JSON", True),
        ({}, "expected an event of its API, the server sent {}", False),
        ([{"type": "ping"}], "expected an event of its API, the server sent {'type': 'ping'}", False),
        ({"data": {"choices": []}}, "expected an event of its API", False),
        ({"choices": None, "base_resp": {"status_msg": "login fail"}}, "sent no reply: .*login fail", True),
        (BUSY, "503 busy", True),
        (BUSY | {"code": "503"}, "503 busy", True),
        ({"error": {"message": "busy", "status": 503}}, "503 busy", True),
        ({"error": {"message": "busy", "code": "400"}}, "400 busy", False),
        ({"object": "error", "message": "bad", "code": 400}, "400 bad", False),
        ({"error": True, "message": "busy"}, "openai: busy", False),
        ({"error": "Unexpected endpoint or method. (POST /chat/completions)"}, "check base_url", False),
        ((200, "data: {}\n\n", ("Content-Encoding", "gzip")), "was cut .*incorrect header", True),
        ((500, "oh", ("Content-Encoding", "gzip")), "500 Internal Server Error", True),
    ],
    ids=str,
)
def test_an_invalid_reply_is_an_error_with_its_cause(connect, reply, cause, retryable):
    with pytest.raises(ProviderError, match=cause) as caught:
        pieces_of(connect("openai", reply), HI)
    assert caught.value.retryable == retryable


def test_a_stream_may_end_in_the_words_of_other_apis(connect):
    def page(events):
        return (200, "".join(f"data: {event}\n\n" for event in events))

    for word in ("[DONE]", '"[DONE]"', "[done]", " [DONE] "):
        *_, reply = pieces_of(connect("openai", page([json.dumps(say("fine")[0]), word])), HI)
        assert reply.content == "fine"
    *_, reply = pieces_of(connect("gemini", page([json.dumps(FINE["gemini"][0]), "[DONE]"])), HI)
    assert reply.content == "fine"


# Typed replies


class Person(BaseModel):
    name: str
    age: int


ANN = '{"name": "Ann", "age": 3}'


@pytest.mark.parametrize(
    "text",
    {
        "JSON": ANN,
        "fence": f"```json\n{ANN}\n```",
        "opening fence": f"```json\n{ANN}",
        "fence without a line break": f"```json {ANN}```",
        "fence between sentences": f"Here is it:\n\n```\n{ANN}\n```\nAnything else?",
        "tildes": f"~~~JSON\n{ANN}\n~~~",
        "indented fence": f"1. Answer:\n   ```json\n   {ANN}\n   ```",
        "two fences": f'Like\n```json\n{{"name": "?"}}\n```\nHere:\n```json\n{ANN}\n```',
        "thoughts": f'<think>maybe {{"name": "Bob", "age": 9}}</think>\n{ANN}',
        "end of thoughts": f'maybe {{"name": "Bob", "age": 9}}</think>{ANN}',
        "prose": f"The answer is {ANN}. I hope it helps {{you}}!",
        "an example first": f'I was asked for {{"name": "...", "age": 0}}. It is {ANN}',
        "a box": f"<|begin_of_box|>{ANN}<|end_of_box|>",
        "line break in a string": '{"name": "Ann\nB", "age": 3}',
        "byte order mark": f"\ufeff{ANN}",
        "braces in a string": 'So: {"name": "}{", "age": 3} and {that}',
    }.items(),
    ids=lambda pair: pair[0],
)
def test_json_is_found_in_a_typed_reply(text):
    name, reply = text
    response = Agent(model=ScriptedProvider(reply), output=Person, output_retries=0).generate("Who?")
    expected = {"line break in a string": "Ann\nB", "braces in a string": "}{"}.get(name, "Ann")
    assert response.output == Person(name=expected, age=3), response.detail
    assert response.content == reply


@pytest.mark.parametrize(
    "text",
    ["I do not know.", "", '{"name": "Ann"', '{"person": {"name": "Ann", "age": 3}}', '{"name": "Ann", "age": "old"}'],
)
def test_a_reply_without_a_value_of_its_type_is_invalid(text):
    response = Agent(model=ScriptedProvider(text), output=Person, output_retries=0).generate("Who?")
    assert (response.outcome, response.output) == ("invalid_output", None)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (str, "hello", "hello"),
        (str, ANN, ANN),
        (str, '"hello"', '"hello"'),
        (str | Person, "hello", "hello"),
        (str | Person, ANN, Person(name="Ann", age=3)),
        (Person | str, f"```json\n{ANN}\n```", Person(name="Ann", age=3)),
        (Person | str, f"Perhaps {ANN}?", f"Perhaps {ANN}?"),
        (str | Person, '{"name": "Ann"}', '{"name": "Ann"}'),
        (Literal["yes", "no"], "yes", "yes"),
        (Literal["yes", "no"], '"no"', "no"),
        (date, "2026-01-31", date(2026, 1, 31)),
        (list[int], "```\n[1, 2]\n```", [1, 2]),
        (int, " 42\n", 42),
        (str | None, "null", None),
    ],
)
def test_a_type_that_accepts_text_takes_the_reply(kind, text, value):
    response = Agent(model=ScriptedProvider(text), output=kind).generate("Hi")
    assert (response.outcome, response.output) == ("completed", value)


@pytest.mark.parametrize(
    ("name", "search"),
    [
        ("openai-responses", {"type": "web_search"}),
        ("anthropic", {"type": "web_search_20250305", "name": "web_search"}),
        ("gemini", {"google_search": {}}),
    ],
)
def test_server_tools_join_the_tools_of_the_agent(connect, name, search):
    provider = connect(name, FINE[name])
    assert Agent(model=provider, tools=[weather], settings={"tools": [search]}).generate("Hi").content == "fine"
    sent = json.dumps(provider.bodies[-1]["tools"])
    assert "Report the weather." in sent
    assert "search" in sent.lower()


@pytest.mark.parametrize("settings", [{"stream": False}, {"stream": True}, None])
def test_settings_without_effect_are_accepted(connect, settings):
    assert Agent(model=connect("openai", FINE["openai"]), settings=settings).generate("Hi").content == "fine"


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [(Person | None, "null", None), (list[Person], "[]", []), (list[int] | int, "0", 0), (bool, "false", False)],
)
def test_lists_and_null_arrive_unchanged_as_output(connect, name, kind, text, value):
    replies = {
        "openai": say(text),
        "openai-responses": completed(spoken(text)),
        "anthropic": claude({"type": "text", "text": text}),
        "gemini": gemini({"text": text}),
    }
    response = Agent(model=connect(name, replies[name]), output=kind, output_retries=0).generate("Who?")
    assert (response.outcome, response.output, response.content) == ("completed", value, text)


def test_output_str_asks_for_no_json(connect):
    provider = connect("openai", say("hello"))
    assert Agent(model=provider, output=str).generate("Hi").output == "hello"
    assert "JSON" not in json.dumps(provider.bodies) and "response_format" not in provider.bodies[0]
