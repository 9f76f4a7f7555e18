"""Sessions: reading, changing and approving."""

import asyncio
import sys
from itertools import chain, groupby
from threading import Event

import pytest

from tools_agent import Agent, Assistant, ScriptedProvider, Session, SQLiteStore, ToolResult, User, open_store
from tools_core import Context, Result, ToolCall, tool


def session_with(result, **reply):
    """Return a session with one call, `c`, and its result."""
    message = ToolResult(tool_call_id="c", name="look", result=result)
    return Session([User(content="Go"), Assistant(id="a", tool_calls=[ToolCall("c", "look", {})], **reply), message])


# ------------------------------------------------------------------------------------------------ reading


def test_a_session_is_a_sequence_of_its_messages():
    session = session_with(Result.ok("x"))
    messages = session.messages
    assert (session[0], session[-1], session[1:]) == (messages[0], messages[2], messages[1:])
    assert (len(session), list(session), list(reversed(session))) == (3, messages, messages[::-1])
    with pytest.raises(IndexError):
        _ = session[3]


def test_a_step_runs_no_more_code_in_a_long_session():
    def calls_in(size):
        count = 0

        def profile(frame, event, argument):
            nonlocal count
            count += event == "call"

        @tool(read_only=True, timeout=None)
        def look() -> str:
            """Look."""
            return "x"

        calls = [ToolCall(f"c{number}", "look", {}) for number in range(size)]
        results = [ToolResult(tool_call_id=call.id, name="look", result=Result.ok("x")) for call in calls]
        replies = [Assistant(tool_calls=[call]) for call in calls]
        session = Session([User(content="Go"), *chain(*zip(replies, results, strict=True))])
        model = ScriptedProvider(ToolCall("new", "look", {}), "Done")
        agent = Agent(session, model=model, tools=[look], runtime="inline")
        sys.setprofile(profile)
        try:
            agent.generate("Go on")
        finally:
            sys.setprofile(None)
        return count

    calls_in(2)  # imports
    assert calls_in(2000) < 1.1 * calls_in(20)


def test_one_turn_is_a_short_way_through_the_files(tmp_path):
    @tool(read_only=True)
    def look() -> str:
        """Look."""
        return "x"

    def note(frame, event, argument):
        if event == "call" and "/tools_agent/_" in frame.f_code.co_filename:
            files.append(frame.f_code.co_filename)

    files = []
    replies = [reply for number in "12" for reply in (ToolCall(number, "look", {}), "Done")]
    with SQLiteStore(tmp_path / "a.db") as store:
        agent = Agent("chat", store=store, model=ScriptedProvider(*replies), tools=[look])
        agent.generate("Go")
        sys.setprofile(note)
        agent.generate("Go")
        sys.setprofile(None)
    visits = [file for file, _ in groupby(files)]
    assert len(visits) - len(set(visits)) <= 230


@pytest.mark.parametrize("of_agent", [False, True])
def test_the_event_loop_runs_while_a_session_is_opened(of_agent, arun):
    class SlowStore(SQLiteStore):
        def open(self, session):
            assert is_running.wait(20)
            return super().open(session)

    async def main():
        coroutine = (
            Agent.aopen("chat", store=store, model=ScriptedProvider()) if of_agent else Session.aopen(store, "chat")
        )
        opening = asyncio.ensure_future(coroutine)
        await asyncio.sleep(0)
        is_running.set()
        opened = await opening
        return opened.session if of_agent else opened

    is_running = Event()
    with SlowStore(":memory:") as store:
        Session([User(content="Hi")], id="chat", store=store)
        assert [message.content for message in arun(main())] == ["Hi"]


# ------------------------------------------------------------------------------------------------ changing results


def test_an_edited_halt_still_ends_the_conversation():
    @tool
    def stop() -> Result:
        """Stop."""
        return Result.halt("Goodbye", metadata={"by": "stop"})

    agent = Agent(model=ScriptedProvider(ToolCall("c", "stop", {})), tools=[stop])
    assert agent.generate("Go").outcome == "halted"
    edited = agent.session.update(tool_call_id="c", content="Bye")
    assert edited.result.metadata == {"by": "stop", "halted": True}
    assert (agent.generate().outcome, edited.content) == ("halted", "Bye")


