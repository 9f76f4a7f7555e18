"""Long sessions: whatever the model, its server and its summaries do, a session can continue."""

from __future__ import annotations

import logging

import pytest

from tools_agent import (
    Agent,
    Assistant,
    ProviderError,
    ScriptedProvider,
    Session,
    System,
    ToolResult,
    User,
    Window,
    open_store,
)
from tools_core import Result, ToolCall

CODE = "The code is XYZZY."


def long_history(turns=40, words=1_000, text="word "):
    """A conversation of about 2.5 tokens per word and turn, which begins with a fact."""
    messages = [System(content="Be brief."), User(content=CODE), Assistant(content="ok")]
    for turn in range(turns):
        messages += [User(content=f"q{turn} {text * words}"), Assistant(content=f"a{turn} {text * words}")]
    return messages


def tokens(request):
    return sum(len(message.content) for message in request.messages) // 4


def is_summary(request):
    return "Summarize" in request.messages[0].content


def limited(limit, summary="a summary"):
    """A model that refuses requests above `limit` tokens, as servers do."""

    def reply(request):
        if tokens(request) > limit:
            raise ProviderError("400 prompt is too long", status=400, is_too_long=True)
        return summary if is_summary(request) else "fine"

    return ScriptedProvider(default=reply)


BAD = {
    "empty": "",
    "blank": " \n",
    "cut": Assistant(content="The user", stop_reason="length"),
    "refused": Assistant(content="I cannot help with that.", stop_reason="refusal"),
    "filtered": Assistant(content="", stop_reason="content_filter"),
    "failed": ProviderError("overloaded"),
}


@pytest.mark.parametrize("summary", BAD.values(), ids=BAD)
def test_a_bad_summary_changes_nothing_until_a_later_attempt(summary, caplog):
    replies = iter([summary, "They spoke about XYZZY."])
    model = ScriptedProvider(default=lambda request: next(replies) if is_summary(request) else "fine")
    session = Session(messages=long_history(turns=8))
    agent = Agent(session, model=model, window=Window(5_000, summarize=True))
    with caplog.at_level(logging.WARNING, "tools_agent"):
        assert agent.generate("What is the code?").content == "fine"
    assert "hidden messages have no summary" in caplog.text
    assert session.log.summary is None
    assert "hidden" in model.calls[-1].messages[1].content
    for number in range(4):
        agent.generate(f"{number}")
    assert "They spoke about XYZZY." in model.calls[-1].messages[1].content
    assert sum(map(is_summary, model.calls)) == 2


def test_a_bad_summary_keeps_the_one_before_it():
    replies = iter(["They spoke about XYZZY.", ""])
    model = ScriptedProvider(default=lambda request: next(replies) if is_summary(request) else "word " * 2_000)
    agent = Agent(Session(messages=long_history(turns=8)), model=model, window=Window(8_000, summarize=True))
    for number in range(3):
        agent.generate(f"{number}")
    assert [is_summary(request) for request in model.calls].count(True) == 2
    assert "They spoke about XYZZY." in model.calls[-1].messages[1].content


@pytest.mark.parametrize("summarize", [True, False])
def test_a_session_that_has_outgrown_its_model_continues_with_a_window(summarize):
    store = open_store("s.sqlite3")
    Session(id="s", store=store, messages=long_history(turns=100))
    agent = Agent("s", store=store, model=limited(50_000))
    with pytest.raises(ProviderError, match="too long"):
        agent.generate("hi")
    agent.window = Window(40_000, summarize=summarize)
    assert agent.generate("hi").content == "fine"
    sent = len(agent.model.calls)
    assert agent.generate("and now?").content == "fine"
    assert len(agent.model.calls) == sent + 1


def test_summaries_of_long_sessions_are_written_in_pieces():
    model = limited(200_000)
    Agent(Session(messages=long_history(turns=400)), model=model, window=Window(100_000, summarize=True)).generate("hi")
    assert 1 < sum(map(is_summary, model.calls)) < 20
    assert max(map(tokens, model.calls)) < 110_000
    assert CODE in model.calls[0].messages[1].content


@pytest.mark.parametrize("window", [Window(summarize=True), Window()])
def test_a_model_smaller_than_expected_receives_fewer_messages(window):
    agent = Agent(Session(messages=long_history()), model=limited(8_000), window=window)
    assert agent.generate("hi").content == "fine"
    assert "hi" in agent.model.calls[-1].messages[-1].content


def test_a_prompt_larger_than_the_model_loses_its_middle():
    agent = Agent(model=limited(150_000), window=Window())
    prompt = f"Start. {'word ' * 400_000}The end."
    assert agent.generate(prompt).content == "fine"
    [message] = agent.model.calls[-1].messages
    assert message.content.startswith("Start.")
    assert message.content.endswith("The end.")
    assert "characters are left out" in message.content
    assert agent.session.messages[0].content == prompt


def test_results_that_are_larger_than_the_model_are_shortened_before_the_prompt():
    answers = [Result.ok("a" * 900_000), Result.error("b" * 900_000), Result.ok("c")]
    calls = [ToolCall(str(number), "look", {}) for number in range(3)]
    results = [
        ToolResult(tool_call_id=call.id, name="look", result=result)
        for call, result in zip(calls, answers, strict=True)
    ]
    messages = [User(content="question " * 2_000), Assistant(tool_calls=calls), *results]
    agent = Agent(Session(messages=messages), model=limited(150_000), window=Window())
    assert agent.generate().content == "fine"
    sent = agent.model.calls[-1].messages
    assert "question " * 2_000 in [message.content for message in sent]
    assert [message.error_type for message in sent if message.role == "tool"] == [None, "execution_error", None]


def test_other_scripts_count_by_their_bytes():
    model = ScriptedProvider(default="fine")
    Agent(
        Session(messages=long_history(turns=4, words=400, text="你好世界")), model=model, window=Window(3_000)
    ).generate("?")
    assert "hidden" in model.calls[0].messages[1].content


def test_the_window_leaves_room_for_the_definitions_of_tools():
    from tools_core import tool

    def big(number):
        def look() -> str:
            return ""

        return tool(look, name=f"look_{number}", description="Look. " * 2_000)

    tools = [big(number) for number in range(40)]  # about 120,000 of 200,000 tokens
    model = ScriptedProvider(default="fine")
    session = Session(messages=long_history(turns=30))  # about 75,000 tokens
    Agent(session, model=model, tools=tools, window=Window(), definition_budget=1_000_000).generate("hi")
    assert tokens(model.calls[0]) < 60_000
