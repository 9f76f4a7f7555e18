"""Real model servers: no reply of one model makes a session that another one refuses."""

from __future__ import annotations

import itertools
import json
import re
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
    System,
    TextDelta,
    ToolResult,
    Usage,
    User,
    open_store,
)
from tools_core import Result, ToolCall, tool
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

    def connect(name, *replies, model="m", attempts=1, **options):
        bodies = []

        def answer(path, body):
            bodies.append(body)
            reply = replies[min(len(bodies), len(replies)) - 1]
            return reply(body) if callable(reply) else reply

        server = model_server(answer)
        url = f"{server.url}/v1" if name.startswith("openai") else server.url
        retry = Retry(attempts=attempts, first_delay=0.001)
        provider = PROVIDERS[name](model, api_key="key", base_url=url, retry=retry, **options)
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
    *_, reply = provider.stream(Request(model="m", messages=odd_history()))
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
    ],
    "anthropic": [
        (claude({"type": "text", "text": "\n\n"}, used("t1", "touch", {})), 1),
        (claude(used(7, "weather", {}), {"type": "text", "text": " "}), 1),
        (claude(used("t1", "weather", {"city": "A"}), used("t1", "weather", {"city": "B"})), 2),
        (claude(used("tool_a.1", "weather", [1])), 1),
        (claude(THOUGHT, stop="max_tokens"), 0),
        (claude(THOUGHT, {"type": "text", "text": "\u200b"}), 0),
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
    list(provider.stream(Request(model=model, messages=after_results())))
    [part] = provider.bodies[-1]["contents"][1]["parts"]
    assert ("thoughtSignature" in part) == is_signed


@pytest.mark.parametrize(("model", "is_closed"), [("mistral-large", True), ("Devstral-Small", True), ("gpt-5", False)])
def test_mistral_receives_no_prompt_right_after_a_result(connect, model, is_closed):
    provider = connect("openai", FINE["openai"])
    list(provider.stream(Request(model=model, messages=after_results())))
    roles = [message["role"] for message in provider.bodies[-1]["messages"]]
    assert roles == ["user", "assistant", "tool", *(["assistant"] if is_closed else []), "user"]


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
    }.items(),
    ids=lambda pair: pair[0],
)  # fmt: skip
def test_parallel_calls_are_not_merged_without_ids_or_indexes(connect, pieces):
    provider = connect("openai", calls(*pieces[1], finish="stop"))
    *deltas, reply = provider.stream(Request(model="m", messages=[User(content="Hi")]))
    assert [call.arguments for call in reply.tool_calls] == [{"city": "Oslo"}, {"city": "Rome"}]
    assert len({call.id for call in reply.tool_calls}) == 2
    texts = ["".join(delta.arguments for delta in deltas if getattr(delta, "index", None) == at) for at in (0, 1)]
    assert [json.loads(text) for text in texts] == [{"city": "Oslo"}, {"city": "Rome"}]


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
        "halves of a character": think("\ud83d", "\ude00"),
        "half a character": think("Hello", "\ud83d"),
    }.items(),
    ids=lambda pair: pair[0],
)  # fmt: skip
def test_the_text_of_a_reply_is_found_in_all_its_forms(connect, reply):
    name, events = reply
    *deltas, message = connect("openai", events).stream(Request(model="m", messages=[User(content="Hi")]))
    expected = {"halves of a character": "\U0001f600", "half a character": "Hello\ufffd"}.get(name, "Hello")
    assert message.content == expected
    assert message.stop_reason == "stop"
    if name != "no opening tag":
        assert "".join(delta.content for delta in deltas if isinstance(delta, TextDelta)) == expected


@pytest.mark.parametrize("text", ["1 < 2", "<b>bold</b>", "a <think>tag</think>", "```\n</think>\n```", "<", "<thin"])
def test_text_that_only_resembles_thoughts_is_unchanged(connect, text):
    *_, reply = connect("openai", think(*text)).stream(Request(model="m", messages=[User(content="Hi")]))
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
        ("anthropic", {"type": "message", "content": [used("a", "weather", {"city": "Oslo"})], "stop_reason": None}),
        ("anthropic", [*claude(used("a", "weather", {"city": "Oslo"}))[:-2], {"type": "message_stop"}]),
        ("gemini", gemini({"functionCall": {"name": "weather", "args": {"city": "Oslo"}}})),
    ],
)
def test_a_call_is_found_in_all_forms_of_a_reply(connect, name, reply):
    *_, message = connect(name, reply).stream(Request(model="m", messages=[User(content="Hi")]))
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("weather", {"city": "Oslo"})]
    assert message.stop_reason == "tool"


