"""Runs whose callbacks, options, stores and consumers do what the loop does not expect."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_agent import Agent, Guardrail, ScriptedProvider, Session, SQLiteStore, StoreError, external_tool, open_store
from tools_core import Context, ToolCall, tool


def call(name, id=None, /, **arguments):
    return ToolCall(id, name, arguments)


def first_then(first, then="done"):
    """A model that answers `first` to a prompt, and `then` to results."""
    return ScriptedProvider(default=lambda request: first if request.messages[-1].role == "user" else then)


@tool(read_only=True)
def look() -> str:
    """Look."""
    return "seen"


@tool(requires_approval=True, read_only=True)
def pay(number: int) -> str:
    """Pay."""
    return f"paid {number}"


PAYMENTS = [call("pay", str(number), number=number) for number in range(3)]


def generate(agent, mode):
    """Run an agent in one of the ways to run it."""
    if mode == "sync":
        return agent.generate("Go")
    if mode == "async":
        return asyncio.run(agent.agenerate("Go"))
    stream = agent.stream("Go")
    list(stream)
    return stream.response


MODES = pytest.mark.parametrize("mode", ["sync", "async", "stream"])


# -------------------------------------------------------------------------------------------------------- callbacks


@MODES
def test_a_stale_approval_is_cancelled_with_its_run(mode):
    asked, ended = threading.Semaphore(0), []

    async def approve(request):
        asked.release()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(request.call.id)
            raise

    agent = Agent(model=first_then(PAYMENTS), tools=[pay], approve=approve)

    def interrupt():
        for _ in PAYMENTS:
            asked.acquire()
        agent.interrupt("enough")

    threading.Thread(target=interrupt).start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of coroutines that were never awaited
        assert generate(agent, mode).interrupt_reason == "enough"
    assert sorted(ended) == ["0", "1", "2"]


@MODES
@pytest.mark.parametrize("place", ["input", "output", "validator", "message"])
def test_an_interrupt_ends_a_coroutine_of_the_user_that_waits(mode, place):
    is_waiting = threading.Event()

    async def wait(*arguments):
        is_waiting.set()
        await asyncio.sleep(60)

    guard = type("Slow", (Guardrail,), {f"process_{place}": staticmethod(wait)})
    guardrails = [guard] if place in ("input", "output") else []
    validators = [wait] if place == "validator" else []
    agent = Agent(model=ScriptedProvider("Hello"), guardrails=guardrails, output_validators=validators)
    if place == "message":
        agent.session.on_message(wait)

    def interrupt():
        is_waiting.wait()
        agent.interrupt("enough")

    threading.Thread(target=interrupt).start()
    response = generate(agent, mode)
    assert response.interrupt_reason == "enough"
    assert response.content == ("Hello" if place in ("validator", "message") else "")  # only if it was checked


async def _in_task(interrupt):
    task = asyncio.create_task(_later(interrupt))
    await asyncio.wait([task])
    assert task.exception() is None


async def _in_group(interrupt):
    async with asyncio.TaskGroup() as group:
        group.create_task(_later(interrupt))


async def _in_worker(interrupt):
    await asyncio.to_thread(interrupt)


async def _later(interrupt):
    interrupt()


def _in_thread(interrupt):
    with ThreadPoolExecutor() as pool:
        pool.submit(contextvars.copy_context().run, interrupt).exception()


def _in_tool(interrupt):
    @tool
    def stop() -> str:
        """Stop the other agent."""
        interrupt()
        return "stopped"

    Agent(model=first_then(call("stop")), tools=[stop]).generate("Stop it.")


@MODES
@pytest.mark.parametrize("place", [_in_task, _in_group, _in_worker, _in_thread, _in_tool])
def test_threads_and_tasks_of_a_callback_can_interrupt_its_run(mode, place):
    agent = Agent(model=first_then(call("look")), tools=[look])
    agent.session.on_message(lambda _: place(lambda: agent.interrupt("enough")))
    response = generate(agent, mode)
    assert (response.outcome, response.interrupt_reason) == ("interrupted", "enough")


# ---------------------------------------------------------------------------------------------------------- options


@MODES
def test_functions_among_the_options_may_be_coroutine_functions(mode):
    loops = []

    async def model():
        return ScriptedProvider(call("look"), "done")

    async def tools(context):
        return [look] if context["may_look"] else []

    async def instructions(context, session):
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return "Be brief."

    agent = Agent(model=model, tools=tools, instructions=instructions, context={"may_look": True})
    if mode == "async":  # clients of the user belong to the event loop of the run

        async def main():
            response = await agent.agenerate("Go")
            assert loops == [asyncio.get_running_loop()]
            return response

        response = asyncio.run(main())
    else:
        response = generate(agent, mode)
    assert response.completed
    assert [message.role for message in response.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert response.messages[0].content == "Be brief."


@MODES
def test_the_instructions_of_a_sub_agent_may_be_a_coroutine_function(mode):
    class Clerk(Agent):
        """Works."""

        model = ScriptedProvider(default=lambda request: request.messages[0].content)

        async def instructions(self):
            return "Be a clerk."

    agent = Agent(model=first_then(call("clerk", prompt="Work.")), tools=[Clerk.as_tool()])
    assert generate(agent, mode).messages[2].content == "Be a clerk."


# ----------------------------------------------------------------------------------------------------------- stores


class FailingStore:
    """A store of which one append fails."""

    def __init__(self, store, number):
        self._store, self._left = store, number

    def __getattr__(self, name):
        return getattr(self._store, name)

    def append(self, *args, **kwargs):
        self._left -= 1
        if self._left == 0:
            raise StoreError("the disk was full for a moment")
        return self._store.append(*args, **kwargs)


@pytest.mark.parametrize("number", range(1, 11))
def test_results_of_calls_are_recorded_though_one_record_of_their_batch_failed(number):
    ran = []

    @tool(idempotent=True)
    def put(number: int) -> str:
        """Put."""
        ran.append(number)
        return f"put {number}"

    calls = [call("put", str(number), number=number) for number in range(3)]
    store, model = SQLiteStore(":memory:"), first_then(calls)
    agent = Agent("s", store=FailingStore(store, number), model=model, tools=[put], runtime="thread")
    try:
        agent.generate("Go")
    except StoreError:
        before = list(ran)
        results = [message for message in Session.open(store, "s") if message.role == "tool"]
        assert all(result.content == f"put {result.tool_call_id}" for result in results)
    agent = Agent("s", store=store, model=model, tools=[put])
    response = agent.generate(None if len(agent.session) else "Go")
    assert [message.content for message in response.messages if message.role == "tool"] == ["put 0", "put 1", "put 2"]
    assert len(ran) <= 3 + len([id for id in before if str(id) not in {result.tool_call_id for result in results}])


def test_an_event_loop_never_writes_to_a_store_in_its_thread():
    @tool
    def ask(context: Context) -> str:
        """Ask."""
        return context.ask("Which?") or ""

    class Store(FailingStore):
        def append(self, session, records, **kwargs):
            if threading.current_thread() is loop_thread:
                written.extend(record.kind for record in records)
            return self._store.append(session, records, **kwargs)

    written, loop_thread = [], None
    store = Store(SQLiteStore(":memory:"), 0)
    model = first_then([*PAYMENTS, call("ask")])
    agent = Agent("s", store=store, model=model, tools=[pay, ask], approve=lambda _: "run", on_ask=lambda _: "this one")

    async def main():
        nonlocal loop_thread
        loop_thread = threading.current_thread()
        return await agent.agenerate("Go")

    assert asyncio.run(main()).completed
    assert "approval_given" in {record.kind for record in agent.session.history}
    assert written == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python warns of a fork beside threads
def test_a_forked_process_uses_the_store_while_its_parent_writes(tmp_path):
    store, over = SQLiteStore(tmp_path / "sessions"), threading.Event()
    model = first_then(call("look"))

    def write():
        agent = Agent("parent", store=store, model=model, tools=[look])
        while not over.wait(0.01):
            agent.generate("Go")

    def run(number):
        signal.alarm(30)  # ends a child that hangs
        code = 1
        try:
            code = not Agent(f"child {number}", store=store, model=model, tools=[look]).generate("Go").completed
        finally:
            os._exit(code)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(15):
            child = os.fork()
            if not child:
                run(number)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        over.set()
        writer.join()
    assert len(store.sessions()) == 16


# ---------------------------------------------------------------------------------------------------------- streams


def test_a_stream_refuses_a_second_consumer_while_it_waits():
    agent = Agent(model=first_then(call("look")), tools=[look])
    stream = agent.stream("Go")
    agent.session.on_message(lambda _: next(stream))
    with pytest.raises(RuntimeError, match="in another thread or below a callback"):
        list(stream)


@pytest.mark.parametrize("place", ["callback", "thread"])
def test_a_stream_can_be_closed_while_it_waits(place):
    agent = Agent(model=first_then(call("wait")), tool_timeout=None)

    @tool
    def wait(context: Context) -> str:
        """Wait."""
        if place == "thread":
            threading.Thread(target=stream.close).start()
            while not context.cancelled:
                time.sleep(0.001)
        return "waited"

    agent.tools = [wait]
    stream = agent.stream("Go")
    if place == "callback":
        agent.session.on_message(lambda _: stream.close())
    list(stream)
    assert (stream.response.outcome, stream.response.interrupt_reason) == ("interrupted", "Closed")


@pytest.mark.parametrize(
    ("tool_name", "answer", "result"),
    [
        ("delete", lambda session: session.approve("1"), "deleted"),
        ("delete", lambda session: session.deny("1", "no"), "delete was not called: denied: no"),
        ("ask", lambda session: session.answer("1", "Ann"), "Ann"),
        ("pick", lambda session: session.add_result("1", "blue"), "blue"),
    ],
)
@pytest.mark.parametrize("is_stored", [False, True])
def test_answers_given_during_other_calls_continue_the_run(tool_name, answer, result, is_stored):
    @tool(requires_approval=True)
    def delete() -> str:
        """Delete a file."""
        return "deleted"

    @tool
    def ask(context: Context) -> str:
        """Ask the user."""
        return context.ask("Who?") or ""

    @tool
    def talk() -> str:
        """Talk to the user, who answers."""
        answer(agent.session)
        return "done"

    model = ScriptedProvider([ToolCall("1", tool_name), ToolCall("2", "talk")], "Fine.")
    pick = external_tool("pick", "Pick a color.", {"type": "object", "properties": {}})
    options = {"store": open_store(":memory:")} if is_stored else {}
    agent = Agent(model=model, tools=[delete, ask, talk, pick], **options)
    response = agent.generate("Go")
    assert (response.outcome, response.content, response.pending) == ("completed", "Fine.", ())
    results = [message.content for message in agent.session if message.role == "tool"]
    assert len(results) == 2
    assert results[0].startswith(result)
    assert "done" in results[1]
