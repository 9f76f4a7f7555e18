import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_agent import Agent, Assistant, ScriptedProvider, Session, System, TextDelta, ToolResult, User, Window
from tools_core import Result, ToolCall

BIG = "x" * 400


def turns(*shape):
    """Messages: a number is a prompt and a reply with so many calls, each with its result."""
    messages = [System(content="Be brief.")]
    for turn, count in enumerate(shape):
        ids = [f"{turn}-{number}" for number in range(count)]
        calls = tuple(ToolCall(id, "look", {"at": BIG}) for id in ids)
        messages += [User(content=f"{turn} {BIG}"), Assistant(content=BIG, tool_calls=calls)]
        messages += [ToolResult(tool_call_id=id, name="look", result=Result.ok(BIG)) for id in ids]
    return messages


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(200, 3_000), st.booleans())
def test_the_window_never_separates_a_call_from_its_result(shape, max_tokens, summarize):
    provider = ScriptedProvider(default="short")
    session = Session(messages=turns(*shape))
    agent = Agent(session, model=provider, window=Window(max_tokens, summarize=summarize))
    agent.generate("Last")
    agent.generate("Very last")
    assert len(session) == len(turns(*shape)) + 4
    for request in provider.calls:
        calls = [call.id for message in request.messages if message.role == "assistant" for call in message.tool_calls]
        results = [message.tool_call_id for message in request.messages if message.role == "tool"]
        assert calls == results
        assert request.messages[0].role == "system"
        assert any(message.role == "user" for message in request.messages)


def test_the_window_hides_the_oldest_messages_in_large_steps():
    provider = ScriptedProvider(default="short")
    agent = Agent(Session(messages=turns(1, 1, 1)), model=provider, window=Window(900))
    for number in range(3):
        agent.generate(str(number))
    firsts = [[message.content for message in request.messages][:2] for request in provider.calls]
    assert firsts[0][0] == "Be brief."
    assert firsts[0] == firsts[1] == firsts[2]
    assert all(not content.startswith("0 ") for content in firsts[0])


def test_the_summary_of_hidden_messages_is_stored():
    provider = ScriptedProvider("They looked around.", "Done", "Again")
    session = Session(messages=turns(1, 1, 1))
    events = list(Agent(session, model=provider, window=Window(900, summarize="Sum up.")).stream("Go"))
    assert "".join(event.content for event in events if isinstance(event, TextDelta)) == "Done"
    summary, request = provider.calls
    assert summary.messages[0].content == "Sum up."
    assert "look" in summary.messages[1].content
    assert request.messages[1].content.endswith("They looked around.")
    assert "They looked around." not in [message.content for message in session]
    fork = session.fork()
    Agent(fork, model=provider, window=Window(900, summarize="Sum up.")).generate("On")
    assert provider.calls[2].messages[1].content.endswith("They looked around.")


def test_a_short_session_is_sent_completely():
    provider = ScriptedProvider("ok")
    Agent(model=provider, window=Window(1_000)).generate("Hi")
    assert [message.content for message in provider.calls[0].messages] == ["Hi"]
    with pytest.raises(ValueError, match="above 0"):
        Window(0)
