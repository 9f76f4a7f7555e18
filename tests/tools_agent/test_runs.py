"""Runs: approval, halt, guardrails, interrupts, errors, steering and recovery."""

import asyncio
import signal
import threading

import pytest

from tools_agent import (
    Agent,
    Assistant,
    Block,
    Guardrail,
    Interrupt,
    Modification,
    Record,
    ScriptedProvider,
    Session,
    SessionConflictError,
    SQLiteStore,
    StoreError,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    Tripwire,
    User,
)
from tools_core import Context, Halt, Tool, ToolCall, tool
from tools_runtime import Policy


def call(id, name, /, **arguments):
    return ToolCall(id, name, arguments)


@pytest.fixture
def executed():
    """The calls that were executed."""
    return []


@pytest.fixture
def tools(executed):
    @tool(read_only=True)
    def look(at: str) -> str:
        """Look at something."""
        executed.append(("look", at))
        return f"saw {at}"

    @tool
    def write(text: str) -> str:
        """Write."""
        executed.append(("write", text))
        return f"wrote {text}"

    @tool(destructive=True, requires_approval=True)
    def delete(name: str) -> str:
        """Delete a file."""
        executed.append(("delete", name))
        return f"deleted {name}"

    @tool
    def finish(answer: str) -> str:
        """End the conversation."""
        raise Halt(answer)

    return [look, write, delete, finish]


@pytest.fixture
def store(tmp_path):
    with SQLiteStore(tmp_path / "agent.db") as opened:
        yield opened


@pytest.fixture(params=["sync", "async"])
def generate(request, arun):
    """`generate(agent, prompt)` by either door."""

    def run(agent, prompt=None):
        return arun(agent.agenerate(prompt)) if request.param == "async" else agent.generate(prompt)

    return run


def results(session):
    return {
        message.tool_call_id: message.error_type or message.content for message in session if message.role == "tool"
    }


# ------------------------------------------------------------------------------------------------------------ approval


def test_a_call_that_needs_approval_pauses_the_run_after_its_siblings(tools, executed, generate):
    calls = [call("1", "delete", name="a"), call("2", "look", at="b")]
    provider = ScriptedProvider(calls, "Done")
    agent = Agent(model=provider, tools=tools)
    response = generate(agent, "Go")
    assert (response.outcome, response.interrupt_reason) == ("interrupted", "approval_required")
    assert [(request["call_id"], request["tool"], request["arguments"]) for request in response.pending] == [
        ("1", "delete", {"name": "a"})
    ]
    assert executed == [("look", "b")]
    assert len(provider.calls) == 1
    assert generate(agent).pending == response.pending  # nothing was approved meanwhile
    assert len(provider.calls) == 1

    agent.session.approve("1", by="ann")
    assert generate(agent).content == "Done"
    assert executed == [("look", "b"), ("delete", "a")]
    assert results(agent.session) == {"1": "deleted a", "2": "saw b"}
    assert agent.session.messages[2].result.metadata["approval"]["by"] == "ann"


def test_a_call_is_approved_in_another_process(tools, executed, store):
    agent = Agent("chat", model=ScriptedProvider(call("1", "delete", name="a")), tools=tools, store=store)
    pending = agent.generate("Go").pending
    Session.open(store, "chat").approve(pending[0]["call_id"])
    again = Agent("chat", model=ScriptedProvider("Done"), tools=tools, store=store)
    assert again.generate().content == "Done"
    assert executed == [("delete", "a")]
    assert [record.data["approved"] for record in again.session.history if record.kind == "approval_given"] == [True]


def test_the_model_reads_why_a_call_was_denied(tools, executed):
    provider = ScriptedProvider(call("1", "delete", name="a"), "I see")
    agent = Agent(model=provider, tools=tools)
    agent.generate("Go")
    agent.session.deny("1", "still needed")
    assert agent.generate().content == "I see"
    assert executed == []
    result = provider.calls[1].messages[-1]
    assert result.error_type == "denied"
    assert "still needed" in result.content


def test_an_approval_does_not_cover_changed_arguments(tools, executed):
    agent = Agent(model=ScriptedProvider(call("1", "delete", name="a"), "Done"), tools=tools)
    agent.generate("Go")
    agent.session.approve("1")
    reply = agent.session.messages[1]
    agent.session.update(id=reply.id, tool_calls=[call("1", "delete", name="everything")])
    assert agent.generate().pending[0]["arguments"] == {"name": "everything"}
    assert executed == []


