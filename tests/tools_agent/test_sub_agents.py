import threading

import pytest

from tools_agent import (
    Agent,
    Assistant,
    Record,
    ScriptedProvider,
    Session,
    SQLiteStore,
    ToolFinished,
    ToolStarted,
    Usage,
    User,
)
from tools_core import Context, DefinitionError, ToolCall, tool


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


def call(id, name, /, **arguments):
    return ToolCall(id, name, arguments)


@pytest.fixture
def removed():
    return []


@pytest.fixture
def delete(removed):
    @tool(requires_approval=True)
    def delete(name: str) -> str:
        """Delete a file."""
        removed.append(name)
        return f"deleted {name}"

    return delete


@pytest.mark.parametrize("is_async", [False, True])
def test_a_sub_agent_reports_its_tokens_and_events_to_the_caller(is_async, arun):
    class Scout(Agent):
        """Looks at places."""

        tools = [look]

        def model(context):
            return ScriptedProvider(
                call("1", "look", at="a"), Assistant(content="It is a.", usage=Usage(input_tokens=5))
            )

    usage = Usage(input_tokens=1)
    provider = ScriptedProvider(Assistant(tool_calls=(call("9", "scout", prompt="Look"),), usage=usage), "Done")
    agent = Agent(model=provider, tools=[Scout.as_tool()])

    async def collect(stream):
        return [event async for event in stream]

    stream = agent.astream("Go") if is_async else agent.stream("Go")
    events = arun(collect(stream)) if is_async else list(stream)
    assert provider.calls[0].tools[0]["description"] == "Looks at places."
    assert next(message for message in agent.session if message.role == "tool").content == "It is a."
    assert stream.response.usage.input_tokens == agent.context["token_usage"].input_tokens == 6
    steps = [
        (type(event), event.call.name, event.agent) for event in events if isinstance(event, ToolStarted | ToolFinished)
    ]
    assert steps == [
        (ToolStarted, "scout", None), (ToolStarted, "look", "scout"), (ToolFinished, "look", "scout"),
        (ToolFinished, "scout", None),
    ]  # fmt: skip


def test_a_sub_agent_shares_the_context_and_is_stopped_with_its_caller():
    started = threading.Event()

    @tool
    def wait(context: Context) -> str:
        """Wait until the call is cancelled."""
        started.set()
        is_cancelled = threading.Event()
        context.on_cancel(is_cancelled.set)
        return f"{context.state['user']} {is_cancelled.wait(20)}"

    child = Agent(model=ScriptedProvider(call("1", "wait"), "never"), tools=[wait], name="child")
    provider = ScriptedProvider(call("7", "child", prompt="x"), "Done")
    agent = Agent(context={"user": "Ann"}, model=provider, tools=[child.as_tool()])
    threading.Thread(target=lambda: started.wait(20) and agent.interrupt("stop"), daemon=True).start()
    with agent.stream("Go") as stream:
        events = list(stream)
    assert stream.response.interrupt_reason == "stop"
    waited = next(event for event in events if isinstance(event, ToolFinished) and event.agent == "child")
    assert waited.result.content == "Ann True" or waited.result.error_type == "cancelled"
    assert next(message for message in agent.session if message.role == "tool").error_type == "cancelled"
    assert agent.generate().content == "Done"


def test_agents_call_each_other_to_a_limited_depth():
    class Endless(Agent):
        max_depth = 2

        def model(context):
            return ScriptedProvider(call("1", "endless", prompt="deeper"), lambda request: request.messages[-1].content)

        def tools(context):
            return [Endless.as_tool()]

    assert "2 deep" in Endless.generate("Go").content


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_sub_agent_that_waits_for_approval_makes_its_caller_wait(is_stored, tmp_path, delete, removed):
    provider = ScriptedProvider(call("1", "delete", name="a"), "Deleted it.")
    worker = Agent(model=provider, tools=[delete], name="worker")
    with SQLiteStore(tmp_path / "agent.db") as store:
        place = {"session": "chat", "store": store} if is_stored else {}
        agent = Agent(
            **place, model=ScriptedProvider(call("7", "worker", prompt="Delete a"), "Done"), tools=[worker.as_tool()]
        )
        pending = agent.generate("Go").pending
        assert (pending[0]["tool"], pending[0]["arguments"], pending[0]["agent"]) == ("delete", {"name": "a"}, "worker")
        assert agent.generate().pending == pending
        assert removed == []
        agent.session.approve(pending[0]["call_id"])
        assert agent.generate().content == "Done"
        assert removed == ["a"]
        assert next(message for message in agent.session if message.role == "tool").content == "Deleted it."
        if is_stored:
            (inner,) = store.sessions(parent="chat")
            assert len(Session.open(store, inner.id)) == 4


