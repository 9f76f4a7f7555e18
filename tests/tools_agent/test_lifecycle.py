"""The lifecycle of an agent: each test is named after the statement that it proves. See CLAIMS.md."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from tools_agent import (
    Agent,
    Assistant,
    Interrupt,
    Interrupted,
    ProviderError,
    ScriptedProvider,
    Session,
    System,
    TextDelta,
    TextDone,
    ToolCallDone,
    ToolResult,
    Usage,
    User,
)
from tools_core import Context, Image, Result, ToolCall, tool

PLACEHOLDER = "Tool call interrupted before completion."


def call(id, name="note", **arguments):
    return ToolCall(id, name, arguments or {"text": id})


@pytest.fixture
def executed():
    """The texts of the calls of `note` that were executed."""
    return []


@pytest.fixture
def note(executed):
    @tool
    def note(text: str) -> str:
        """Write a note."""
        executed.append(text)
        return f"noted {text}"

    return note


def roles(session):
    return [message.role for message in session]


# -------------------------------------------------------------------------------------------------------- construction


def test_a_new_session_is_seeded_with_the_instructions():
    agent = Agent(model=ScriptedProvider(), instructions="Be brief.")
    assert agent.session.messages == [agent.instruction_message]
    assert agent.instruction_message.content == "Be brief."


def test_a_session_without_instructions_has_no_system_message():
    agent = Agent(model=ScriptedProvider())
    assert agent.instruction_message is None
    assert agent.skills_message is None
    assert agent.session.messages == []


def test_an_existing_session_is_not_seeded():
    session = Session(messages=[User(content="Hi")])
    agent = Agent(session, model=ScriptedProvider("Hello"), instructions="Be brief.")
    assert agent.session is session
    assert agent.generate().content == "Hello"
    assert roles(session) == ["user", "assistant"]


def test_functions_as_options_receive_the_context_of_each_run():
    received = []

    class Greeter(Agent):
        def model(context):
            return context["provider"]

        def instructions(context):
            received.append(context["user"])
            return f"Greet {context['user']}."

        tools = lambda context: [note_of(context)]  # noqa: E731

    def note_of(context):
        @tool
        def greet() -> str:
            """Greet."""
            return f"hello {context['user']}"

        return greet

    provider = ScriptedProvider(call("1", "greet", x=1), "Done")
    agent = Greeter(context={"user": "Ann", "provider": provider})
    agent.generate("go")
    assert received == ["Ann"]
    assert provider.calls[0].messages[0].content == "Greet Ann."
    assert [definition["name"] for definition in provider.calls[0].tools] == ["greet"]
    other = ScriptedProvider("Hello")
    agent.generate("go", context={"user": "Bob", "provider": other})
    assert other.calls[0].messages[0].content == "Greet Bob."


def test_the_context_of_a_run_extends_the_agents(note):
    @tool
    def who(context: Context) -> str:
        """Tell who asks."""
        return f"{context.state['user']} of {context.state['team']}"

    provider = ScriptedProvider(ToolCall("1", "who", {}), "a", ToolCall("2", "who", {}), "b")
    agent = Agent(context={"user": "Ann", "team": "blue"}, model=provider, tools=[who])
    agent.generate("x", context={"user": "Bob"})
    agent.generate("y")
    results = [message.content for message in agent.session if message.role == "tool"]
    assert results == ["Bob of blue", "Ann of blue"]
    assert agent.context["user"] == "Ann"


# ------------------------------------------------------------------------------------------------------------- running


def test_generate_returns_a_response():
    response = Agent(model=ScriptedProvider("Hello there")).generate("Hi")
    assert response.content == "Hello there"
    assert response.outcome == "completed"
    assert not response.blocked
    assert not response.interrupted


def test_generate_on_the_class_creates_an_agent_with_the_context():
    class Echo(Agent):
        def model(context):
            return ScriptedProvider(context["reply"])

    assert Echo.generate("Hi", context={"reply": "yes"}).content == "yes"
    assert [event for event in Echo.stream("Hi", context={"reply": "no"}) if isinstance(event, TextDone)] == [
        TextDone("no")
    ]


def test_a_conversation_continues_with_its_full_history():
    provider = ScriptedProvider("Hello", "More")
    agent = Agent(model=provider)
    agent.generate("Hi")
    agent.generate("Tell me more")
    assert roles(agent.session) == ["user", "assistant", "user", "assistant"]
    assert [message.content for message in provider.calls[1].messages] == ["Hi", "Hello", "Tell me more"]


@pytest.mark.parametrize("prompt", [7, b"Hi", ["Hi"], System(content="Hi")])
def test_a_prompt_is_text_or_a_message_of_the_user(prompt):
    agent = Agent(model=ScriptedProvider("Hello"))
    with pytest.raises(TypeError, match="a prompt is text or a User, got"):
        agent.generate(prompt)
    assert not agent.session.history


def test_files_belong_to_the_prompt():
    provider = ScriptedProvider("A cat")
    file = {"data": "iVBORw0KGgo=", "media_type": "image/png"}
    agent = Agent(model=provider)
    agent.generate("What is this?", files=[file])
    picture = provider.calls[0].messages[-1].files[0]
    assert (type(picture), picture.mime_type) == (Image, "image/png")
    with pytest.raises(ValueError, match="files"):
        agent.generate(files=[file])


def test_an_empty_session_needs_a_prompt():
    agent = Agent(model=ScriptedProvider("x"), instructions="Be brief.")
    with pytest.raises(ValueError, match="prompt"):
        agent.generate()


def test_a_session_that_ends_with_a_reply_is_complete():
    provider = ScriptedProvider('{"sentiment": "good"}')
    agent = Agent(model=provider, output=Sentiment)
    assert agent.generate("Hi").output == agent.generate().output == Sentiment(sentiment="good")
    assert len(provider.calls) == 1


def test_stream_yields_events_and_then_has_the_response(note):
    agent = Agent(model=ScriptedProvider(["Let me.", call("1")], "It is done."), tools=[note])
    stream = agent.stream("Go")
    with pytest.raises(RuntimeError, match="iterate"):
        _ = stream.response
    events = list(stream)
    assert "".join(event.content for event in events if isinstance(event, TextDelta)) == "Let me.It is done."
    kinds = [type(event).__name__ for event in events if not isinstance(event, TextDelta)]
    assert kinds == [
        "ToolCallDelta", "TextDone", "ToolCallDone", "UsageUpdate", "ToolStarted", "ToolFinished", "TextDone",
        "UsageUpdate",
    ]  # fmt: skip
    assert next(event for event in events if isinstance(event, ToolCallDone)).call.name == "note"
    assert stream.response.content == "It is done."


async def atexts(stream):
    return [event.content async for event in stream if isinstance(event, TextDone)]


def test_agenerate_and_astream_do_the_same_in_coroutines(arun, note, executed):
    async def main():
        agent = Agent(model=ScriptedProvider(call("1"), "One", call("2"), "Two"), tools=[note])
        assert (await agent.agenerate("Go")).content == "One"
        stream = agent.astream("Again")
        assert await atexts(stream) == ["Two"]
        assert stream.response.content == "Two"
        return agent

    agent = arun(main())
    assert executed == ["1", "2"]
    assert roles(agent.session) == ["user", "assistant", "tool", "assistant"] * 2


# ------------------------------------------------------------------------------------------------------------- session


def test_the_session_can_be_iterated_counted_and_reversed():
    agent = Agent(model=ScriptedProvider("Hello"))
    agent.generate("Hi")
    session = agent.session
    assert sum(isinstance(message, Assistant) for message in session) == 1
    assert next(reversed(session)).content == "Hello"
    assert len(session) == len(session.messages) == 2


def test_on_message_receives_generated_messages_only(note):
    first, second = [], []
    agent = Agent(model=ScriptedProvider(call("1"), "Done"), tools=[note], instructions="Be brief.")
    assert agent.session.on_message(first.append).on_message(second.append) is agent.session
    agent.generate("Go")
    assert [message.role for message in first] == ["assistant", "tool", "assistant"]
    assert first == second
    list(Agent(agent.session, model=ScriptedProvider("More")).stream("On"))
    assert len(first) == 4
    with pytest.raises(TypeError, match="function"):
        agent.session.on_message("print")


def test_a_message_is_in_the_session_before_its_callbacks_run(note):
    agent = Agent(model=ScriptedProvider("Hello"))
    is_stored = []
    agent.session.on_message(lambda message: is_stored.append(message in agent.session.messages))
    agent.generate("Hi")
    assert is_stored == [True]


def test_coroutine_callbacks_are_awaited(arun):
    received = []

    async def keep(message):
        received.append(message.content)

    agent = Agent(model=ScriptedProvider("One", "Two"))
    agent.session.on_message(keep)
    arun(agent.agenerate("Hi"))
    agent.generate("Hi")
    assert received == ["One", "Two"]


# ---------------------------------------------------------------------------------------------------------- interrupts


def interrupting(provider, note, role="tool", **options):
    """An agent whose callback interrupts it at the first message of a role."""
    agent = Agent(model=provider, tools=[note], **options)
    done = []

    def stop(message):
        if message.role == role and not done:
            done.append(message)
            agent.interrupt("needs approval")

    agent.session.on_message(stop)
    return agent


def test_interrupt_in_a_callback_stops_the_loop_with_a_reason(note):
    provider = ScriptedProvider(["Let me.", call("1")], "never")
    agent = interrupting(provider, note)
    response = agent.generate("Go")
    assert response.interrupted
    assert response.interrupt_reason == "needs approval"
    assert response.content == "Let me."
    assert len(provider.calls) == 1


def test_interrupt_ends_the_callback(note):
    agent = Agent(model=ScriptedProvider("Hi"))
    reached = []

    def stop(_):
        try:
            agent.interrupt("now")
        except Exception:  # noqa: BLE001
            reached.append("swallowed")
        reached.append("continued")

    agent.session.on_message(stop)
    assert agent.generate("x").interrupt_reason == "now"
    assert reached == []


def test_raising_interrupted_does_the_same():
    agent = Agent(model=ScriptedProvider("Hi"))

    def stop(_):
        raise Interrupted("budget exceeded")

    agent.session.on_message(stop)
    *_, last = agent.stream("x")
    assert isinstance(last, Interrupt)
    assert last.reason == "budget exceeded"


@pytest.mark.parametrize("is_async", [False, True])
def test_an_interrupt_keeps_completed_results(is_async, note, executed, arun):
    agent = interrupting(ScriptedProvider([call("1"), call("2")], "Done"), note)
    response = arun(agent.agenerate("Go")) if is_async else agent.generate("Go")
    assert response.interrupted
    assert executed == ["1"]
    assert [message.tool_call_id for message in agent.session if message.role == "tool"] == ["1"]
    assert [call.id for call in agent.session.pending_tool_calls] == ["2"]


@pytest.mark.parametrize("prompt", [None, "Approved, go ahead"])
def test_generate_runs_pending_calls_first(prompt, note, executed):
    provider = ScriptedProvider([call("1"), call("2")], "Done")
    agent = interrupting(provider, note)
    agent.generate("Go")
    response = agent.generate(prompt)
    assert response.content == "Done"
    assert not response.interrupted
    assert executed == ["1", "2"]
    after = [] if prompt is None else ["user"]
    assert roles(agent.session) == ["user", "assistant", "tool", "tool", *after, "assistant"]


def test_another_process_runs_pending_calls_of_persisted_messages(note, executed):
    agent = interrupting(ScriptedProvider([call("1"), call("2")]), note, instructions="Be brief.")
    agent.generate("Go")
    persisted = [message.to_dict() for message in agent.session]

    again = Agent(Session(messages=persisted), model=ScriptedProvider("Done"), tools=[note], instructions="Be brief.")
    events = list(again.stream())
    assert executed == ["1", "2"]
    assert events[-2] == TextDone("Done")
    assert roles(again.session) == ["system", "user", "assistant", "tool", "tool", "assistant"]


def test_instructions_and_skills_messages_can_be_persisted(tmp_path):
    (tmp_path / "tidy").mkdir()
    (tmp_path / "tidy" / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidies folders.\n---\nSort by date.\n")
    agent = Agent(model=ScriptedProvider(), instructions="Be brief.", skills=[tmp_path])
    seeds = [agent.instruction_message.to_dict(), agent.skills_message.to_dict()]
    assert "Tidies folders." in seeds[1]["content"]
    session = Session(messages=[*seeds, User(content="Hi")])
    assert Agent(session, model=ScriptedProvider("Hello")).generate().content == "Hello"
    assert agent.instruction_message == agent.instruction_message


def test_max_steps_interrupts_before_the_last_calls_run(note, executed):
    provider = ScriptedProvider(default=lambda request: call(f"c{len(request.messages)}"))
    agent = Agent(model=provider, tools=[note], max_steps=2)
    response = agent.generate("Go")
    assert response.interrupt_reason == "max_steps"
    assert len(provider.calls) == 2
    assert len(executed) == 1
    assert len(agent.session.pending_tool_calls) == 1


def test_max_steps_counts_the_replies_of_a_run(note, executed):
    provider = ScriptedProvider(default=lambda request: call(f"c{len(request.messages)}"))
    agent = Agent(model=provider, tools=[note], max_steps=2, max_session_steps=5)
    reasons = [agent.generate("Go").interrupt_reason for _ in range(4)]
    assert reasons == ["max_steps", "max_steps", "max_session_steps", "max_session_steps"]
    assert len(provider.calls) == 5


def test_a_final_reply_at_the_last_step_completes():
    assert Agent(model=ScriptedProvider("Done"), max_steps=1).generate("Go").completed


# ------------------------------------------------------------------------------------------------------------- healing


@pytest.mark.parametrize("cause", ["callback", "max_steps"])
def test_healing_gives_unanswered_calls_a_placeholder(cause, note, executed):
    provider = ScriptedProvider([call("1"), call("2")], "Sure")
    if cause == "callback":
        agent = interrupting(provider, note, role="assistant", heal=True)
    else:
        agent = Agent(model=provider, tools=[note], heal=True, max_steps=1)
    received = []
    agent.session.on_message(received.append)
    response = agent.generate("Go")
    assert response.healed_tool_call_ids == ("1", "2")
    assert executed == []
    placeholders = agent.session.messages[2:]
    assert [(message.content, message.error_type) for message in placeholders] == [(PLACEHOLDER, "interrupted")] * 2
    assert all(message.role == "assistant" for message in received)
    assert agent.generate("Something else").content == "Sure"


def test_the_interrupt_event_has_the_healed_ids(note):
    agent = Agent(model=ScriptedProvider(call("1")), tools=[note], heal=True, max_steps=1)
    *_, last = agent.stream("Go")
    assert last == Interrupt("max_steps", ("1",), ())


def test_calls_stay_pending_by_default(note):
    agent = Agent(model=ScriptedProvider(call("1")), tools=[note], max_steps=1)
    assert agent.generate("Go").healed_tool_call_ids == ()
    assert agent.session.orphaned_tool_call_ids == ["1"]


def test_a_placeholder_can_be_upgraded_to_the_real_result(note):
    agent = Agent(model=ScriptedProvider(call("1")), tools=[note], heal=True, max_steps=1)
    agent.generate("Go")
    id = agent.session.messages[-1].id
    result = agent.session.update(tool_call_id="1", content="42", error=None, error_type=None)
    assert (result.content, result.error, result.error_type) == ("42", None, None)
    assert (result.id, result.name) == (id, "note")


def test_an_existing_session_is_healed_at_construction():
    messages = [
        User(content="a"),
        Assistant(id="old", content="x", tool_calls=(call("1"), call("2"))),
        ToolResult(tool_call_id="1", name="note", result=Result.ok("y")),
        User(content="b"),
        Assistant(id="whole", tool_calls=(call("3"),)),
        ToolResult(tool_call_id="3", name="note", result=Result.ok("y")),
        Assistant(id="last", tool_calls=(call("4"),)),
    ]
    agent = Agent(Session(messages=messages), model=ScriptedProvider(), heal=True)
    assert [m.id for m in agent.session if m.role == "assistant"] == ["whole", "last"]
    assert roles(agent.session) == ["user", "user", "assistant", "tool", "assistant"]
    assert [call.id for call in agent.session.pending_tool_calls] == ["4"]


def test_discarded_calls_never_run(note, executed):
    agent = Agent(model=ScriptedProvider([call("1"), call("2")], "Sure"), tools=[note], max_steps=1)
    agent.generate("Go")
    assert agent.session.discard_pending_tool_calls() == ["1", "2"]
    assert agent.session.discard_pending_tool_calls() == []
    assert agent.generate("Something else").content == "Sure"
    assert executed == []


# ------------------------------------------------------------------------------------------------------------- mutators


def test_update_replaces_attributes_and_keeps_the_rest():
    session = Session(
        messages=[System(id="s", content="a"), Assistant(id="a", content="b", usage=Usage(input_tokens=3))]
    )
    session.update(id="s", content="c")
    new = session.update(id="a", content="d")
    assert session.messages[1] is new
    assert (new.id, new.content, new.usage.input_tokens) == ("a", "d", 3)
    assert session.messages[0].content == "c"


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"id": "a", "tool_call_id": "1"}, {"id": "?"}, {"tool_call_id": "?"}, {"id": "a", "colour": "red"},
        {"id": "a", "role": "user"}, {"tool_call_id": "1", "name": "x"}, {"tool_call_id": "1", "colour": "red"},
        {"id": "a", "tool_calls": [call("1"), call("1")]}, {"id": "a", "tool_calls": [call(None)]},
    ],
)  # fmt: skip
def test_update_rejects_invalid_attributes(arguments):
    messages = [Assistant(id="a", tool_calls=(call("1"),)), ToolResult(tool_call_id="1", name="n", result=Result.ok(1))]
    session = Session(messages=messages)
    before = session.messages
    with pytest.raises(ValueError):  # noqa: PT011  (the messages differ)
        session.update(**arguments)
    assert session.messages == before


def test_an_update_that_drops_calls_removes_their_results():
    calls = (call("1"), call("2"))
    results = [ToolResult(tool_call_id=id, name="note", result=Result.ok(id)) for id in "12"]
    session = Session(messages=[Assistant(id="a", tool_calls=calls), *results])
    session.update(id="a", tool_calls=[call("2")])
    assert [message.content for message in session if message.role == "tool"] == ["2"]


def test_an_update_of_a_reply_drops_the_items_of_its_provider():
    session = Session(messages=[Assistant(id="a", content="x", items=({"type": "text"},))])
    assert session.update(id="a", output={}).items == ({"type": "text"},)
    assert session.update(id="a", content="y").items == ()


def test_remove_includes_results_but_rejects_a_single_one():
    results = [ToolResult(id=f"r{id}", tool_call_id=id, name="note", result=Result.ok(id)) for id in "12"]
    session = Session(messages=[User(content="x"), Assistant(id="a", tool_calls=(call("1"), call("2"))), *results])
    with pytest.raises(ValueError, match="update"):
        session.remove(session.messages[-1].id)
    assert session.remove("a").id == "a"
    assert session.remove("a") is None
    assert roles(session) == ["user"]


def test_mutators_call_no_callback(note):
    agent = Agent(model=ScriptedProvider(call("1")), tools=[note], max_steps=1)
    agent.generate("Go")
    received = []
    agent.session.on_message(received.append)
    reply = agent.session.messages[-1]
    agent.session.discard_pending_tool_calls()
    agent.session.update(tool_call_id="1", content="x", error=None)
    agent.session.update(id=reply.id, content="y")
    agent.session.remove(reply.id)
    assert received == []


def test_persisted_messages_are_put_in_order():
    late = ToolResult(tool_call_id="1", name="note", result=Result.ok("late"))
    again = Assistant(tool_calls=(call("1"),), items=({"id": "1"},))
    other = ToolResult(tool_call_id="1", name="note", result=Result.ok("again"))
    session = Session(messages=[Assistant(tool_calls=(call("1"),)), User(content="x"), late, again, other])
    assert [message.content for message in session] == ["", "late", "x", "", "again"]
    assert session.orphaned_tool_call_ids == []
    ids = [message.tool_calls[0].id for message in session if message.role == "assistant"]
    assert ids[0] == "1" != ids[1]


def test_inconsistent_persisted_messages_are_rejected_or_healed():
    stray = ToolResult(tool_call_id="1", name="note", result=Result.ok(""))
    with pytest.raises(ValueError, match="heal=True"):
        Session(messages=[stray])
    orphan, last = Assistant(tool_calls=(call("2"),)), Assistant(tool_calls=(call("3"),))
    session = Session(messages=[stray, orphan, User(content="x"), last], heal=True)
    assert session.messages[1:] == [last]
    with pytest.raises(ValueError, match="two messages"):
        Session(messages=[last, last])
    with pytest.raises(TypeError, match="str"):
        Session(messages=["Hi"])


def test_orphaned_tool_call_ids_lists_calls_without_a_result():
    messages = [
        Assistant(tool_calls=(call("1"), call("2"))),
        ToolResult(tool_call_id="2", name="note", result=Result.ok("")),
        User(content="x"),
        Assistant(tool_calls=(call("3"),)),
    ]
    session = Session(messages=messages)
    assert session.orphaned_tool_call_ids == ["1", "3"]
    assert [call.id for call in session.pending_tool_calls] == ["3"]


# ---------------------------------------------------------------------------------------------------- context and usage


def test_the_context_has_the_usage_of_all_runs():
    usage = Usage(input_tokens=3, output_tokens=2)
    agent = Agent(model=ScriptedProvider(*[Assistant(content="x", usage=usage) for _ in range(2)]))
    assert agent.context["token_usage"] == Usage()
    agent.generate("a")
    response = agent.generate("b")
    assert response.usage == usage
    assert agent.context["token_usage"] == usage + usage


def test_messages_of_the_response_are_the_full_history():
    agent = Agent(model=ScriptedProvider("Hello"), instructions="Be brief.")
    response = agent.generate("Hi")
    assert list(response.messages) == agent.session.messages


# ---------------------------------------------------------------------------------------------------- structured output


class Sentiment(BaseModel):
    sentiment: str
    score: float = 0.5


def test_structured_output_is_parsed_validated_and_stored():
    text = '{"sentiment": "positive"}'
    provider = ScriptedProvider(text)
    agent = Agent(model=provider, output=Sentiment)
    response = agent.generate("Analyze")
    assert response.content == text
    assert response.output == Sentiment(sentiment="positive")
    assert agent.session.messages[-1].output == {"sentiment": "positive", "score": 0.5}
    assert provider.calls[0].output_schema["required"] == ["sentiment"]


@pytest.mark.parametrize("text", ["positive", '{"score": 1}'])
def test_an_invalid_reply_has_no_structured_output(text):
    agent = Agent(model=ScriptedProvider(text), output=Sentiment, output_retries=0)
    response = agent.generate("Analyze")
    assert response.output is None
    assert response.outcome == "invalid_output"
    assert response.detail
    assert agent.session.messages[-1].output is None


def test_the_output_is_the_text_by_default():
    assert Agent(model=ScriptedProvider("{}")).generate("x").output == "{}"


def test_a_stop_reason_of_the_provider_is_the_outcome():
    reply = Assistant(content="half", stop_reason="length")
    assert Agent(model=ScriptedProvider(reply)).generate("x").outcome == "length"


# -------------------------------------------------------------------------------------------------------------- classes


def test_find_returns_an_agent_class_by_its_identifier():
    class MyOwnAgent(Agent):
        pass

    class Named(MyOwnAgent):
        name = "special"

    assert Agent.find("my_own_agent") is MyOwnAgent
    assert Agent.find("special") is Named
    assert Agent.find("unknown") is None
    assert {MyOwnAgent, Named} <= set(Agent.all())


def test_a_model_is_a_provider_and_a_name():
    for model in ("unknown:x", "gpt"):
        with pytest.raises(ProviderError, match="openai:"):
            Agent(model=model)
    with pytest.raises(TypeError, match="needs a model"):
        Agent()
    with pytest.raises(TypeError, match="or a Provider, got 3"):
        Agent(model=3)


def test_an_unknown_option_is_rejected_by_name():
    with pytest.raises(TypeError, match="'colour' is not an option"):
        Agent(model=ScriptedProvider(), colour="red")


def test_two_tools_with_one_name_are_rejected(note):
    with pytest.raises(ValueError, match="note"):
        Agent(model=ScriptedProvider(), tools=[note, note.renamed("note")])


def test_every_claim_names_an_existing_test():
    here = Path(__file__).parent
    page = (here / "CLAIMS.md").read_text()
    named = re.findall(r"\[`(test_\w+)`\]\((\w+\.py)\)", page)
    assert len(named) > 50
    assert [(test, file) for test, file in named if f"def {test}(" not in (here / file).read_text()] == []
