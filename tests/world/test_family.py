"""Rules, budgets, approvals and sessions of agents that call each other."""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from tools_agent import (
    Agent,
    Assistant,
    Block,
    Guardrail,
    ScriptedProvider,
    Session,
    SQLiteStore,
    Usage,
    external_tool,
    open_store,
)
from tools_core import Context, Halt, Result, Tool, ToolCall, ToolError, tool
from tools_runtime import Approvals, Executor, Policy, PolicyError, hookimpl
from tools_runtime.plugins import RateLimit


def call(name, id=None, /, **arguments):
    return ToolCall(id, name, arguments)


def first_then(first, then="done"):
    """A model that answers `first` to a prompt, and `then` to results."""
    return ScriptedProvider(default=lambda request: first if request.messages[-1].role == "user" else then)


def rules(*entries):
    return Policy(list(entries), files=[], project=False)


def agent_tool(model, *tools, name="clerk", is_class=True, **options):
    """An agent as a tool, from a class or from an instance."""
    if is_class:
        return type(name, (Agent,), {"__doc__": "Works.", "model": model, "tools": tools, **options}).as_tool()
    return Agent(model=model, tools=tools, name=name, **options).as_tool()


def results(session):
    return [message for message in session if message.role == "tool"]


DENY = {"decision": "deny", "tool": "write"}


@pytest.fixture
def performed():
    return []


@pytest.fixture
def write(performed):
    @tool
    def write(name: str) -> str:
        """Write a file."""
        performed.append(name)
        return f"wrote {name}"

    return write


@pytest.fixture
def delete(performed):
    @tool(requires_approval=True)
    def delete(name: str) -> str:
        """Delete a file."""
        performed.append(f"-{name}")
        return f"deleted {name}"

    return delete


@pytest.fixture(params=["memory", "store"])
def store(request):
    return open_store(":memory:") if request.param == "store" else None


# Rules and hooks


class Forward(Tool):
    """Calls a tool of another executor, with the context of its own call."""

    description = "Forward a call."

    def __init__(self, *tools, **options):
        self.executor = Executor(tools, **options)

    def execute(self, context: Context, name: str = "q") -> Result:
        tool = next(iter(self.executor._tools))
        arguments = {"prompt": "go"} if tool == "clerk" else {"name": name}
        return self.executor.call_tool(tool, arguments, context)


def nested(kind, write):
    """A tool that ends in a call of `write`."""
    writer = first_then(call("write", name="q"))
    if kind in ("class", "instance"):
        return agent_tool(writer, write, is_class=kind == "class")
    if kind == "own policy":
        return agent_tool(writer, write, policy=rules({"decision": "allow"}))
    if kind == "three deep":
        inner = agent_tool(writer, write, name="inner")
        middle = agent_tool(first_then(call("inner", prompt="a")), inner, name="middle")
        return agent_tool(first_then(call("middle", prompt="a")), middle)
    if kind == "executor":
        return Forward(write)
    return Forward(agent_tool(writer, write))  # an agent in an executor in a tool


KINDS = ["class", "instance", "own policy", "three deep", "executor", "agent in executor"]


def run(top, item, **options):
    """Let an agent or an executor call a tool, synchronously or not."""
    if top == "agent":
        model = ScriptedProvider(
            call(item.name, **({"prompt": "go"} if item.name == "clerk" else {"name": "q"})), "done"
        )
        Agent(model=model, tools=[item], **options).generate("x")
    else:
        Executor([item], **options).call_tool(item.name, {"prompt": "go"} if item.name == "clerk" else {"name": "q"})


