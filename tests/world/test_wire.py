"""Model servers as they are: what one model has sent never makes a session that another one refuses."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from tools_agent import (
    Agent,
    AnthropicProvider,
    Assistant,
    GeminiProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    Request,
    Retry,
    System,
    ToolResult,
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
    """One piece of a call; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"type": "function", "function": function, **more}


def calls(*pieces, finish="tool_calls"):
    """A reply with calls, each piece in a chunk of its own."""
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


# What goes out


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
    """A conversation that other models, and an interrupted program, have left behind."""
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


def test_gemini_receives_data_with_references_as_text():
    call = ToolCall("1", "schema", {})
    [content] = FORMATS["gemini"].results([(call, Result.ok({"items": [{"$ref": "#/x"}]}))])
    assert content["parts"][0]["functionResponse"]["response"] == {"output": '{"items":[{"$ref":"#/x"}]}'}