@pytest.mark.parametrize(
    "events",
    [
        completed(spoken("Hello")),
        [{"type": "response.output_item.done", "output_index": 0, "item": spoken("Hello")}, *completed()],
        [{"type": "response.output_text.delta", "delta": "Hel"}, *completed(spoken("Hello"))],
        completed(spoken("Hello"))[0]["response"],
    ],
)
def test_text_that_only_comes_at_the_end_of_a_response_is_read(connect, events):
    *deltas, reply = connect("openai-responses", events).stream(Request(model="m", messages=[User(content="Hi")]))
    assert reply.content == "".join(delta.content for delta in deltas if isinstance(delta, TextDelta)) == "Hello"


def test_a_byte_order_mark_before_a_reply_is_not_part_of_it(connect):
    page = "\ufeff" + "".join(f"data: {json.dumps(event)}\n\n" for event in say("fine"))
    *_, reply = connect("openai", (200, page)).stream(Request(model="m", messages=[User(content="Hi")]))
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
        *_, reply = connect(name, events).stream(Request(model="m", messages=[User(content="Hi")]))
        assert reply.content == "fine"
        assert (reply.usage.output_tokens == 12) == (number == "12")
        assert min(reply.usage.input_tokens, reply.usage.output_tokens) >= 0


def test_numbers_of_tokens_that_the_sdk_refuses_are_an_error_of_the_provider(connect):
    events = json.loads(json.dumps(FINE["gemini"]))
    events[-1]["usageMetadata"] = {"promptTokenCount": "x"}
    with pytest.raises(ProviderError, match="promptTokenCount"):
        list(connect("gemini", events).stream(Request(model="m", messages=[User(content="Hi")])))


@pytest.mark.parametrize(
    "events", [calls(part(3, "{}", id="a")), say("fine", finish=3), calls(part({"a": 1}, "{}", id="a"))], ids=str
)
def test_a_reply_with_members_of_wrong_types_is_read_or_an_error_of_the_provider(connect, events):
    provider = connect("openai", events)
    try:
        *_, reply = provider.stream(Request(model="m", messages=[User(content="Hi")]))
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
    pieces = []
    for piece in provider.stream(request):
        pieces.append(piece)
        now[0] += 60
    assert len(pieces[-1].content) == 450_000


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
        list(provider.stream(Request(model="m", messages=[User(content="Hi")])))
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
    ],
)
def test_an_error_of_the_server_names_the_fix(connect, body, cause):
    provider = connect("openai", (400, json.dumps(body)), attempts=3)
    with pytest.raises(ProviderError, match=cause) as caught:
        list(provider.stream(Request(model="m", messages=[User(content="Hi")])))
    assert (caught.value.status, len(provider.bodies)) == (400, 1)


def test_a_server_that_does_not_run_is_named_with_its_address():
    provider = OpenAIProvider("m", api_key="k", base_url="http://127.0.0.1:9/v1", retry=Retry(attempts=1))
    with pytest.raises(ProviderError, match=r"cannot connect to 127\.0\.0\.1:9/v1 .*that the server runs"):
        list(provider.stream(Request(model="m", messages=[User(content="Hi")])))


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 128000 tokens",
        "prompt is too long: 578928 tokens > 200000 maximum",
        "The input token count (1200000) exceeds the maximum number of tokens allowed",
        "the request exceeds the available context size, try increasing it",
        "input length and `max_tokens` exceed context limit",
    ],
)
def test_an_error_says_that_the_conversation_is_too_long(connect, text):
    provider = connect("openai", (400, json.dumps({"error": {"message": text}})))
    with pytest.raises(ProviderError) as caught:
        list(provider.stream(Request(model="m", messages=[User(content="Hi")])))
    assert caught.value.is_too_long


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


def test_output_str_asks_for_no_json(connect):
    provider = connect("openai", say("hello"))
    assert Agent(model=provider, output=str).generate("Hi").output == "hello"
    assert "JSON" not in json.dumps(provider.bodies) and "response_format" not in provider.bodies[0]