@pytest.mark.parametrize("top", ["agent", "executor"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_holds_for_the_calls_inside_a_call(kind, top, write, performed):
    run(top, nested(kind, write), policy=rules(DENY, {"decision": "allow"}))
    assert performed == []
    run(top, nested(kind, write), policy=rules({"decision": "allow"}))
    assert performed == ["q"]


@pytest.mark.parametrize("top", ["agent", "executor"])
@pytest.mark.parametrize("kind", KINDS)
def test_hooks_see_the_calls_inside_a_call_once(kind, top, write):
    tools = []

    class Audit:
        @hookimpl
        def before_tool_call(self, call):
            tools.append(call.name)

    run(top, nested(kind, write), hooks=[Audit()])
    assert tools.count("write") == 1


@pytest.mark.parametrize("top", ["agent", "executor"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "own policy"])
def test_the_nearest_caller_that_can_answer_approves(kind, top, delete, performed):
    prompts = []

    def approve(request):
        prompts.append(request.tool.name)
        return True

    delete = delete.renamed("write")
    run(top, nested(kind, delete), approve=approve)
    assert (prompts, performed) == (["write"], ["-q"])


def test_the_policy_of_a_caller_holds_beside_that_of_the_sub_agent(write, performed):
    lenient, strict = (
        rules({"decision": "allow"}),
        rules({**DENY, "arguments": {"name": {"glob": "*.db"}}}, {"decision": "allow"}),
    )
    for outer, inner in ((lenient, strict), (strict, lenient)):
        clerk = agent_tool(
            first_then([call("write", "1", name="users.db"), call("write", "2", name="notes")]), write, policy=inner
        )
        Executor([clerk], policy=outer).call_tool("clerk", {"prompt": "go"})
    assert performed == ["notes", "notes"]


def test_a_rate_limit_counts_the_calls_of_all_sub_agents(write, performed):
    clerk = agent_tool(first_then(call("write", name="q")), write)
    executor = Executor([clerk], hooks=[RateLimit({"write": "1/h"})])
    for _ in range(2):
        executor.call_tool("clerk", {"prompt": "go"}, Context(run_id="r", timeout=0.3))
    assert performed == ["q"]


def test_a_plugin_without_nesting_sees_only_calls_of_its_executor(write):
    tools = []

    class Local:
        nested = False

        @hookimpl
        def before_tool_call(self, call):
            tools.append(call.name)

    run("agent", nested("class", write), hooks=[Local()])
    assert tools == ["clerk"]


# Budgets


def spends(tokens, **options):
    """A reply that uses tokens."""
    return Assistant(usage=Usage(input_tokens=tokens), **{"content": "x", **options})


@pytest.fixture(params=["one", "two levels", "parallel", "async"])
def family(request):
    """Run an agent whose sub-agents use 100 tokens for each reply; return the response and the number of replies."""

    def family(arun, **limits):
        paid = []

        def pay(request):
            paid.append(1)
            return spends(100)

        deep = request.param == "two levels"
        tools = agent_tool(ScriptedProvider(default=pay), name="inner" if deep else "clerk")
        if deep:
            tools = agent_tool(first_then(call("inner", prompt="a")), tools)
        calls = [call("clerk", str(at), prompt="a") for at in range(5)]
        replies = [calls, "done"] if request.param == "parallel" else [*([each] for each in calls), "done"]
        options = {"runtime": "thread"} if request.param == "parallel" else {}
        agent = Agent(model=ScriptedProvider(*replies), tools=[tools], **options, **limits)
        response = arun(agent.agenerate("x")) if request.param == "async" else agent.generate("x")
        return response, len(paid)

    return family


@pytest.fixture
def arun():
    import asyncio

    return asyncio.run


def test_a_limit_of_tokens_holds_for_the_run_with_its_sub_agents(family, arun):
    response, paid = family(arun, max_tokens=250)
    assert (response.outcome, response.interrupt_reason) == ("interrupted", "max_tokens")
    assert paid <= 5
    assert response.usage.total_tokens == 100 * paid
    assert family(arun, max_tokens=10_000, max_steps=None)[0].outcome == "completed"


def test_a_limit_of_steps_holds_for_the_run_with_its_sub_agents(family, arun):
    response, paid = family(arun, max_steps=4)
    assert (response.outcome, response.interrupt_reason) == ("interrupted", "max_steps")
    assert paid <= 3


def test_a_sub_agent_stops_when_the_budget_of_its_caller_is_spent(write):
    paid = []

    def pay(request):
        paid.append(1)
        return spends(100, tool_calls=[call("write", name=str(len(paid)))])

    agent = Agent(
        model=ScriptedProvider(call("clerk", prompt="a"), "done"),
        tools=[agent_tool(ScriptedProvider(default=pay), write)],
        max_tokens=250,
    )
    response = agent.generate("x")
    assert (response.interrupt_reason, len(paid)) == ("max_tokens", 3)
    assert "clerk was stopped: max_tokens of agent" in results(agent.session)[0].content


@pytest.mark.parametrize("is_nested", [False, True])
def test_waiting_for_an_approval_does_not_refill_a_budget(is_nested, store, delete, performed):
    def pay(request):
        return spends(100, tool_calls=[call("delete", name=str(len(performed)))])

    model = ScriptedProvider(default=pay)
    clerk = agent_tool(model, delete)
    options = (
        {"model": first_then(call("clerk", "o", prompt="a")), "tools": [clerk]}
        if is_nested
        else {"model": model, "tools": [delete]}
    )
    agent = Agent(Session(store=store), max_tokens=250, **options)
    reasons = [agent.generate("x").interrupt_reason]
    while reasons[-1] == "approval_required":
        agent.session.approve(agent.session.pending_approvals[0]["call_id"])
        agent = Agent(agent.session, max_tokens=250, **options)
        reasons.append(agent.generate().interrupt_reason)
    assert (reasons[-1], len(reasons)) == ("max_tokens", 3)
    if not is_nested:
        assert agent.generate().interrupt_reason == "approval_required"  # a new budget


class Priced(ScriptedProvider):
    name, model = "openai", "gpt-5"


def test_a_limit_in_dollars_prices_each_model_of_the_family():
    pytest.importorskip("genai_prices")
    paid = []

    def pay(model, tokens):
        def reply(request):
            paid.append(model)
            return Assistant(content="x", usage=Usage(input_tokens=tokens), provider="openai", model=model)

        return Priced(default=reply)

    cheap = agent_tool(pay("gpt-5-nano", 1_000_000), name="cheap")  # 0.05 dollars
    dear = agent_tool(pay("gpt-5", 1_000_000), name="dear")  # 1.25 dollars
    calls = [call("cheap", "1", prompt="a"), call("dear", "2", prompt="a"), call("cheap", "3", prompt="a")]
    top = Priced(default=lambda request: Assistant(tool_calls=calls, content="x", provider="openai", model="gpt-5"))
    response = Agent(model=top, tools=[cheap, dear], max_cost=1.0).generate("x")
    assert (response.interrupt_reason, paid) == ("max_cost", ["gpt-5-nano", "gpt-5"])


# Results of sub-agents


class Answer(BaseModel):
    name: str
    age: int


@pytest.mark.parametrize("stop", ["length", "refusal", "content_filter", "pause_turn"])
@pytest.mark.parametrize("top", ["agent", "executor"])
def test_a_reply_of_a_sub_agent_that_did_not_end_is_an_error(stop, top):
    clerk = agent_tool(ScriptedProvider(default=Assistant(content="The files are: a.t", stop_reason=stop)))
    if top == "agent":
        agent = Agent(model=ScriptedProvider(call("clerk", prompt="a"), "done"), tools=[clerk])
        agent.generate("x")
        result = results(agent.session)[0].result
    else:
        result = Executor([clerk]).call_tool("clerk", {"prompt": "a"})
    assert not result.ok
    assert "The files are: a.t" in result.error


def test_typed_output_of_a_sub_agent_arrives_as_data():
    for reply, expected in (('{"name": "Ann", "age": 3}', {"name": "Ann", "age": 3}), ("I do not know", None)):
        result = Executor([agent_tool(ScriptedProvider(default=reply), output=Answer)]).call_tool(
            "clerk", {"prompt": "a"}
        )
        assert result.output == expected
        assert result.ok is (expected is not None)


def test_a_sub_agent_that_a_tool_has_halted_is_a_success():
    @tool
    def stop() -> str:
        """Stop."""
        raise Halt("found it")

    result = Executor([agent_tool(ScriptedProvider(call("stop")), stop)]).call_tool("clerk", {"prompt": "a"})
    assert (result.ok, result.content) == (True, "found it")


# Sessions


@pytest.mark.parametrize("other", ["alice/taxes", "alice%", "alic_", "Alice", "alice/", "älice", "alice/1/abc", "*"])
def test_deleting_a_session_deletes_no_other(other):
    store = open_store(":memory:")
    for name in ("alice", other):
        Agent(name, store=store, model=ScriptedProvider("a")).generate("x")
    store.delete("alice")
    assert [session.id for session in store.sessions()] == [other]


def test_deleting_a_session_deletes_its_sub_sessions(write):
    store = open_store(":memory:")
    inner = agent_tool(first_then(call("write", name="q")), write, name="inner")
    clerk = agent_tool(first_then(call("inner", prompt="a")), inner)
    Agent("alice", store=store, model=first_then(call("clerk", "1", prompt="a")), tools=[clerk]).generate("x")
    (child,) = store.sessions(parent="alice")
    (grandchild,) = store.sessions(parent=child.id)
    assert [session.id for session in store.sessions()] == ["alice"]
    store.delete("alice")
    assert store.sessions(parent="alice") == store.sessions(parent=child.id) == []
    with pytest.raises(KeyError):
        Session.open(store, grandchild.id)


def waiting_family(store, write, delete, depth=1):
    """An agent whose sub-agent has written a file, and waits before it deletes another."""
    replies = {1: call("write", "w1", name="first"), 3: call("delete", "d1", name="second")}
    model = ScriptedProvider(default=lambda request: replies.get(len(request.messages), "done"))
    clerk = agent_tool(model, write, delete)
    if depth == 2:
        clerk = agent_tool(first_then(call("clerk", "i/1", prompt="go")), clerk, name="clerk")
    agent = Agent(Session(id="top", store=store), model=first_then(call("clerk", "o/1", prompt="go")), tools=[clerk])
    agent.generate("x")
    return agent


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("times", [1, 2])
def test_a_fork_repeats_no_call_of_a_sub_agent(times, depth, store, write, delete, performed):
    agent = waiting_family(store, write, delete, depth)
    fork = agent.session
    for number in range(times):
        fork = fork.fork(f"copy {number}")
    (waiting,) = fork.pending_approvals
    fork.approve(waiting["call_id"])
    assert Agent(fork, model=ScriptedProvider(default="done"), tools=agent.tools).generate().completed
    assert performed == ["first", "-second"]
    agent.session.deny(agent.session.pending_approvals[0]["call_id"])  # the original still waits
    assert agent.generate().completed
    assert performed == ["first", "-second"]


def test_an_approval_in_a_fork_holds_for_the_call_that_waits(store, delete, performed):
    model = ScriptedProvider(call("delete", "1", name="a"), "done")
    agent = Agent(Session(id="top", store=store), model=model, tools=[delete])
    agent.generate("x")
    fork = agent.session.fork("copy")
    fork.approve("1")
    assert Agent(fork, model=ScriptedProvider("done"), tools=[delete]).generate().completed
    assert performed == ["-a"]


def test_runs_do_not_share_the_state_of_tools():
    @tool
    def remember(context: Context, text: str) -> str:
        """Remember something."""
        before, context.state["note"] = context.state.get("note"), text
        return f"before: {before}"

    def reply(request):
        last = request.messages[-1]
        return "ok" if last.role == "tool" else call("remember", text=last.content)

    agent = Agent(
        model=ScriptedProvider(default=reply), tools=[remember], context={"app": "shop"}, store=open_store(":memory:")
    )
    for prompt, session in (("the PIN", "ann"), ("hello", "bob"), ("again", "ann")):
        agent.generate(prompt, session=session)
    own = {"user": "Eve"}
    agent.generate("mine", session="eve", context=own)
    agent.generate("more", session="eve", context=own)
    contents = [
        message.content for name in ("ann", "bob", "eve") for message in results(Session.open(agent.store, name))
    ]
    assert contents == ["before: None", "before: None", "before: None", "before: None", "before: mine"]
    assert own == {"user": "Eve", "note": "more"}


@pytest.mark.parametrize("answer", ["approve", "deny"])
def test_a_user_id_without_a_name_can_answer(answer, delete, monkeypatch):
    def nobody(uid):
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    agent = Agent(model=ScriptedProvider(call("delete", "1", name="a"), "done"), tools=[delete])
    agent.generate("x")
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    getattr(agent.session, answer)("1")
    assert agent.generate().outcome == "completed"


# The loop


class Polite(Guardrail):
    def process_input(self, messages, context):
        return (
            Block("rude") if any("damn" in message.content for message in messages if message.role == "user") else None
        )


def test_steering_messages_pass_the_input_guardrails():
    @tool(read_only=True)
    def pause() -> str:
        """Wait."""
        agent.steer("damn")
        return "x"

    agent = Agent(model=ScriptedProvider(call("pause"), "reply to damn"), tools=[pause], guardrails=[Polite])
    response = agent.generate("hi")
    assert (response.outcome, response.tripwire.reason) == ("blocked", "rude")


@pytest.mark.parametrize("runtime", ["auto", "inline", "thread", "async"])
def test_halt_ends_its_batch(runtime, write, performed):
    @tool
    def stop() -> str:
        """Stop."""
        raise Halt("stop here")

    options = {"max_concurrency": 1} if runtime in ("thread", "async") else {}
    executor = Executor([stop, write], runtime=runtime, **options)
    calls = [call("write", "1", name="a"), call("stop", "2"), call("write", "3", name="b")]
    results_of_batch = [result for _, result in executor.execute(calls)]
    assert (results_of_batch[0].ok, results_of_batch[1].halted, results_of_batch[2].error_type) == (
        True,
        True,
        "cancelled",
    )
    assert performed == ["a"]
    performed.clear()
    agent = Agent(model=ScriptedProvider(calls, "never"), tools=[stop, write], runtime="inline")
    assert agent.generate("x").outcome == "halted"
    assert performed == ["a"]
    assert results(agent.session)[2].error_type == "cancelled"


# Policies


@pytest.mark.parametrize(
    "pattern", ["write,delete", "write;delete", "write|delete", "{write,delete}", '"write"', "write()"]
)
def test_a_name_in_a_rule_that_can_match_no_tool_is_refused(pattern):
    with pytest.raises(PolicyError, match="write plain names"):
        rules({"decision": "deny", "tool": pattern})


@pytest.mark.parametrize("policy", ["policy.toml", Path("policy.toml"), [{"decision": "deny"}], {"decision": "deny"}])
def test_invalid_policies_are_refused_with_the_fix(policy):
    with pytest.raises(TypeError, match=r"policy is a Policy, such as Policy\(rules\)"):
        Executor([], policy=policy)


@pytest.mark.parametrize("value", ["release/*", ["main", "release/*"]])
def test_a_pattern_that_would_be_compared_as_text_is_refused(value):
    with pytest.raises(PolicyError, match="glob = "):
        rules({"decision": "deny", "arguments": {"branch": value}})


@pytest.mark.parametrize(
    ("condition", "value", "is_denied"),
    [
        ({"glob": "*rm*"}, {"cmd": "rm"}, True),
        ({"glob": "*rm*"}, {"steps": [{"run": ["ls", "rm -rf"]}]}, True),
        ({"glob": "rm -rf*"}, {"argv": ["rm", "-rf", "/"]}, True),
        ({"glob": "rm -rf*"}, ["rm", "-rf", "/"], True),
        ({"glob": "rm"}, [["ls"], ["rm"]], True),
        ("force", {"force": True}, True),
        ([True], {"deep": {"force": True}}, True),
        ({"min": 100}, {"a": {"b": 200}}, True),
        ({"glob": "4*"}, {"id": 42}, True),
        ({"glob": "tr*"}, [{"force": True}], True),
        ({"glob": "*rm*"}, {"cmd": "ls"}, False),
        ({"min": 100}, {"a": {"b": 20}}, False),
    ],
)
def test_a_deny_rule_for_an_argument_covers_the_values_inside_it(condition, value, is_denied):
    @tool
    def act(opts: dict | list) -> str:
        """Act."""
        return "ran"

    policy = rules({"decision": "deny", "tool": "act", "arguments": {"opts": condition}}, {"decision": "allow"})
    result = Executor([act], policy=policy).call_tool("act", {"opts": value})
    assert result.error_type == ("denied" if is_denied else None)


def test_an_approval_of_one_user_does_not_answer_for_another(delete, performed):
    prompts = []

    def approve(request):
        prompts.append(request.context.state["user"])
        return "run" if request.context.state["user"] == "ann" else False

    approvals = Approvals(user=lambda context: context.state["user"])
    executor = Executor([delete], approve=approve, approvals=approvals, policy=Policy(files=[], project=False))
    answers = []
    for user, run_id in (("ann", "1"), ("ann", "1"), ("bob", "1"), ("ann", "2")):
        context = Context(state={"user": user}, run_id=run_id)
        answers.append(executor.call_tool("delete", {"name": "a"}, context).ok)
    assert (answers, prompts) == ([True, True, False, True], ["ann", "bob", "ann"])


# Options of a run


def test_functions_among_the_options_see_the_context_and_the_session_of_the_run(write):
    events = []

    def tools(context, session):
        events.append((context["user"], session.id))
        return [write]

    agent = Agent(
        model=lambda context: ScriptedProvider(default=f"for {context['user']}"),
        instructions=lambda context: f"You help {context['user']}.",
        tools=tools,
        store=open_store(":memory:"),
    )
    for user in ("ann", "bob", "ann"):
        assert agent.generate("hi", session=user, context={"user": user}).content == f"for {user}"
        assert Session.open(agent.store, user)[0].content == f"You help {user}."
    assert events == [("ann", "ann"), ("bob", "bob"), ("ann", "ann")]


def test_a_stored_session_gets_the_current_instructions():
    store = open_store(":memory:")
    for text in ("Be brief.", "Be kind.", "Be kind."):
        agent = Agent("s", store=store, model=ScriptedProvider("ok"), instructions=text)
        agent.generate("hi")
        sent = [message.content for message in agent.model.calls[0].messages if message.role == "system"]
        assert sent == [text]


@pytest.mark.parametrize("is_async", [False, True])
def test_options_of_one_run_override_the_agent(is_async, write, arun):
    agent = Agent(model=ScriptedProvider(default="agent"), instructions="A", max_steps=5)

    def generate(**options):
        return arun(agent.agenerate("x", **options)) if is_async else agent.generate("x", **options)

    other = ScriptedProvider(call("write", name="q"), "run")
    assert generate(model=other, instructions="B", tools=[write], settings={"seed": 1}, max_steps=2).content == "run"
    request = other.calls[0]
    assert (request.messages[0].content, request.settings) == ("B", {"seed": 1})
    assert request.tools[0]["name"] == "write"
    assert generate(model=ScriptedProvider("7"), output=int).output == 7
    assert generate(model=ScriptedProvider(default=call("write", name="q")), tools=[write], max_steps=1).interrupted
    assert generate().content == "agent"
    last = agent.model.calls[-1]
    assert (last.messages[0].content, last.tools, last.settings) == ("A", (), {})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("max_steps", value) for value in (-1, 0, "3", True)),
        ("max_tokens", 0),
        ("max_cost", -1),
        ("max_cost", float("nan")),
        ("timeout", 0),
        ("tool_timeout", -1),
        ("output_retries", -1),
        ("max_depth", None),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(option, value):
    agent = Agent(model=ScriptedProvider(default="x"))
    for use in (
        lambda: Agent(model=ScriptedProvider("x"), **{option: value}),
        lambda: type("Clerk", (Agent,), {option: value}),
        lambda: setattr(agent, option, value),
        lambda: agent.generate("x", **{option: value}),
    ):
        with pytest.raises(ValueError, match=option):
            use()
    assert agent.generate("x").completed


def test_an_option_that_a_run_does_not_have_is_refused(arun):
    agent = Agent(model=ScriptedProvider(default="x"))
    with pytest.raises(TypeError, match="did you mean 'max_steps'"):
        agent.generate("x", max_step=3)
    with pytest.raises(TypeError, match="is not an option of a run"):
        arun(agent.agenerate("x", name="other"))


@pytest.fixture
def slow():
    """A tool that waits; it has the events `started` and `release`."""
    started, release = threading.Event(), threading.Event()

    @tool(read_only=True)
    def slow() -> str:
        """Wait."""
        started.set()
        release.wait(20)
        return "x"

    slow.started, slow.release = started, release
    return slow


def while_running(agent, slow, act, **options):
    """Call `act` during a run, and return the response."""
    responses = []
    thread = threading.Thread(target=lambda: responses.append(agent.generate("x", **options)))
    thread.start()
    assert slow.started.wait(20)
    act()
    slow.release.set()
    thread.join(20)
    return responses[0]


@pytest.mark.parametrize("kind", ["id", "object", "default"])
def test_interrupt_and_steer_accept_ids_of_sessions(kind, slow):
    session = Session(id="ann", store=open_store(":memory:"))
    agent = Agent(session, model=first_then(call("slow"), "done"), tools=[slow])
    named = {} if kind == "default" else {"session": "ann" if kind == "id" else session}
    response = while_running(agent, slow, lambda: agent.interrupt("stop", **named), **named)
    assert (response.outcome, response.interrupt_reason) == ("interrupted", "stop")
    agent.steer("and now?", **named)
    agent.model = ScriptedProvider("answer")
    agent.generate(**named)
    assert [message.content for message in agent.model.calls[0].messages if message.role == "user"] == ["x", "and now?"]


def test_steering_by_id_reaches_the_active_run_and_no_other(slow):
    agent = Agent(model=ScriptedProvider(call("slow"), "first", "second"), tools=[slow], store=open_store(":memory:"))
    while_running(agent, slow, lambda: agent.steer("be quick", session="ann"), session="ann")
    agent.generate("y", session="bob")
    prompts = [
        [message.content for message in Session.open(agent.store, name) if message.role == "user"]
        for name in ("ann", "bob")
    ]
    assert prompts == [["x", "be quick"], ["y"]]
    with pytest.raises(TypeError, match="pass store="):
        Agent(model=ScriptedProvider("x")).interrupt(session="ann")


@pytest.mark.parametrize(
    ("kind", "reply", "value"),
    [
        (str, "hello", "hello"),
        (str, '"quoted"', '"quoted"'),
        (str, "7", "7"),
        (str, '{"a": 1}', '{"a": 1}'),
        (Annotated[str, Field(min_length=2)], "hello", "hello"),
        (str | Answer, "I do not know.", "I do not know."),
        (str | Answer, '{"name": "Ann", "age": 3}', Answer(name="Ann", age=3)),
        (Answer | None | str, '{"name": "Ann"}', '{"name": "Ann"}'),
        (int | str, "7", 7),
        (Literal["red", "blue"], "red", "red"),
        (Literal["red", "blue"], '"blue"', "blue"),
    ],
)
def test_a_type_of_output_may_be_or_include_text(kind, reply, value):
    agent = Agent(model=ScriptedProvider(default=reply), output=kind)
    response = agent.generate("x")
    assert (response.outcome, response.output) == ("completed", value)
    assert (agent.model.calls[0].output_schema is None) == (kind != Literal["red", "blue"])


def test_a_text_that_does_not_fit_is_sent_back():
    agent = Agent(model=ScriptedProvider("no", "hello"), output=Annotated[str, Field(min_length=3)])
    assert agent.generate("x").output == "hello"
    assert "at least 3" in agent.model.calls[1].messages[-1].content


# Threads


def test_functions_of_the_user_and_stores_leave_the_event_loop_free(arun, write):
    """Each function waits for something that only happens while the event loop runs."""
    loops = []

    def block(*_, **__):
        is_running = threading.Event()
        loops[0].call_soon_threadsafe(is_running.set)
        assert is_running.wait(10), "the event loop stood still"

    class Slow(Guardrail):
        def process_input(self, messages, context):
            block()

        def process_output(self, reply, messages, context):
            block()

    class Store(SQLiteStore):
        def open(self, session):
            block()
            return super().open(session)

        def append(self, session, records, *, after, owner=None):
            block()
            return super().append(session, records, after=after, owner=owner)

    def instructions(context):
        block()
        return "Be brief."

    class Audit:
        @hookimpl
        def before_tool_call(self, call):
            block()

    async def main():
        import asyncio

        loops.append(asyncio.get_running_loop())
        session = Session(id="other")
        session.on_message(block)
        options = {"guardrails": [Slow], "hooks": [Audit()], "approve": block, "tools": [write], "policy": rules()}
        agent = Agent(
            model=first_then(call("write", name="q")), instructions=instructions, store=Store(":memory:"), **options
        )
        assert (await agent.agenerate("x", session="new")).interrupted  # nobody has approved
        assert (await agent.agenerate("x", session=session)).interrupted

    arun(main())


@pytest.mark.parametrize("nesting", [0, 1])
def test_an_inline_tool_without_a_limit_runs_in_the_thread_of_its_caller(nesting):
    database = sqlite3.connect(":memory:")
    threads = []

    @tool
    def rows(context: Context) -> int:
        """Count rows."""
        threads.append(threading.get_ident())
        context.progress(1)
        return database.execute("select 1").fetchone()[0]

    options = {"runtime": "inline", "tool_timeout": None}
    tools = [rows]
    model = ScriptedProvider([call("rows", "1"), call("rows", "2")], "done")
    if nesting:
        tools, model = [agent_tool(model, rows, **options)], ScriptedProvider(call("clerk", prompt="a"), "done")
    agent = Agent(model=model, tools=tools, **options)
    events = [type(event).__name__ for event in agent.stream("x") if type(event).__name__.startswith("Tool")]
    assert threads == [threading.get_ident()] * 2
    assert events.count("ToolProgress") == 2
    assert events.index("ToolStarted") < events.index("ToolProgress") < events.index("ToolFinished")
    assert all(message.result.ok for message in results(agent.session))
    database.close()


# Loops and bugs


def test_loops_are_looked_for_within_one_run(write):
    @tool(read_only=True)
    def job_status(job: int) -> dict:
        """Report the state of a job."""
        return {"job": job, "state": "running"}

    agent = Agent(model=first_then(call("job_status", job=1)), tools=[job_status])
    for _ in range(4):
        agent.generate("How is job 1?")
    assert [message.content for message in results(agent.session)] == ['{"job":1,"state":"running"}'] * 4
    agent = Agent(model=ScriptedProvider(*[call("job_status", job=1)] * 4, "done"), tools=[job_status])
    agent.generate("Wait for job 1")
    read = [json.loads(message.content) for message in results(agent.session)]
    assert [message["state"] for message in read] == ["running"] * 4
    assert ["warning" in message for message in read] == [False, False, True, True]


@pytest.mark.parametrize("error", [NameError, TypeError, AttributeError, AssertionError])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_bug_in_a_tool_is_logged_with_its_traceback_once(error, is_async, caplog, arun):
    @tool
    def look(q: str) -> str:
        """Look."""
        raise error("oops")

    clerk = agent_tool(first_then(call("look", q="x")), look)
    agent = Agent(model=ScriptedProvider(call("clerk", prompt="x"), "Sorry."), tools=[clerk])
    assert (arun(agent.agenerate("x")) if is_async else agent.generate("x")).completed
    (record,) = (record for record in caplog.records if record.name == "tools_core")
    assert error.__name__ in record.exc_text or error is record.exc_info[0]
    assert "in look" in caplog.text


def test_an_expected_error_of_a_tool_is_not_logged(caplog):
    @tool
    def look(q: str) -> str:
        """Look."""
        raise ToolError("no such place") if q == "x" else OSError("offline")

    Agent(model=ScriptedProvider(call("look", q="x"), call("look", q="y"), "Sorry."), tools=[look]).generate("x")
    assert not [record for record in caplog.records if record.name == "tools_core"]


# Streams


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_stored", [False, True])
def test_the_first_events_of_a_stream_can_be_taken_apart(is_async, is_stored, arun):
    agent = Agent(model=ScriptedProvider("a b c d", "e f", "more"), store=open_store(":memory:") if is_stored else None)
    options = {"session": "s"} if is_stored else {}

    async def take(stream, count):
        events = []
        async for event in stream:
            events.append(event)
            if len(events) == count:
                break
        return events

    async def main():
        stream = agent.astream("x", **options)
        return [*await take(stream, 1), *await take(stream, 2), *await take(stream, 99)], stream.response

    if is_async:
        events, response = arun(main())
    else:
        stream = agent.stream("x", **options)
        events = [next(iter(stream)), *itertools.islice(stream, 2), *stream]
        response = stream.response
    assert "".join(event.content for event in events if type(event).__name__ == "TextDelta") == "a b c d"
    assert response.completed
    stream = agent.stream("y", **options)
    next(iter(stream))
    del stream
    assert agent.generate(**options).interrupted is False


@pytest.mark.parametrize("kind", ["batch", "one by one", "sub-agent", "approved"])
def test_a_limit_of_tool_calls_holds_for_the_run_with_its_sub_agents(kind, write, delete, performed, store):
    batch = [call("write", str(at), name=str(at)) for at in range(5)]
    if kind == "batch":
        model, tools = ScriptedProvider(batch, "done"), [write]
    elif kind == "one by one":
        model, tools = ScriptedProvider(*([each] for each in batch), "done"), [write]
    elif kind == "sub-agent":
        model = ScriptedProvider([call("clerk", prompt="a")], "the clerk was stopped")
        tools = [agent_tool(ScriptedProvider(*([each] for each in batch), "done"), write)]
    else:
        model, tools = ScriptedProvider([call("delete", str(at), name=str(at)) for at in range(5)], "done"), [delete]
    limit = 4 if kind == "sub-agent" else 3
    agent = Agent(Session(store=store), model=model, tools=tools, max_tool_calls=limit)
    response = agent.generate("x")
    if kind == "approved":
        assert response.interrupt_reason == "approval_required"
        for request in response.pending:
            agent.session.approve(request["call_id"])
        response = agent.generate()
    assert len(performed) == 3
    if kind == "sub-agent":
        assert response.completed
        assert "max_tool_calls" in results(agent.session)[0].content
        return
    assert (response.outcome, response.interrupt_reason) == ("interrupted", "max_tool_calls")
    if kind != "one by one":
        assert len(agent.session.pending_tool_calls) == 2
    assert agent.generate().completed or kind == "approved"
    assert len(performed) in (5, 3)


@dataclass
class Desk:
    """A context that is not a mapping."""

    user: str
    notes: list[str] = field(default_factory=list)


def test_a_context_may_be_any_object():
    @tool
    def note(context: Context, text: str) -> str:
        """Note something."""
        context.state.notes.append(text)
        return f"{context.state.user}: {', '.join(context.state.notes)}"

    events = []

    class Check(Guardrail):
        def process_input(self, messages, context):
            events.append(context.user)

    clerk = agent_tool(first_then(call("note", text="inner")), note, output_budget=None)
    model = ScriptedProvider(
        [call("note", "1", text="a"), call("clerk", "2", prompt="go"), call("note", "3", text="b")], "done"
    )
    agent = Agent(
        context=Desk("ann"),
        model=model,
        tools=[note, clerk],
        instructions=lambda context: f"You help {context.user}.",
        guardrails=[Check],
    )
    desk = Desk("bob")
    agent.generate("x", context=desk)
    assert agent.session[0].content == "You help bob."
    assert events == ["bob"]
    assert desk.notes == ["a", "inner", "b"]
    assert results(agent.session)[0].content == "bob: a"
    agent.model = ScriptedProvider("hello")
    agent.generate("y")
    assert (events[-1], agent.context) == ("ann", Desk("ann"))


# Guardrails of tools


class ToolGuard(Guardrail):
    """Changes, answers and blocks calls and results by their text."""

    def process_tool_input(self, call, context):
        name = call.arguments.get("name", "")
        if name == "block":
            return Block("bad input")
        if name == "answer":
            return Result.text("answered")
        return ToolCall(call.id, call.name, {"name": name.upper()}) if name == "change" else None

    def process_tool_output(self, call, result, context):
        if "secret" in str(result):
            return Result.text(str(result).replace("secret", "***"))
        if "leak" in str(result):
            return Block("bad output")
        if "crash" in str(result):
            raise RuntimeError("oops")
        return None


class AsyncToolGuard(ToolGuard):
    async def process_tool_input(self, call, context):
        return super().process_tool_input(call, context)

    async def process_tool_output(self, call, result, context):
        return super().process_tool_output(call, result, context)


@pytest.mark.parametrize("guard", [ToolGuard, AsyncToolGuard])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_nested", [False, True])
def test_guardrails_check_the_input_and_output_of_tools(guard, is_async, is_nested, write, performed, arun):
    def outcome(name):
        performed.clear()
        calls = [call("write", "1", name=name), call("write", "2", name="later")]
        tools = [write]
        model = ScriptedProvider(calls, "done")
        if is_nested:
            tools, model = [agent_tool(model, write)], ScriptedProvider(call("clerk", prompt="a"), "done")
        agent = Agent(model=model, tools=tools, guardrails=[guard])
        response = arun(agent.agenerate("x")) if is_async else agent.generate("x")
        first = results(agent.session)[0]
        return response, list(performed), first.result

    response, names, result = outcome("change")
    assert (response.outcome, names) == ("completed", ["CHANGE", "later"])
    assert outcome("answer")[1] == ["later"]
    response, names, _ = outcome("block")
    assert (response.outcome, response.tripwire.phase, response.tripwire.reason) == (
        "blocked",
        "tool_input",
        "bad input",
    )
    assert names == []
    response, names, result = outcome("leak")
    assert (response.outcome, response.tripwire.phase, names) == ("blocked", "tool_output", ["leak"])
    if not is_nested:
        assert outcome("secret")[2].content == "wrote ***"
        assert outcome("crash")[2].error_type == "unavailable"
        assert result.error_type == "denied"


def test_the_policy_decides_about_a_call_that_a_guardrail_has_changed(write, performed):
    policy = rules({**DENY, "arguments": {"name": "CHANGE"}}, {"decision": "allow"})
    model = ScriptedProvider(call("write", name="change"), "done")
    Agent(model=model, tools=[write], guardrails=[ToolGuard], policy=policy).generate("x")
    assert performed == []


# External tools

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": False}


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("value", [{"color": "blue"}, "blue", None, Result.error("closed", type="unavailable")])
def test_the_result_of_an_external_tool_is_brought_later(value, is_nested, store, write, performed):
    model = ScriptedProvider([call("write", "w", name="a"), call("pick", "p/1", q="Wall?")], "picked")
    tools = [write, external_tool("pick", "Pick a color.", SCHEMA)]
    if is_nested:
        tools, model = [agent_tool(model, *tools)], ScriptedProvider(call("clerk", "c", prompt="a"), "done")
    agent = Agent(Session(store=store), model=model, tools=tools)
    response = agent.generate("x")
    assert (response.interrupt_reason, performed) == ("result_required", ["a"])
    (pending,) = response.pending
    assert (pending["tool"], pending["arguments"]) == ("pick", {"q": "Wall?"})
    assert agent.generate().interrupted  # nothing has come yet
    with pytest.raises(KeyError):
        agent.session.approve(pending["call_id"])
    with pytest.raises(KeyError, match="waits for its result"):
        agent.session.add_result("other", value)
    agent.session.add_result(pending["call_id"], value)
    assert agent.generate().completed
    assert performed == ["a"]
    session = agent.session
    if is_nested:
        assert results(session)[0].content == "picked"
    else:
        expected = value if isinstance(value, Result) else Result.ok(value)
        assert results(session)[1].result == expected


def test_a_policy_and_the_schema_hold_for_calls_of_external_tools():
    pick = external_tool("pick", "Pick a color.", SCHEMA)
    calls = [call("pick", "1", q=7), call("pick", "2", q="Wall?")]
    policy = rules({"decision": "deny", "tool": "pick", "arguments": {"q": "Wall?"}}, {"decision": "allow"})
    agent = Agent(model=ScriptedProvider(calls, "done"), tools=[pick], policy=policy)
    assert agent.generate("x").completed
    assert [message.error_type for message in results(agent.session)] == ["validation_error", "denied"]


def test_an_interrupt_during_the_last_guardrail_counts():
    class Late(Guardrail):
        def process_output(self, reply, messages, context):
            thread = threading.Thread(target=lambda: agent.interrupt("stop"))
            thread.start()
            thread.join()

    agent = Agent(model=ScriptedProvider("reply"), guardrails=[Late])
    assert agent.generate("x").interrupt_reason == "stop"
    assert agent.generate().content == "reply"
