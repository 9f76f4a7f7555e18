"""Deferred definitions on the wire: the start of each request stays the same, and APIs load what a search has found."""

from __future__ import annotations

import itertools
import json

import pytest

from tools_agent import Agent, Session, SQLiteStore
from tools_core import tool


@tool(deferred=True)
def get_forecast(city: str) -> str:
    """Return the weather of the next days."""
    return f"{city}: sunny"


@tool(deferred=True)
def send_mail(recipient: str) -> str:
    """Send a message to a person."""
    return f"sent to {recipient}"


@tool
def clock() -> str:
    """Return the time."""
    return "noon"


TOOLS = [clock, get_forecast, send_mail]


def numbered(number):
    """Return a deferred tool that no search finds."""

    @tool(name=f"ledger_{number}", deferred=True)
    def ledger(account: str) -> str:
        """Add an entry to the books of an account."""
        return account

    return ledger


SEARCH = {"calls": [("call_1", "search_tools", '{"query": "weather"}')]}
CALL = {"calls": [("call_2", "get_forecast", '{"city": "Oslo"}')]}
DONE = {"texts": ["Sunny."]}


def search_item(index, arguments):
    """Return the events of OpenAI for a search that the client runs."""
    item = {"type": "tool_search_call", "id": "ts_1", "call_id": "call_1", "execution": "client"}
    yield {
        "type": "response.output_item.added",
        "output_index": index,
        "item": item | {"arguments": {}, "status": "in_progress"},
    }
    yield {
        "type": "response.output_item.done",
        "output_index": index,
        "item": item | {"arguments": arguments, "status": "completed"},
    }


def search_events():
    response = {"id": "r", "object": "response", "model": "m", "created_at": 0, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    yield from search_item(0, {"query": "weather"})
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.completed", "response": response | {"status": "completed", "usage": usage}}


def call_events(namespace):
    response = {"id": "r", "object": "response", "model": "m", "created_at": 0, "status": "in_progress", "output": []}
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_2", "name": "get_forecast", "namespace": namespace}
    yield {"type": "response.created", "response": response}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item | {"arguments": ""}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item | {"arguments": '{"city": "Oslo"}'}}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.completed", "response": response | {"status": "completed", "usage": usage}}


def without_marks(value):
    """Return a request without the marks of Anthropic's cache, which move to the end."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def is_prefix(earlier, later):
    return json.dumps(later[: len(earlier)]) == json.dumps(earlier)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
def test_each_request_continues_the_bytes_of_the_one_before(connect, name):
    api = connect(name, SEARCH, CALL, DONE)
    thousand = [*TOOLS, *map(numbered, range(1000))]
    response = Agent(model=api.provider, tools=thousand).generate("Weather in Oslo?")
    assert response.content == "Sunny."
    first, *_, last = bodies = [without_marks(body) for body in api.server.bodies]
    conversation = "input" if name == "openai-responses" else "messages"
    for earlier, later in itertools.pairwise(bodies):
        assert is_prefix(earlier["tools"], later["tools"])
        assert is_prefix(earlier[conversation], later[conversation])
    assert len(last["tools"]) == len(first["tools"]) + 1


def test_anthropic_loads_the_definitions_that_a_search_refers_to(connect):
    api = connect("anthropic", SEARCH, CALL, DONE, loads_definitions=True)
    response = Agent(model=api.provider, tools=TOOLS).generate("Weather in Oslo?")
    assert response.content == "Sunny."
    first, second, third = api.server.bodies
    assert json.dumps(first["tools"]) == json.dumps(second["tools"]) == json.dumps(third["tools"])
    assert {item["name"]: item.get("defer_loading", False) for item in first["tools"]} == {
        "clock": False, "search_tools": False, "read_output": False, "get_forecast": True, "send_mail": True,
    }  # fmt: skip
    assert [item["name"] for item in first["tools"] if "cache_control" in item] == ["read_output"]
    [result] = second["messages"][-1]["content"]
    assert result["content"] == [{"type": "tool_reference", "tool_name": "get_forecast"}]
    assert is_prefix(*(without_marks(body["messages"]) for body in (second, third)))


def test_anthropic_reads_the_text_of_a_search_without_matches(connect):
    api = connect(
        "anthropic", {"calls": [("call_1", "search_tools", '{"query": "zebra"}')]}, DONE, loads_definitions=True
    )
    Agent(model=api.provider, tools=TOOLS).generate("Zebra?")
    [result] = api.body["messages"][-1]["content"]
    assert "No tool matches" in str(result["content"])


def test_openai_receives_the_definitions_in_the_output_of_its_search(connect):
    answers = [{"events": tuple(search_events())}, {"events": tuple(call_events("get_forecast"))}, DONE]
    api = connect("openai-responses", *answers, loads_definitions=True)
    response = Agent(model=api.provider, tools=TOOLS).generate("Weather in Oslo?")
    assert response.content == "Sunny."
    first, second, third = api.server.bodies
    assert json.dumps(first["tools"]) == json.dumps(second["tools"]) == json.dumps(third["tools"])
    assert [item.get("name", item["type"]) for item in first["tools"]] == ["clock", "tool_search", "read_output"]
    assert first["tools"][1]["execution"] == "client"
    call, output = second["input"][-2:]
    assert (call["type"], call["call_id"], call["arguments"]) == ("tool_search_call", "call_1", {"query": "weather"})
    assert (output["type"], output["call_id"]) == ("tool_search_output", "call_1")
    assert [(item["name"], item["defer_loading"]) for item in output["tools"]] == [("get_forecast", True)]
    assert third["input"][-2]["namespace"] == "get_forecast"
    assert is_prefix(second["input"], third["input"])


def test_a_session_moves_between_providers_that_load_definitions_and_others(connect, tmp_path):
    store = SQLiteStore(tmp_path / "sessions.db")
    api = connect("anthropic", SEARCH, DONE, loads_definitions=True)
    first = Agent("s", model=api.provider, tools=TOOLS, store=store).generate("Weather?")
    api = connect("openai", CALL, DONE)
    Agent("s", model=api.provider, tools=TOOLS, store=store).generate("And now?")
    assert [item["function"]["name"] for item in api.body["tools"]][-1] == "get_forecast"
    api = connect("openai-responses", DONE, loads_definitions=True)
    Agent("s", model=api.provider, tools=TOOLS, store=store).generate("And now?")
    assert [item["type"] for item in api.body["input"] if "search" in item.get("type", "")] == [
        "tool_search_call", "tool_search_output",
    ]  # fmt: skip
    records = {record.kind for record in Session.open(store, "s").log.records}
    assert records == {"run_started", "message", "tool_started", "tool_finished", "run_finished"}
    assert [call.name for message in first.messages for call in getattr(message, "tool_calls", ())] == ["search_tools"]


@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [
        ("anthropic", "claude-opus-5-1", True),
        ("anthropic", "claude-haiku-4-5", True),
        ("anthropic", "claude-3-7-sonnet", False),
        ("openai-responses", "gpt-5.4", True),
        ("openai-responses", "gpt-6", True),
        ("openai-responses", "gpt-5.1", False),
        ("openai", "gpt-6", False),
    ],
)
def test_only_recent_models_of_the_official_servers_load_definitions(connect, name, model, expected):
    official = {"anthropic": "https://api.anthropic.com"}.get(name, "https://api.openai.com/v1")
    assert connect(name, base_url=official).provider.loads_definitions(model) is expected
    assert connect(name).provider.loads_definitions(model) is False