@pytest.mark.parametrize("had_ended", [False, True])
def test_a_killed_sub_agent_continues(had_ended, tmp_path):
    with SQLiteStore(tmp_path / "agent.db") as store:
        chat = Session(
            id="chat",
            store=store,
            messages=[User(content="Go"), Assistant(tool_calls=(call("7", "worker", prompt="x"),))],
        )
        started = {"call_id": "7", "name": "worker", "attempt": 1, "key": "k"}
        store.append("chat", [Record("tool_started", started)], after=2)
        done = [Assistant(content="It is a.")] if had_ended else []
        Session(store=store, messages=[User(content="x"), *done], parent=chat, call="7/k")
        provider = ScriptedProvider("It is a.")
        worker = Agent(model=provider, name="worker")
        agent = Agent("chat", model=ScriptedProvider("Done"), tools=[worker.as_tool()], store=store)
        assert agent.generate().content == "Done"
        assert agent.session.messages[2].content == "It is a."
        assert len(provider.calls) == (0 if had_ended else 1)


def test_a_sub_agent_that_stops_early_is_an_error_with_the_reason():
    worker = Agent(model=ScriptedProvider(call("1", "look", at="a")), tools=[look], name="worker", max_steps=1)
    agent = Agent(model=ScriptedProvider(call("7", "worker", prompt="x"), "Done"), tools=[worker.as_tool()])
    agent.generate("Go")
    result = next(message for message in agent.session if message.role == "tool")
    assert result.error_type == "limit_exceeded"
    assert "max_steps" in result.content


def test_a_new_session_never_continues_the_sub_agent_of_a_deleted_one(tmp_path):
    with SQLiteStore(tmp_path / "agent.db") as store:
        for secret in ("of Ann", "of Bob"):
            worker = Agent(model=ScriptedProvider(f"The mail {secret}."), name="worker")
            provider = ScriptedProvider(call("7", "worker", prompt="Read"), "Done")
            agent = Agent("chat", model=provider, tools=[worker.as_tool()], store=store)
            agent.generate("Go")
            assert agent.session[2].content == f"The mail {secret}."
            store.delete("chat")


@pytest.mark.parametrize("last", ["user", "assistant"])
def test_a_sub_agent_runs_again_after_a_rollback(last, tmp_path):
    def reply(request):
        return call("7", "worker", prompt="x") if request.messages[-1].role == "user" else "Done"

    with SQLiteStore(tmp_path / "agent.db") as store:
        worker = Agent(model=ScriptedProvider("old", "new"), name="worker")
        agent = Agent("chat", model=ScriptedProvider(default=reply), tools=[worker.as_tool()], store=store)
        agent.generate("Go")
        messages = [record for record in agent.session.history if record.kind == "message"]
        agent.session.rollback(next(record.seq for record in messages if record.data["message"]["role"] == last))
        agent.generate()
        assert agent.session[2].content == "new"


@pytest.mark.parametrize("tools", [(), (look,), [look]], ids=["none", "tuple", "list"])
def test_an_agent_among_the_tools_is_refused_with_the_fix(tools):
    class Scout(Agent):
        """Looks at places."""

        model = ScriptedProvider("It is a.")

    Scout.tools = tools
    for agent in (Scout, Scout()):
        with pytest.raises(DefinitionError, match=r"is not a tool; pass the tool that its `as_tool\(\)` returns"):
            Agent(model=ScriptedProvider("Done"), tools=[agent])
