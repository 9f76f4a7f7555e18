"""Several sessions, stores and agents at once: what one user does, no other one sees."""

import asyncio
import threading

import pytest

from tools_agent import Agent, ScriptedProvider, Session, SessionConflictError, SQLiteStore
from tools_core import Context, Result, ToolCall, tool
from tools_runtime import Policy
from tools_runtime.plugins import Cache


def call(id, name, /, **arguments):
    return ToolCall(id, name, arguments)


def contents(session):
    return [message.content for message in session if message.role == "tool"]


def test_sessions_with_equal_names_in_two_stores_are_separate(tmp_path):
    requests, cache = [], Cache()

    @tool(read_only=True)
    def mail(context: Context) -> str:
        """Read the mail of the user."""
        return f"mail of {context.state['user']}"

    @tool(requires_approval=True)
    def delete(context: Context) -> str:
        """Delete the mail of the user."""
        return f"deleted by {context.state['user']}"

    def approve(request):
        requests.append(request.context.state["user"])
        return "run"

    worker = Agent(model=ScriptedProvider(default="found it"), name="worker")
    agents = {}
    for user in ("ann", "bob"):
        script = ScriptedProvider([call("1", "mail"), call("2", "delete"), call("3", "worker", prompt=user)], "Done")
        store = SQLiteStore(tmp_path / f"{user}.db")
        tools = [mail, delete, worker.as_tool()]
        agents[user] = Agent(
            "chat", {"user": user}, model=script, tools=tools, store=store, hooks=[cache], approve=approve
        )
        agents[user].generate("Go")
    assert requests == ["ann", "bob"]
    assert contents(agents["bob"].session) == ["mail of bob", "deleted by bob", "found it"]
    for user, agent in agents.items():
        with agent.store as store:
            (id,) = (info.id for info in store.sessions(parent="chat"))
            assert Session.open(store, id).messages[0].content == user


def test_an_approval_for_the_run_holds_when_the_session_is_opened_again(tmp_path):
    requests = []

    @tool(requires_approval=True)
    def delete() -> str:
        """Delete."""
        return "deleted"

    def approve(request):
        requests.append(request.tool.name)
        return "run"

    for number in "12":
        with SQLiteStore(tmp_path / "a.db") as store:
            model = ScriptedProvider(call(number, "delete"), "Done")
            Agent("chat", model=model, tools=[delete], store=store, approve=approve).generate("Go")
    assert requests == ["delete"]


def test_one_agent_runs_several_sessions_at_once(arun):
    both = asyncio.Barrier(2)

    @tool
    async def meet(context: Context) -> str:
        """Wait until both sessions are here."""
        await both.wait()
        return context.run_id

    async def main():
        reply = lambda request: call("1", "meet") if request.messages[-1].role == "user" else "Done"  # noqa: E731
        agent = Agent(model=ScriptedProvider(default=reply), tools=[meet])
        sessions = [Session(), Session()]
        await asyncio.gather(*[agent.agenerate("Go", session=session) for session in sessions])
        assert [contents(session) for session in sessions] == [[session.key] for session in sessions]

    arun(main())


def test_an_agent_with_a_store_finds_sessions_by_name(tmp_path):
    with SQLiteStore(tmp_path / "a.db") as store:
        agent = Agent(model=ScriptedProvider(default="Hi"), store=store, instructions="Be brief.")
        for name in ("ann", "bob", "ann"):
            agent.generate("Hello", session=name)
        assert {info.id: len(Session.open(store, info.id)) for info in store.sessions()} == {"ann": 5, "bob": 3}


def test_a_conflicting_run_does_not_disturb_the_active_one():
    started, refused = threading.Event(), threading.Event()

    @tool
    def wait(context: Context) -> str:
        """Wait for the other run."""
        started.set()
        assert refused.wait(20)
        return "waited"

    agent = Agent(model=ScriptedProvider(call("1", "wait"), "Done"), tools=[wait])
    responses = []
    thread = threading.Thread(target=lambda: responses.append(agent.generate("Go")))
    thread.start()
    assert started.wait(20)
    with pytest.raises(SessionConflictError):
        agent.generate("Me too")
    refused.set()
    thread.join()
    assert responses[0].content == "Done"
    assert contents(agent.session) == ["waited"]


