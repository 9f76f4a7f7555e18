"""Several model servers together: fallbacks, forced calls, and tests that must not reach a real one."""

from __future__ import annotations

import asyncio
import json

import pytest

from tools_agent import (
    Agent,
    AnthropicProvider,
    Assistant,
    FallbackProvider,
    GeminiProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    ProviderError,
    Request,
    Retry,
    Retrying,
    ScriptedProvider,
    TextDelta,
    User,
    Window,
    forbid_requests,
    open_store,
)
from tools_core import ToolCall, tool


@tool(read_only=True)
def weather(city: str = "") -> str:
    """Report the weather."""
    return "sunny"


PROVIDERS = {
    "openai": OpenAIProvider,
    "openai-responses": OpenAIResponsesProvider,
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
}


def chunk(delta, finish=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def collected(provider, request):
    async def collect():
        return [piece async for piece in provider.astream(request)]

    return asyncio.run(collect())


REQUEST = Request(model="", messages=[User(content="Hi")])


def test_the_next_model_answers_if_one_fails_before_or_in_its_reply():
    cut = ScriptedProvider(["Hel", ProviderError("the connection was cut")])
    provider = FallbackProvider(ScriptedProvider(ProviderError("overloaded")), cut, ScriptedProvider("Hello"))
    pieces = collected(provider, REQUEST)
    last = max(index for index, piece in enumerate(pieces) if isinstance(piece, Retrying))
    assert [piece.reason for piece in pieces if isinstance(piece, Retrying)] == ["overloaded", "the connection was cut"]
    text = "".join(piece.content for piece in pieces[last:] if isinstance(piece, TextDelta))
    assert text == pieces[-1].content == "Hello"


def test_the_error_of_a_fallback_has_the_reasons_of_all_models():
    failing = [ScriptedProvider(ProviderError(reason)) for reason in ("overloaded", "no credit")]
    with pytest.raises(ProviderError, match="no model answered: overloaded; no credit"):
        Agent(model=FallbackProvider(*failing)).generate("Hi")


def test_a_fallback_can_leave_out_errors():
    second = ScriptedProvider("Hello")
    provider = FallbackProvider(
        ScriptedProvider(ProviderError("bad key", status=401)), second, when=lambda error: error.status != 401
    )
    with pytest.raises(ProviderError, match="bad key"):
        Agent(model=provider).generate("Hi")
    assert second.calls == []


class Counting:
    """A model that fails with an error, or replies, and counts its requests."""

    def __init__(self, error=None):
        self.error, self.count = error, 0
        self.provider = ScriptedProvider(default=self._reply)

    def _reply(self, request):
        self.count += 1
        return self.error or "Hello"


@pytest.mark.parametrize(
    ("error", "count"),
    [
        (ProviderError("overloaded", retryable=True), 1),
        (ProviderError("bad key", status=401), 1),
        (ProviderError("no credit", status=402), 1),
        (ProviderError("no such model", status=404), 1),
        (ProviderError("quota", status=429), 1),
        (ProviderError("bad request", status=400), 3),
        (ProviderError("too long", status=413, is_too_long=True), 3),
    ],
    ids=str,
)
def test_an_unreachable_model_is_tried_last_for_a_while(error, count):
    first, second = Counting(error), Counting()
    agent = Agent(model=FallbackProvider(first.provider, second.provider))
    for _ in range(3):
        assert agent.generate("Hi").content == "Hello"
    assert (first.count, second.count) == (count, 3)


def test_a_model_is_asked_again_in_its_turn_after_its_pause(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    first, second = Counting(ProviderError("busy", retryable=True, retry_after=100)), Counting()
    agent = Agent(model=FallbackProvider(first.provider, second.provider, cooldown=5))
    attempts = []
    for now[0] in (0, 6, 99, 101):
        agent.generate("Hi")
        attempts.append(first.count)
    assert attempts == [1, 1, 1, 2]  # the server asked for 100 seconds
    first.error = None
    now[0] = 300
    assert agent.generate("Hi").content == "Hello"
    assert (first.count, second.count) == (3, 4)


def test_a_model_in_its_pause_is_asked_if_all_others_fail():
    first, second = Counting(ProviderError("busy", retryable=True)), Counting()
    agent = Agent(model=FallbackProvider(first.provider, second.provider))
    agent.generate("Hi")
    first.error, second.error = None, ProviderError("down", retryable=True)
    assert agent.generate("Hi").content == "Hello"
    assert (first.count, second.count) == (2, 2)


def test_a_session_moves_between_the_models_of_a_fallback(model_server):
    """The first model calls a tool and then fails, so that the second continues with the result."""

    def openai(path, body):
        if body["messages"][-1]["role"] == "tool":
            return (500, json.dumps({"error": {"message": "down"}}))
        call = {"index": 0, "id": "functions.weather:0", "function": {"name": "weather", "arguments": "{}"}}
        return [chunk({"reasoning_content": "hm", "tool_calls": [call]}), chunk({}, "tool_calls")]

    def anthropic(path, body):
        bodies.append(body)
        return {"type": "message", "content": [{"type": "text", "text": "It is sunny."}], "stop_reason": "end_turn"}

    bodies = []
    retry = Retry(attempts=1)
    first = OpenAIProvider("kimi", base_url=f"{model_server(openai).url}/v1", api_key="k", retry=retry)
    second = AnthropicProvider("claude", base_url=model_server(anthropic).url, api_key="k", retry=retry)
    agent = Agent("s", store=open_store(":memory:"), model=FallbackProvider(first, second), tools=[weather])
    response = agent.generate("Go")
    assert response.content == "It is sunny."
    assert [reply.model for reply in agent.session if isinstance(reply, Assistant)] == ["kimi", "claude"]
    used, answered = bodies[0]["messages"][1]["content"][0]["id"], bodies[0]["messages"][2]["content"][0]["tool_use_id"]
    assert used == answered != "functions.weather:0"


def test_a_window_fits_the_smallest_model_of_a_fallback():
    pytest.importorskip("genai_prices", reason="genai-prices is not installed")

    class Named(ScriptedProvider):
        name = "openai"

        def __init__(self, model):
            super().__init__(default="ok")
            self.model = model

    large, small = Named("gpt-4.1"), Named("gpt-4o")
    agent = Agent(model=FallbackProvider(large, small), window=Window())
    agent.generate("word " * 90_000)  # about 112,000 tokens of 128,000
    assert "characters are left out" in large.calls[0].messages[-1].content


CHOICES = {
    "openai": {"tool": {"type": "function", "function": {"name": "weather"}}},
    "openai-responses": {"tool": {"type": "function", "name": "weather"}},
    "anthropic": {
        "tool": {"type": "tool", "name": "weather"},
        "required": {"type": "any"},
        "none": {"type": "none"},
    },
    "gemini": {
        "tool": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
        "required": {"functionCallingConfig": {"mode": "ANY"}},
        "none": {"functionCallingConfig": {"mode": "NONE"}},
    },
}


@pytest.fixture
def connect(model_server):
    """`connect("openai")` is a provider whose server fails, and the list of the requests that it gets."""

    def connect(name):
        bodies = []

        def answer(path, body):
            bodies.append(body)
            return (400, json.dumps({"error": {"message": "no"}}))

        url = model_server(answer).url + ("/v1" if name.startswith("openai") else "")
        return PROVIDERS[name]("m", base_url=url, api_key="k", retry=Retry(attempts=1)), bodies

    return connect


def sent_choice(name, connect, choice, tools=(weather,)):
    provider, bodies = connect(name)
    with pytest.raises(ProviderError):
        Agent(model=provider, tools=tools, settings={"tool_choice": choice}).generate("Hi")
    return bodies[0].get("toolConfig" if name == "gemini" else "tool_choice") if bodies else None


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_choice_of_a_tool_is_translated_for_each_api(name, connect):
    for mode in ("none", "required", "weather"):
        expected = CHOICES[name].get("tool" if mode == "weather" else mode, mode)
        assert sent_choice(name, connect, mode) == expected
    assert sent_choice(name, connect, "required", tools=()) is None
    assert sent_choice(name, connect, "wether") is None


def test_a_wrong_choice_names_the_tools(connect):
    provider, bodies = connect("openai")
    with pytest.raises(ProviderError, match=r"the name of a tool \(weather\), got 'wether'"):
        Agent(model=provider, tools=[weather], settings={"tool_choice": "wether"}, output_budget=None).generate("Hi")
    assert bodies == []


def test_a_required_call_is_required_until_a_call_has_run():
    model = ScriptedProvider(ToolCall("1", "weather", {}), "Sunny", ToolCall("2", "weather", {}), "Sunny")
    agent = Agent(model=model, tools=[weather], settings={"tool_choice": "required", "seed": 1})
    for _ in range(2):
        agent.generate("Go")
    assert [dict(request.settings) for request in model.calls] == [
        {"tool_choice": "required", "seed": 1},
        {"seed": 1},
    ] * 2


def test_forbidden_requests_raise_and_scripts_still_answer(connect):
    provider, bodies = connect("openai")
    with forbid_requests():
        with pytest.raises(ProviderError, match=r"forbid_requests\(\) forbids requests to 127\.0\.0\.1"):
            Agent(model=provider).generate("Hi")
        assert Agent(model=ScriptedProvider("ok")).generate("Hi").content == "ok"
    with forbid_requests("127.0.0.1"), pytest.raises(ProviderError, match="400 no"):
        Agent(model=provider).generate("Hi")
    assert len(bodies) == 1
