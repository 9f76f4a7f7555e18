"""Deferred tools: the model finds their definitions with `search_tools`."""

from __future__ import annotations

import itertools
import json

import pytest

from tools_agent import Agent, ScriptedProvider, Session, SQLiteStore, Window
from tools_core import Registry, ToolCall, UnknownToolError, tool


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


def many(number, module="shop"):
    def make(index):
        @tool(name=f"{module}_{index}", description=f"Work on the {module} number {index}. " + "More text. " * 20)
        def worker(value: str) -> str:
            return value

        worker.__module__ = module
        return worker

    return [make(index) for index in range(number)]


def search(words, limit=10):
    return ToolCall(None, "search_tools", {"query": words, "limit": limit})


def listed(request):
    return [definition["name"] for definition in request.tools]


def run(*replies, prompt="Go", **options):
    provider = ScriptedProvider(*replies)
    agent = Agent(model=provider, **options)
    return agent.generate(prompt), provider.calls


def test_the_model_finds_and_calls_a_deferred_tool():
    response, requests = run(
        search("weather"),
        ToolCall(None, "get_forecast", {"city": "Oslo"}),
        "Sunny.",
        tools=[clock, get_forecast, send_mail],
    )
    assert listed(requests[0]) == ["clock", "search_tools", "read_output"]
    assert listed(requests[1]) == listed(requests[2]) == ["clock", "search_tools", "read_output", "get_forecast"]
    assert [message.content for message in response.messages if message.role == "tool"] == [
        "get_forecast: Return the weather of the next days.",
        "Oslo: sunny",
    ]


def test_definitions_are_added_at_the_end_in_the_order_of_discovery():
    _, requests = run(search("mail"), search("weather"), "Done.", tools=[get_forecast, send_mail, clock])
    for earlier, later in itertools.pairwise(requests):
        assert later.tools[: len(earlier.tools)] == earlier.tools
        assert later.messages[: len(earlier.messages)] == earlier.messages
    assert listed(requests[-1])[-2:] == ["send_mail", "get_forecast"]


def test_an_agent_without_deferred_tools_has_no_search():
    _, requests = run("Hello.", tools=[clock])
    assert listed(requests[0]) == ["clock"]


def test_another_process_continues_with_the_tools_that_were_found(tmp_path):
    path = tmp_path / "sessions.db"
    provider = ScriptedProvider(search("weather"), "Found it.")
    Agent("weather", model=provider, tools=[get_forecast], store=SQLiteStore(path)).generate("Go")
    provider = ScriptedProvider("Still here.")
    Agent("weather", model=provider, tools=[get_forecast], store=SQLiteStore(path)).generate("Go on")
    assert listed(provider.calls[0])[-1] == "get_forecast"


def test_tools_that_were_found_stay_after_the_window_hides_the_search():
    session = Session()
    provider = ScriptedProvider(search("weather"), "word " * 400, default="word " * 400)
    agent = Agent(session, model=provider, tools=[get_forecast], window=Window(1000))
    for _ in range(6):
        agent.generate("Go on")
    assert not any(message.role == "tool" for message in provider.calls[-1].messages)
    assert listed(provider.calls[-1])[-1] == "get_forecast"


def test_a_pattern_defers_the_tools_that_it_selects():
    tools = [clock, *many(3)]
    _, requests = run("Hello.", tools=tools, deferred="shop_*")
    assert listed(requests[0]) == ["clock", "search_tools", "read_output"]
    _, requests = run("Hello.", tools=tools, deferred=["shop_1", "mcp:*"])
    assert listed(requests[0])[:3] == ["clock", "shop_0", "shop_2"]


@pytest.mark.parametrize("deferred", [None, "shop_*", "mcp:*", "mcp:web:search, shop_0"])
def test_tools_whose_names_have_a_package_are_called_by_them(deferred):
    """Two packages have a tool `search`; each is known by its full name, and neither replaces the other."""
    tools = {"mcp:web:search": many(1)[0], "tools-web:search": clock, "shop_0": many(1)[0]}
    _, requests = run("Hello.", tools=tools, deferred=deferred)
    rest = {"mcp:web:search", "tools-web:search", "shop_0"} - {
        None: set(),
        "shop_*": {"shop_0"},
        "mcp:*": {"mcp:web:search"},
    }.get(deferred, {"mcp:web:search", "shop_0"})
    assert rest == set(listed(requests[0])) - {"search_tools", "read_output"}


def test_an_unknown_name_among_the_patterns_is_an_error():
    with pytest.raises(UnknownToolError, match="shop_9"):
        Agent(model=ScriptedProvider(), tools=many(3), deferred="shop_9")


def test_the_largest_packages_are_deferred_above_the_budget():
    tools = [clock, *many(40), *many(5, "office")]
    _, requests = run("Hello.", tools=tools, definition_budget=1000)
    assert listed(requests[0]) == ["clock", *(f"office_{index}" for index in range(5)), "search_tools", "read_output"]
    _, requests = run("Hello.", tools=tools, definition_budget=100_000)
    assert "search_tools" not in listed(requests[0])


def test_by_default_a_tenth_of_an_unknown_window_is_the_budget():
    _, requests = run("Hello.", tools=[clock, *many(150)])
    assert len(listed(requests[0])) == 151
    _, requests = run("Hello.", tools=[clock, *many(300)])
    assert listed(requests[0]) == ["clock", "search_tools", "read_output"]


def test_the_catalogue_names_packages_with_their_purpose():
    registry = Registry()
    registry.discover()
    _, requests = run("Hello.", tools=registry.subset(only=["tools-filesystem", "tools-shell"]), deferred="*")
    [catalogue] = [item["description"] for item in requests[0].tools if item["name"] == "search_tools"]
    assert "- tools-filesystem (" in catalogue
    assert "- tools-shell (" in catalogue


def test_a_query_without_a_match_suggests_other_words():
    response, _ = run(search("zebra"), "Nothing.", tools=[get_forecast])
    assert next(m.content for m in response.messages if m.role == "tool") == "No tool matches. Search with other words."


def test_a_search_returns_at_most_the_requested_number():
    _response, requests = run(search("shop", 2), "Done.", tools=many(30), deferred="*")
    assert len(listed(requests[1])) - len(listed(requests[0])) == 2


def test_a_thousand_deferred_tools_cost_a_twentieth_of_the_tokens():
    _, requests = run(search("shop number 17"), "Done.", tools=many(1000))
    everything = len(json.dumps([item.definition for item in many(1000)]))
    assert len(json.dumps([*requests[1].tools])) < everything / 20