def test_only_calls_that_wait_can_be_approved(tools):
    agent = Agent(model=ScriptedProvider(call("1", "look", at="a")), tools=tools, max_steps=1)
    agent.generate("Go")
    for answer in (agent.session.approve, agent.session.deny):
        with pytest.raises(KeyError, match="waiting: none"):
            answer("1")


def test_approve_answers_immediately(tools, executed, generate):
    async def later(request):
        return request.arguments["name"] == "b"

    calls = [call("1", "delete", name="a"), call("2", "delete", name="b")]
    for approve, expected in ((lambda _: True, "ab"), (later, "b"), ("all", "ab")):
        executed.clear()
        agent = Agent(model=ScriptedProvider(calls, "Done"), tools=tools, approve=approve)
        assert generate(agent, "Go").completed
        assert executed == [("delete", name) for name in expected]


def test_a_policy_denies_a_call_without_ending_the_run(tools, executed):
    rules = [{"decision": "deny", "tool": "write", "reason": "read only"}]
    policy = Policy(rules, files=[], project=False)
    agent = Agent(model=ScriptedProvider(call("1", "write", text="a"), "Done"), tools=tools, policy=policy)
    assert agent.generate("Go").completed
    assert results(agent.session) == {"1": "denied"}
    assert executed == []


# ---------------------------------------------------------------------------------------------------------------- halt


def test_a_halt_ends_the_run_and_later_calls_do_not_start(tools, executed, generate):
    calls = [call("0", "look", at="a"), call("1", "finish", answer="42"), call("2", "look", at="b")]
    provider = ScriptedProvider(calls)
    agent = Agent(model=provider, tools=tools)
    response = generate(agent, "Go")
    assert (response.outcome, response.halted, response.content) == ("halted", True, "42")
    assert len(provider.calls) == 1
    assert results(agent.session) == {"0": "saw a", "1": "42", "2": "cancelled"}
    assert generate(agent, None).halted  # as after a process that was killed before it had recorded the end
    assert len(provider.calls) == 1
    provider.add("Hello again")
    assert generate(agent, "And now?").content == "Hello again"


# ---------------------------------------------------------------------------------------------------------- guardrails


class NoSecrets(Guardrail):
    def process_input(self, messages, context):
        if "bomb" in messages[-1].content:
            return Block("not here", {"word": "bomb"})
        return [message.replace(content=message.content.replace("secret", "***")) for message in messages]

    async def process_output(self, reply, messages, context):
        if "password" in reply.content:
            return Block("it names a password")
        return reply.replace(content=reply.content.replace("damn", "darn"))


def test_a_guardrail_passes_and_changes_input_and_replies(generate):
    provider = ScriptedProvider("damn, ok")
    agent = Agent(model=provider, guardrails=[NoSecrets])
    response = generate(agent, "a secret")
    assert response.content == "darn, ok"
    assert response.modified
    ids = [message.id for message in agent.session]
    assert response.modifications == (
        Modification("NoSecrets", "before", (ids[0],)),
        Modification("NoSecrets", "after", (ids[1],)),
    )
    assert [message.content for message in agent.session] == ["a ***", "darn, ok"]
    assert provider.calls[0].messages[0].content == "a ***"


def test_blocked_input_ends_the_run_before_the_first_request():
    provider = ScriptedProvider()
    agent = Agent(model=provider, guardrails=[NoSecrets()])
    stream = agent.stream("a bomb")
    assert list(stream) == [Tripwire("NoSecrets", "before", "not here", {"word": "bomb"})]
    response = stream.response
    assert (response.outcome, response.blocked, response.content) == ("blocked", True, "")
    assert response.tripwire.reason == "not here"
    assert provider.calls == []
    assert [message.role for message in agent.session] == ["user"]


def test_a_blocked_reply_is_counted_but_not_stored(generate):
    agent = Agent(model=ScriptedProvider("the password is x"), guardrails=[NoSecrets])
    response = generate(agent, "Hi")
    assert response.blocked
    assert response.tripwire.phase == "after"
    assert response.steps == 1
    assert [message.role for message in agent.session] == ["user"]


