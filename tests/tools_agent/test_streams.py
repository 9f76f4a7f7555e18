"""Streams end when their consumer stops, and an interrupt does not wait for a silent model."""

import asyncio
import threading

import pytest

from tools_agent import Agent, ScriptedProvider, SQLiteStore, TextDelta, ToolFinished, ToolStarted
from tools_core import Context, ToolCall, tool


def place(tmp_path, is_stored):
    return {"session": "chat", "store": SQLiteStore(tmp_path / "a.db")} if is_stored else {}


@pytest.mark.parametrize("is_stored", [False, True])
def test_leaving_the_loop_over_an_asynchronous_stream_frees_the_session(is_stored, tmp_path, arun):
    async def main():
        agent = Agent(**place(tmp_path, is_stored), model=ScriptedProvider("one two three", "ok", "fine"))
        stream = agent.astream("Go")
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        assert (await agent.agenerate("Again")).content == "ok"
        async for event in agent.astream("Once more"):
            assert isinstance(event, TextDelta)
            break
        return agent

    agent = arun(main())
    outcomes = [record.data["outcome"] for record in agent.session.history if record.kind == "run_finished"]
    assert outcomes == ["interrupted", "completed", "interrupted"]


@pytest.mark.parametrize("is_stored", [False, True])
def test_leaving_the_loop_over_a_stream_frees_the_session(is_stored, tmp_path):
    agent = Agent(**place(tmp_path, is_stored), model=ScriptedProvider("one two three", "ok"))
    stream = agent.stream("Go")
    for _ in stream:
        break
    assert agent.generate("Again").content == "ok"


@pytest.mark.parametrize("end", ["aclose", "cancel", "exception"])
def test_a_consumer_that_ends_frees_the_session(end, arun):
    async def main():
        agent = Agent(model=ScriptedProvider("one two three", "ok"))
        is_here = asyncio.Event()

        async def consume():
            stream = agent.astream("Go")
            async for _ in stream:
                is_here.set()
                if end == "aclose":
                    await stream.aclose()
                elif end == "cancel":
                    await asyncio.sleep(60)
                else:
                    raise ConnectionError

        task = asyncio.create_task(consume())
        await is_here.wait()
        if end == "cancel":
            task.cancel()
        await asyncio.wait({task})
        assert task.cancelled() == (end == "cancel")
        assert (await agent.agenerate("Again")).content == "ok"

    arun(main())


def silent(started):
    """A provider whose first reply never comes."""

    class Silent(ScriptedProvider):
        async def astream(self, request):
            if not self.calls:
                self.calls.append(request)
                started.set()
                await asyncio.sleep(20)
            async for piece in super().astream(request):
                yield piece

    return Silent("late")


@pytest.mark.parametrize("is_async", [False, True])
def test_an_interrupt_does_not_wait_for_a_silent_model(is_async, arun):
    started = threading.Event()
    agent = Agent(model=silent(started))
    thread = threading.Thread(target=lambda: started.wait(20) and agent.interrupt("enough"))
    thread.start()
    response = arun(agent.agenerate("Go"), limit=10) if is_async else agent.generate("Go")
    thread.join()
    assert response.interrupt_reason == "enough"
    assert agent.generate().content == "late"


def test_a_stream_reports_a_tool_when_it_starts():
    may_end = threading.Event()

    @tool
    def wait(context: Context) -> str:
        """Wait for the consumer of the stream."""
        return f"ended {may_end.wait(20)}"

    events = []
    for event in Agent(model=ScriptedProvider(ToolCall("1", "wait"), "Done"), tools=[wait]).stream("Go"):
        events.append(event)
        if isinstance(event, ToolStarted):
            may_end.set()
    started, finished = (event for event in events if isinstance(event, ToolStarted | ToolFinished))
    assert (started.id, started.name, started.arguments) == ("1", "wait", {})
    assert finished.result.content == "ended True"