@pytest.mark.parametrize(
    ("result", "attributes", "expected"),
    [
        (Result.ok(1), {"content": "2"}, Result.ok("2")),
        (Result.ok({"a": 1}, content="one"), {"content": "two"}, Result.ok("two")),
        (Result.ok(1), {"error": "lost"}, Result.error("lost")),
        (Result.ok(1), {"error": "lost", "error_type": "gone"}, Result.error("lost", type="gone")),
        (Result.error("slow", type="timeout_error"), {"error": "late"}, Result.error("late", type="timeout_error")),
        (Result.error("slow", type="timeout_error"), {"content": "late"}, Result.error("late", type="timeout_error")),
        (Result.error("slow"), {"error_type": "timeout_error"}, Result.error("slow", type="timeout_error")),
        (Result.error("slow"), {"error": None, "error_type": None, "content": 3}, Result.ok(3)),
        (Result.ok(1), {"metadata": {"a": 1}}, Result.ok(1, metadata={"a": 1})),
        (Result.ok(1), {"result": Result.ok(2)}, Result.ok(2)),
    ],
)
def test_an_edited_result_has_the_attributes_of_the_edit(result, attributes, expected):
    session = session_with(result)
    assert session.update(tool_call_id="c", **attributes).result == expected == session.messages[-1].result


@pytest.mark.parametrize(
    ("result", "attributes"),
    [
        (Result.ok(1), {"error_type": "gone"}),
        (Result.ok(1), {"error": 5}),
        (Result.ok(1), {"error": "lost", "content": "2"}),
        (Result.ok(1), {"error": None, "error_type": "gone", "content": "2"}),
        (Result.error("slow"), {"error": None}),
        (Result.error("slow"), {"error_type": None}),
        (Result.error("slow"), {"content": 3}),
        (Result.ok(1), {"metadata": "x"}),
        (Result.ok(1), {"result": 3}),
        (Result.ok(1), {"result": Result.ok(1), "content": "2"}),
        (Result.ok(1), {"colour": "red"}),
        (Result.ok(1), {}),
    ],
)
def test_an_edit_that_does_not_fit_a_result_is_refused(result, attributes):
    session = session_with(result)
    with pytest.raises(ValueError, match="result"):
        session.update(tool_call_id="c", **attributes)
    assert session.messages[-1].result == result


def test_an_edited_reply_loses_the_output_parsed_from_its_old_text():
    session = Session([User(content="Go"), Assistant(id="a", content='{"a": 1}', output={"a": 1})])
    assert session.update(id="a", content="no").output is None
    assert session.update(id="a", content="{}", output={}).output == {}


# ------------------------------------------------------------------------------------------------ approving


@pytest.mark.parametrize(
    ("arguments", "paid", "content"),
    [
        (None, [100], "paid"),
        ({"amount": 5}, [5], "paid"),
        ({"amount": "much"}, [], "the approved arguments are"),
    ],
)
def test_an_approval_may_edit_arguments_which_are_validated_again(arguments, paid, content):
    payments = []

    @tool(requires_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        payments.append(amount)
        return "paid"

    with open_store(":memory:") as store:
        model = ScriptedProvider(ToolCall("c", "pay", {"amount": 100}), "Done")
        agent = Agent("chat", store=store, model=model, tools=[pay])
        assert agent.generate("Go").interrupted
        Session.open(store, "chat").approve("c", arguments=arguments, by="Ann")  # in another process
        assert agent.generate().content == "Done"
        answer = next(record.data for record in agent.session.history if record.kind == "approval_given")
    assert payments == paid
    assert agent.session[2].content.startswith(content)
    assert (answer["by"], answer.get("arguments")) == ("Ann", arguments)


# ------------------------------------------------------------------------------------------------ identity


def test_the_run_id_of_calls_is_the_key_of_the_session():
    ids = []

    @tool
    def look(context: Context) -> str:
        """Look."""
        ids.append(context.run_id)
        return "x"

    for _ in range(2):
        session = Session(id="chat")
        Agent(session, model=ScriptedProvider(ToolCall("c", "look", {}), "Done"), tools=[look]).generate("Go")
        assert ids.pop() == session.key