def test_a_guardrail_may_add_and_remove_messages():
    class Reorder(Guardrail):
        def process_input(self, messages, context):
            return [User(content="first"), *messages[1:], User(content="last")]

    provider = ScriptedProvider("ok")
    session = Session(messages=[User(content="old"), Assistant(content="kept")])
    Agent(session, model=provider, guardrails=[Reorder]).generate("new")
    assert [message.content for message in provider.calls[0].messages] == ["first", "kept", "new", "last"]


def test_a_guardrail_of_another_type_is_rejected():
    with pytest.raises(TypeError, match="guardrail"):
        Agent(model=ScriptedProvider(), guardrails=[print])


# ------------------------------------------------------------------------------------------------ from another thread


class Waiting:
    """A tool that waits until it is cancelled, and lets the test know that it has started."""

    def __init__(self):
        self.started = threading.Event()

        @tool(timeout=30)
        def wait(context: Context) -> str:
            """Wait."""
            self.started.set()
            is_cancelled = threading.Event()
            context.on_cancel(is_cancelled.set)
            is_cancelled.wait(20)
            return "woken"

        self.tool = wait


@pytest.mark.parametrize("runtime", ["inline", "thread"])
def test_an_interrupt_cancels_running_calls_and_keeps_others_pending(runtime, tools, executed, generate):
    waiting = Waiting()
    calls = [call("1", "wait"), call("2", "write", text="a")]
    if runtime == "thread":
        calls = calls[:1]
    agent = Agent(model=ScriptedProvider(calls, "Done"), tools=[waiting.tool, *tools], runtime=runtime)
    threading.Thread(target=lambda: waiting.started.wait(20) and agent.interrupt("barge-in"), daemon=True).start()
    response = generate(agent, "Go")
    assert response.interrupt_reason == "barge-in"
    assert list(results(agent.session)) == ["1"]
    assert executed == []
    assert generate(agent).content == "Done"
    assert executed == ([("write", "a")] if runtime == "inline" else [])


def test_interrupt_stops_the_models_reply_at_the_next_delta():
    agent = Agent(model=ScriptedProvider("one two three", "all of it"))
    stream = agent.stream("Go")
    next(stream)
    agent.interrupt("enough")
    assert list(stream) == [Interrupt("enough", (), ())]
    assert stream.response.content == "one"
    assert [message.role for message in agent.session] == ["user"]
    assert agent.generate().content == "all of it"


def test_an_interrupt_before_a_run_has_no_effect():
    agent = Agent(model=ScriptedProvider("ok"))
    agent.interrupt()
    assert agent.generate("Go").completed


def test_a_session_continues_after_its_stream_was_closed(tools, executed, arun):
    async def begin(agent):
        stream = agent.astream("Again")
        await anext(stream)
        await stream.aclose()

    provider = ScriptedProvider(
        [call("1", "write", text="a"), call("2", "write", text="b")], "Done", "three words here", "ok"
    )
    agent = Agent(model=provider, tools=tools)
    with agent.stream("Go") as stream:
        next(event for event in stream if isinstance(event, ToolFinished))
    assert executed == [("write", "a")]
    assert agent.session.history[-1].data["outcome"] == "interrupted"
    assert agent.generate().content == "Done"
    assert executed == [("write", "a"), ("write", "b")]
    arun(begin(agent))
    assert agent.generate().content == "ok"


def test_ctrl_c_keeps_the_partial_output_of_a_tool(tools, executed):
    @tool
    def stuck(context: Context) -> str:
        """Wait until the call is cancelled."""
        is_cancelled = threading.Event()
        context.on_cancel(is_cancelled.set)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return f"partial output {is_cancelled.wait(20)}"

    calls = [call("1", "stuck"), call("2", "write", text="a")]
    agent = Agent(model=ScriptedProvider(calls, "Done"), tools=[stuck, *tools])
    with pytest.raises(KeyboardInterrupt):
        agent.generate("Go")
    assert results(agent.session) == {"1": "partial output True"}
    assert agent.session.history[-1].data["reason"] == "KeyboardInterrupt"
    assert agent.generate().content == "Done"
    assert results(agent.session) == {"1": "partial output True", "2": "wrote a"}


