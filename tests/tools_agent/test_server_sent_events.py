import asyncio
import json

import pytest

from tools_agent import Agent, ProviderError, ScriptedProvider, server_sent_events
from tools_core import ToolCall, tool


@tool(read_only=True)
def look(at: str = "") -> str:
    """Look."""
    return "two\nlines \ud83d"


def collected(agent, limit=None):
    events = []

    async def collect():
        stream = server_sent_events(agent.astream("Hi"))
        try:
            async for text in stream:
                name, data, *rest = text.split("\n")
                assert rest == ["", ""]
                text.encode()
                events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
                if len(events) == limit:
                    break
        finally:
            await stream.aclose()

    try:
        asyncio.run(collect())
    except ProviderError as error:
        events.append(error)
    return events


def test_every_event_is_one_line_of_json():
    agent = Agent(model=ScriptedProvider(["I look.\n", ToolCall("1", "look", {"at": "x"})], "Done"), tools=[look])
    events = collected(agent)
    names = [name for name, _ in events]
    assert {"text_delta", "tool_call_delta", "tool_call_done", "tool_started", "tool_finished", "usage_update"} < {
        *names
    }
    [result] = [data for name, data in events if name == "tool_finished"]
    assert (result["name"], result["result"], result["error_type"]) == ("look", "two\nlines \ufffd", None)
    assert events[-1] == ("end", {"outcome": "completed", "content": "Done", "pending": []})


def test_an_exception_ends_the_events_without_its_message():
    *_, last, raised = collected(Agent(model=ScriptedProvider(ProviderError("the key sk-1 is wrong"))))
    assert last == ("error", {"type": "ProviderError"})
    assert "sk-1" in str(raised)


@pytest.mark.parametrize("limit", [1, 2])
def test_a_client_that_leaves_ends_the_run(limit):
    agent = Agent(model=ScriptedProvider("a b c", "d"))
    assert len(collected(agent, limit)) == limit
    assert agent.generate("again").content == "d"