def test_a_sub_agent_runs_in_the_event_loop_of_its_caller(arun):
    loops = []

    @tool
    async def look() -> str:
        """Look."""
        loops.append(asyncio.get_running_loop())
        return "received"

    async def main():
        worker = Agent(model=ScriptedProvider(call("1", "look"), "It is a."), tools=[look], name="worker")
        agent = Agent(model=ScriptedProvider(call("7", "worker", prompt="x"), "Done"), tools=[worker.as_tool()])
        await agent.agenerate("Go")
        assert loops == [asyncio.get_running_loop()]
        assert agent.session.children == {}
        assert contents(agent.session) == ["It is a."]

    arun(main())


def test_a_sub_agent_inherits_the_policy_of_its_caller():
    @tool
    def remove() -> str:
        """Remove everything."""
        return "removed"

    policy = Policy(
        [{"decision": "deny", "tool": "remove"}, {"decision": "allow", "tool": "worker"}], files=[], project=False
    )
    worker = Agent(
        model=ScriptedProvider(call("1", "remove"), lambda request: request.messages[-1].content),
        tools=[remove], name="worker",
    )  # fmt: skip
    agent = Agent(
        model=ScriptedProvider(call("7", "worker", prompt="x"), "Done"), tools=[worker.as_tool()], policy=policy
    )
    agent.generate("Go")
    assert "remove was not run" in contents(agent.session)[0]


def test_each_pending_call_of_a_sub_agent_is_answered_by_its_id():
    removed = []

    @tool(requires_approval=True)
    def rm(name: str) -> str:
        """Remove a file."""
        removed.append(name)
        return f"removed {name}"

    model = ScriptedProvider([call("1", "rm", name="x"), call("2", "rm", name="y")], "Done")
    worker = Agent(model=model, tools=[rm], name="cleaner")
    agent = Agent(model=ScriptedProvider(call("7", "cleaner", prompt="x"), "All done"), tools=[worker.as_tool()])
    pending = agent.generate("Go").pending
    assert [(request["tool"], request["arguments"]) for request in pending] == [
        ("rm", {"name": "x"}),
        ("rm", {"name": "y"}),
    ]
    agent.session.approve(pending[0]["call_id"], arguments={"name": "z"})
    agent.session.deny(pending[1]["call_id"], "keep it")
    assert agent.generate().content == "All done"
    assert removed == ["z"]
    assert "keep it" in str(model.calls[1].messages)


def test_a_hanging_tool_gives_the_model_a_timeout_error():
    is_cancelled = threading.Event()

    @tool(timeout=0.2)
    def hang() -> str:
        """Hang."""
        is_cancelled.wait(20)
        return "late"

    agent = Agent(model=ScriptedProvider(call("1", "hang"), "Done"), tools=[hang])
    assert agent.generate("Go").content == "Done"
    assert agent.session.messages[2].error_type == "timeout_error"
    is_cancelled.set()


def test_the_model_can_read_the_rest_of_a_long_result():
    @tool
    def log() -> str:
        """Return a long text."""
        return "x" * 1_000_000

    provider = ScriptedProvider(call("1", "log"), "Done")
    Agent(model=provider, tools=[log]).generate("Go")
    assert len(provider.calls[1].messages[-1].content) < 31_000
    assert [[definition["name"] for definition in request.tools] for request in provider.calls] == [
        ["log"],
        ["log", "read_output"],
    ]
    provider.add(call("1", "log"), "Done")
    Agent(model=provider, tools=[log], output_budget=None).generate("Go")
    assert len(provider.calls[-1].messages[-1].content) == 1_000_000


@pytest.mark.parametrize("is_on", [True, False])
def test_a_repeated_failing_call_ends_the_run(is_on):
    @tool
    def fail() -> Result:
        """Fail."""
        return Result.error("it does not work")

    provider = ScriptedProvider(default=lambda _: ToolCall(None, "fail"))
    response = Agent(model=provider, tools=[fail], max_steps=12, loop_detection=is_on).generate("Go")
    assert response.interrupted
    assert (response.steps < 12) == is_on