def test_a_cancelled_task_cancels_its_tools(tools, arun):
    started = asyncio.Event()

    @tool
    async def sleep() -> str:
        """Sleep."""
        started.set()
        await asyncio.sleep(60)
        return "never"

    agent = Agent(model=ScriptedProvider(call("1", "sleep"), "Done"), tools=[sleep])

    async def main():
        task = asyncio.create_task(agent.agenerate("Go"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await agent.agenerate()

    assert arun(main()).content == "Done"
    assert results(agent.session) == {"1": "cancelled"}


# --------------------------------------------------------------------------------------------------------- concurrency


def test_concurrent_calls_are_recorded_when_they_end(generate):
    first_may_end = threading.Event()

    @tool
    def slow() -> str:
        """End after the other one."""
        assert first_may_end.wait(20)
        return "slow"

    @tool
    def fast() -> str:
        """End at once."""
        return "fast"

    agent = Agent(
        model=ScriptedProvider([call("1", "slow"), call("2", "fast")], "Done"), tools=[slow, fast], runtime="thread"
    )
    order = []
    agent.session.on_message(lambda message: order.append(message.content))
    agent.session.on_message(lambda message: message.content == "fast" and first_may_end.set())
    generate(agent, "Go")
    assert order == ["", "fast", "slow", "Done"]
    assert [message.content for message in agent.session] == ["Go", "", "slow", "fast", "Done"]


def test_an_interrupt_keeps_the_results_of_started_calls(generate):
    running = threading.Barrier(2, timeout=20)

    @tool
    def pair(name: str) -> str:
        """Wait for the other one."""
        running.wait()
        return name

    calls = [call("1", "pair", name="a"), call("2", "pair", name="b")]
    agent = Agent(model=ScriptedProvider(calls, "Done"), tools=[pair], runtime="thread")

    def stop(message):
        if message.role == "tool":
            agent.interrupt("after the first")

    agent.session.on_message(stop)
    assert generate(agent, "Go").interrupted
    assert set(results(agent.session)) == {"1", "2"}
    assert agent.session.pending_tool_calls == []


def test_progress_of_a_coroutine_arrives_while_its_tool_runs(arun):
    received = asyncio.Event()

    @tool
    async def count(context: Context) -> str:
        """Count."""
        context.progress(1, 2, "half")
        await asyncio.wait_for(received.wait(), 10)
        return "counted"

    async def main():
        agent = Agent(model=ScriptedProvider(call("1", "count"), "Done"), tools=[count])
        kinds = []
        async for event in agent.astream("Go"):
            kinds.append(type(event))
            if isinstance(event, ToolProgress):
                assert (event.done, event.total, event.message) == (1, 2, "half")
                received.set()
        return kinds

    kinds = arun(main())
    assert kinds.index(ToolStarted) < kinds.index(ToolProgress) < kinds.index(ToolFinished)


def test_a_second_run_of_an_agent_or_a_session_is_a_conflict(store):
    agent = Agent("chat", model=ScriptedProvider("one two", "three"), store=store)
    other = Agent("chat", model=ScriptedProvider("x"), store=store)
    with agent.stream("Go") as stream:
        next(stream)
        for again in (agent, other, Agent(agent.session, model=ScriptedProvider("x"))):
            with pytest.raises(SessionConflictError):
                again.generate("Me too")
    assert other.generate("Now").completed


# ---------------------------------------------------------------------------------------------------- errors, steering


def test_a_run_continues_after_errors_of_provider_and_callbacks(tools, executed, generate):
    provider = ScriptedProvider(call("1", "write", text="a"), OSError("no network"), "Done", "More")
    agent = Agent(model=provider, tools=tools)
    with pytest.raises(OSError, match="no network"):
        generate(agent, "Go")
    assert results(agent.session) == {"1": "wrote a"}
    assert generate(agent).content == "Done"

    def fail(message):
        raise LookupError("of the callback")

    agent.session.on_message(fail)
    with pytest.raises(LookupError, match="callback"):
        generate(agent, "More?")
    assert agent.session.messages[-1].content == "More"
    assert executed == [("write", "a")]


def test_failing_tools_are_results_that_the_model_reads(tools):
    @tool
    def broken() -> str:
        """Fail."""
        raise RuntimeError("no disk")

    calls = [call("1", "broken"), call("2", "look"), call("3", "nothing"), ToolCall("4", "look", "{bad")]
    provider = ScriptedProvider(calls, "I see")
    agent = Agent(model=provider, tools=[broken, *tools])
    assert agent.generate("Go").completed
    assert results(agent.session) == {
        "1": "execution_error", "2": "validation_error", "3": "unknown_tool", "4": "validation_error",
    }  # fmt: skip


def test_steering_reaches_the_model_at_the_next_step(tools):
    provider = ScriptedProvider(call("1", "look", at="a"), "Done", "Really done")
    agent = Agent(model=provider, tools=tools)
    steps = []

    def steer(message):
        steps.append(message.role)
        if message.role == "tool":
            agent.steer("Look at b as well")
        elif message.content == "Done":
            agent.steer("Are you sure?")

    agent.session.on_message(steer)
    assert agent.generate("Go").content == "Really done"
    contents = [
        [message.content for message in request.messages if message.role == "user"] for request in provider.calls
    ]
    assert contents == [["Go"], ["Go", "Look at b as well"], ["Go", "Look at b as well", "Are you sure?"]]


def test_repeated_call_ids_of_a_server_become_unique(tools, executed):
    replies = [Assistant(tool_calls=(call("call_0", "write", text=text),)) for text in "ab"]
    agent = Agent(model=ScriptedProvider(*replies, "Done"), tools=tools)
    agent.generate("Go")
    assert executed == [("write", "a"), ("write", "b")]
    ids = [message.tool_call_id for message in agent.session if message.role == "tool"]
    assert len(set(ids)) == 2


# -------------------------------------------------------------------------------------------------------------- resume


def crashed(store, *calls, started=()):
    """A session as a killed process leaves it: a reply with calls, of which some had started."""
    session = Session(id="chat", store=store, messages=[User(content="Go"), Assistant(tool_calls=calls)])
    records = [Record("tool_started", {"call_id": id, "name": "?", "attempt": 1}, "killed") for id in started]
    if records:
        store.append("chat", records, after=len(session.history))


@pytest.mark.parametrize("ask", [False, True])
def test_only_harmless_calls_are_repeated_after_a_crash(ask, store, tools, executed, generate):
    crashed(store, call("1", "look", at="a"), call("2", "write", text="b"), call("3", "write", text="c"), started="12")
    options = {"on_unknown": "ask"} if ask else {}
    agent = Agent("chat", model=ScriptedProvider("Done"), tools=tools, store=store, **options)
    response = generate(agent)
    assert executed == [("look", "a"), ("write", "c")]
    if not ask:
        assert response.content == "Done"
        assert results(agent.session) == {"1": "saw a", "2": "outcome_unknown", "3": "wrote c"}
        return
    assert [request["call_id"] for request in response.pending] == ["2"]
    assert generate(agent).pending == response.pending
    agent.session.approve("2")
    assert generate(agent).content == "Done"
    assert executed[-1] == ("write", "b")


def test_a_call_with_unknown_effects_is_not_repeated(store):
    class Vague(Tool):
        """Look at something."""

        read_only = True

        def execute(self, at: str) -> str:
            raise AssertionError("executed again")

        def effects(self, arguments, context=None):
            raise OSError("no network")

    crashed(store, call("1", "vague", at="a"), call("2", "gone"), started="12")
    agent = Agent("chat", model=ScriptedProvider("Done"), tools=[Vague], store=store)
    agent.generate()
    assert results(agent.session) == {"1": "outcome_unknown", "2": "outcome_unknown"}


def test_an_approved_call_that_was_started_is_not_repeated(store, tools, executed):
    agent = Agent("chat", model=ScriptedProvider(call("1", "delete", name="a")), tools=tools, store=store)
    agent.generate("Go")
    agent.session.approve("1")
    store.append(
        "chat",
        [Record("tool_started", {"call_id": "1", "name": "delete", "attempt": 1})],
        after=len(agent.session.history),
    )
    again = Agent("chat", model=ScriptedProvider("Done"), tools=tools, store=store)
    assert again.generate().completed
    assert results(again.session) == {"1": "outcome_unknown"}
    assert executed == []


def test_calls_of_older_replies_are_closed_before_the_request(tools, executed):
    messages = [
        User(content="a"),
        Assistant(tool_calls=(call("1", "write", text="x"),)),
        User(content="b"),
        Assistant(content="c"),
    ]
    provider = ScriptedProvider("Done")
    response = Agent(Session(messages=messages), model=provider, tools=tools).generate("d")
    assert response.healed_tool_call_ids == ("1",)
    assert provider.calls[0].messages[2].error_type == "interrupted"
    assert executed == []


def test_each_step_is_recorded_before_the_next_one(store, tools):
    kinds = []
    agent = Agent("chat", model=ScriptedProvider(call("1", "peek"), "Done"), store=store, tools=[])

    @tool
    def peek() -> str:
        """Read the log."""
        kinds.extend(record.kind for record in store.read("chat"))
        return "ok"

    agent = Agent("chat", model=ScriptedProvider(call("1", "peek"), "Done"), store=store, tools=[peek])
    agent.generate("Go")
    assert kinds == ["run_started", "message", "message", "tool_started"]
    assert [record.kind for record in store.read("chat")][4:] == ["tool_finished", "message", "run_finished"]
    assert {record.run for record in store.read("chat")} == {agent.session.history[0].run}


class FailingStore(SQLiteStore):
    fails_at = ""

    def append(self, session, records, *, after, owner=None):
        if any(record.kind == self.fails_at for record in records):
            raise StoreError("disk full")
        return super().append(session, records, after=after, owner=owner)


@pytest.mark.parametrize("kind", ["message", "tool_started", "tool_finished", "run_finished"])
def test_a_failed_write_leaves_memory_equal_to_the_store(kind, tmp_path, tools, executed, generate):
    with FailingStore(tmp_path / "agent.db") as store:
        agent = Agent(
            "chat", model=ScriptedProvider(call("1", "write", text="a"), "Done", "More"), tools=tools, store=store
        )
        store.fails_at = kind
        with pytest.raises(StoreError, match="disk full"):
            generate(agent, "Go")
        assert executed == ([] if kind in ("message", "tool_started") else [("write", "a")])
        assert Session.open(store, "chat").messages == agent.session.messages
        store.fails_at = ""
        assert generate(agent, "Go" if kind == "message" else None).completed


# --------------------------------------------------------------------------------------------------------------- store


def test_a_stored_session_is_created_once(store):
    Agent("chat", model=ScriptedProvider("One"), store=store, instructions="Be brief.").generate("Hi")
    agent = Agent("chat", model=ScriptedProvider("Two"), store=store, instructions="Be brief.")
    agent.generate("Again")
    assert [message.content for message in agent.session] == ["Be brief.", "Hi", "One", "Again", "Two"]
    with pytest.raises(SessionConflictError):
        Session(id="chat", store=store)
    with pytest.raises(TypeError, match="store="):
        Agent("chat", model=ScriptedProvider())


@pytest.mark.parametrize("is_stored", [False, True])
def test_fork_rollback_and_history(is_stored, store, tools, executed):
    agent = Agent(
        "chat" if is_stored else None,
        model=ScriptedProvider(call("1", "write", text="a"), "Done", "Else"),
        tools=tools,
        store=store if is_stored else None,
    )
    agent.generate("Go")
    session = agent.session
    history = session.history
    assert [record.seq for record in history] == list(range(1, len(history) + 1))
    reply = next(
        record.seq for record in history if record.kind == "message" and record.data["message"]["role"] == "assistant"
    )

    fork = session.fork(until=reply)
    assert [message.role for message in fork] == ["user", "assistant"]
    assert fork.orphaned_tool_call_ids == ["1"]
    assert len(session) == 4

    session.rollback(1)
    assert session.messages == []
    assert session.history[-1].data == {"to": 1}
    assert agent.generate("Something else").content == "Else"
    assert len(session) == 2
    if is_stored:
        assert Session.open(store, "chat").messages == session.messages
    with pytest.raises(ValueError, match="sequence numbers"):
        session.rollback(1000)


def test_a_run_reads_the_records_of_other_processes_first(store):
    agent = Agent("chat", model=ScriptedProvider("One", "Two", "Three"), store=store)
    agent.generate("a")
    Agent("chat", model=ScriptedProvider("Else"), store=store).generate("b")
    with pytest.raises(SessionConflictError):
        agent.session.update(id=agent.session.messages[0].id, content="stale")
    agent.generate("c")
    assert [message.content for message in agent.session] == ["a", "One", "b", "Else", "c", "Two"]
    Session.open(store, "chat").rollback(0)
    agent.generate("d")
    assert [message.content for message in agent.session] == ["d", "Three"]
