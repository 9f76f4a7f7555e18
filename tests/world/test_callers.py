"""Synchronous runs in the code of any caller: scripts, callbacks, threads, event loops, forks."""

import asyncio
import gc
import multiprocessing
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import anyio
import pytest

from tools_agent import (
    Agent,
    Assistant,
    Guardrail,
    ScriptedProvider,
    Stream,
    TextDelta,
    ToolFinished,
    ToolStarted,
    UsageUpdate,
    open_store,
)
from tools_core import Context, ToolCall, tool
from tools_runtime import hookimpl


def call(name, id=None, /, **arguments):
    return ToolCall(id, name, arguments)


def results(session):
    return [message for message in session if message.role == "tool"]


@tool
async def nap() -> str:
    """Sleep a moment."""
    await asyncio.sleep(0)
    return "slept"


def worker():
    return Agent(model=ScriptedProvider(call("nap"), "inner"), tools=[nap])


async def one():
    await asyncio.sleep(0)
    return 1


CODE = {  # what code of the user does, which is ordinary code
    "asyncio.run": lambda: asyncio.run(one()),
    "generate": lambda: worker().generate("Go").content,
    "stream": lambda: [type(event) for event in worker().stream("Go")],
    "agenerate": lambda: asyncio.run(worker().agenerate("Go")).content,
}


@pytest.mark.parametrize("code", CODE.values(), ids=CODE)
@pytest.mark.parametrize(
    "place",
    [
        "callback",
        "guardrail",
        "approve",
        "tool guardrail",
        "question",
        "hook",
        "instructions",
        "inline tool",
        "consumer",
    ],
)
def test_synchronous_user_code_runs_in_the_thread_of_the_caller(place, code):  # noqa: C901  (one per place)
    threads, expected = [], code()

    def work(*_, **__):
        threads.append(threading.get_ident())
        assert code() == expected

    class Check(Guardrail):
        def process_input(self, messages, context):
            work()

    class Hook:
        @hookimpl
        def before_model_request(self, request):
            work()

    @tool(requires_approval=place == "approve")
    def act(context: Context) -> str:
        """Act."""
        if place == "inline tool":
            work()
        if place == "question":
            context.ask("Really?")
        return "acted"

    class CheckTool(Guardrail):
        def process_tool_input(self, call, context):
            work()

    options = {
        "tool guardrail": {"guardrails": [CheckTool]}, "question": {"on_ask": lambda question: work() or "yes"},
        "guardrail": {"guardrails": [Check]}, "hook": {"hooks": [Hook()]},
        "approve": {"approve": lambda request: work() or True},
        "instructions": {"instructions": lambda context: work() or "Be brief."},
        "inline tool": {"runtime": "inline", "tool_timeout": None},
    }.get(place, {})  # fmt: skip
    agent = Agent(model=ScriptedProvider(call("act"), "done"), tools=[act], **options)
    if place == "callback":
        agent.session.on_message(work)
    stream = agent.stream("Go")
    for event in stream:
        if place == "consumer" and isinstance(event, ToolStarted):
            work()
    assert stream.response.content == "done"
    assert results(agent.session)[0].result.ok
    assert set(threads) == {threading.get_ident()}


def test_asynchronous_user_code_runs_in_the_event_loop_of_the_run():
    loops = []

    async def keep(*_):
        loops.append(asyncio.get_running_loop())

    class Check(Guardrail):
        async def process_output(self, reply, messages, context):
            await keep()

    @tool(requires_approval=True)
    async def act() -> str:
        """Act."""
        await keep()
        return "acted"

    async def approve(request):
        await keep()
        return True

    agent = Agent(model=ScriptedProvider(call("act"), "done"), tools=[act], guardrails=[Check], approve=approve)
    agent.session.on_message(keep)
    assert agent.generate("Go").content == "done"
    assert len(loops) == 7
    assert len(set(loops)) == 1


def test_runs_of_a_thread_share_a_loop_one_after_the_other():
    loops = []

    @tool
    async def look() -> str:
        """Look."""
        loops.append(asyncio.get_running_loop())
        return "x"

    for _ in range(3):
        Agent(model=ScriptedProvider(call("look"), "done"), tools=[look]).generate("Go")
    assert len(set(loops)) == 1


@pytest.mark.parametrize("kind", ["generate", "stream"])
def test_a_run_works_in_a_thread_that_runs_an_event_loop(kind):
    async def notebook():
        agent = worker()
        if kind == "generate":
            return agent.generate("Go").content
        stream = agent.stream("Go")
        kinds = [type(event) for event in stream]
        assert kinds.index(ToolStarted) < kinds.index(ToolFinished)
        return stream.response.content

    assert asyncio.run(notebook()) == "inner"


@pytest.mark.parametrize("is_stored", [False, True])
def test_each_event_of_a_stream_may_be_taken_by_another_thread(is_stored):
    agent = Agent(
        model=ScriptedProvider(call("nap"), "a b c"), tools=[nap], store=open_store(":memory:") if is_stored else None
    )
    stream = agent.stream("Go")
    events = []
    while True:  # as web frameworks iterate over generators
        with ThreadPoolExecutor(1) as pool:
            event = pool.submit(next, stream, None).result()
        if event is None:
            break
        events.append(event)
    assert "".join(event.content for event in events if isinstance(event, TextDelta)) == "a b c"
    assert stream.response.completed


def test_many_threads_run_one_agent():
    agent = Agent(
        model=ScriptedProvider(default=lambda request: call("nap") if request.messages[-1].role == "user" else "ok"),
        tools=[nap],
        store=open_store(":memory:"),
    )
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(lambda number: agent.generate("Go", session=f"s{number}").content, range(48)))
    assert outcomes == ["ok"] * 48


def test_the_pauses_of_a_consumer_count_for_no_time_limit():
    class Slow(ScriptedProvider):
        async def astream(self, request):
            async with asyncio.timeout(0.5):
                async for piece in super().astream(request):
                    yield piece

    stream = Agent(model=Slow("a b c")).stream("Go")
    next(stream)
    time.sleep(0.7)
    list(stream)
    assert stream.response.content == "a b c"


def test_the_consumer_sees_that_an_inline_tool_starts_before_it_runs():
    order = []

    @tool
    def act() -> str:
        """Act."""
        order.append(act)
        return "x"

    agent = Agent(model=ScriptedProvider(call("act"), "done"), tools=[act], runtime="inline", tool_timeout=None)
    order.extend(type(event) for event in agent.stream("Go"))
    assert order.index(ToolStarted) < order.index(act) < order.index(ToolFinished)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pthread_kill")
@pytest.mark.parametrize("place", ["callback", "inline tool", "async tool", "model", "consumer"])
@pytest.mark.parametrize("kind", ["generate", "stream"])
def test_ctrl_c_ends_a_run_and_keeps_the_received_text(place, kind):  # noqa: C901  (one per place)
    def press(*_):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.001)

    @tool
    def act() -> str:
        """Act."""
        if place == "inline tool":
            press()
        return "acted"

    @tool
    async def wait() -> str:
        """Wait."""
        press()
        await asyncio.sleep(60)
        return "never"

    class Silent(ScriptedProvider):
        async def astream(self, request):
            if place == "model" and len(self.calls) == 1:
                self.calls.append(request)
                press()
                await asyncio.sleep(60)
            async for piece in super().astream(request):
                yield piece

    name = "wait" if place == "async tool" else "act"
    options = {"runtime": "inline", "tool_timeout": None} if place == "inline tool" else {}
    agent = Agent(model=Silent([call(name, "1")], "done"), tools=[act, wait], store=open_store(":memory:"), **options)
    if place == "callback":
        agent.session.on_message(lambda message: message.role == "tool" and press())

    def run():
        if kind == "generate" and place != "consumer":
            agent.generate("Go")
            return
        stream = agent.stream("Go")
        for event in stream:
            if place == "consumer" and isinstance(event, ToolFinished):
                press()

    with pytest.raises(KeyboardInterrupt):
        run()
    last = agent.session.history[-1]
    assert (last.kind, last.data["outcome"]) == ("run_finished", "interrupted")
    assert [message.role for message in agent.session][:2] == ["user", "assistant"]
    assert len(results(agent.session)) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    agent.session.log.callbacks.clear()
    assert agent.generate().content == "done"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs SIGALRM")
@pytest.mark.parametrize("place", ["async tool", "thread", "stream", "notebook"])
def test_an_exception_of_a_signal_handler_ends_the_run(place):
    class Late(Exception):  # as job queues and test runners limit the time of a task
        pass

    def alarm(*_):
        raise Late

    release = threading.Event()

    @tool(read_only=True)
    async def wait() -> str:
        """Wait."""
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        await asyncio.sleep(60)
        return "never"

    @tool(read_only=True)
    def block() -> str:
        """Wait in a thread."""
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        release.wait(1)
        return "never"

    async def notebook():
        agent.generate("Go")

    def run():
        if place == "notebook":
            asyncio.run(notebook())
        elif place == "stream":
            list(agent.stream("Go"))
        else:
            agent.generate("Go")

    name = "block" if place == "thread" else "wait"
    agent = Agent(model=ScriptedProvider(call(name), "done"), tools=[wait, block], store=open_store(":memory:"))
    old = signal.signal(signal.SIGALRM, alarm)
    try:
        with pytest.raises(Late):
            run()
    finally:
        signal.signal(signal.SIGALRM, old)
        release.set()
    last = agent.session.history[-1]
    assert (last.kind, last.data["outcome"], last.data["reason"]) == ("run_finished", "interrupted", "Late")
    assert agent.generate().content == "done"


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("kind", ["agenerate", "astream", "consumer"])
def test_a_repeatedly_cancelled_scope_waits_for_the_end_of_the_run(kind, is_stored):
    @tool(read_only=True)
    async def wait() -> str:
        """Wait, and take a while to end."""
        try:
            scope.cancel()
            await asyncio.sleep(60)
        finally:
            for _ in range(5):
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0)
        return "never"

    store = open_store(":memory:") if is_stored else None
    agent = Agent(model=ScriptedProvider(call("wait"), "done"), tools=[wait], store=store)

    async def run():
        nonlocal scope
        with anyio.CancelScope() as scope:
            if kind == "agenerate":
                await agent.agenerate("Go")
            async with agent.astream("Go") as stream:
                async for event in stream:
                    if kind == "consumer" and isinstance(event, ToolStarted):
                        scope.cancel()
                        await anyio.sleep(60)
        last = agent.session.history[-1]
        assert (last.kind, last.data["outcome"]) == ("run_finished", "interrupted")
        assert (await agent.agenerate()).content == "done"

    scope = None
    asyncio.run(run())


@pytest.mark.parametrize("stop", [asyncio.CancelledError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("is_async", [False, True])
def test_an_interrupt_in_the_last_hook_leaves_the_session_free(stop, is_async):
    class Last:
        if is_async:

            @hookimpl
            async def after_run(self):
                raise stop

        else:

            @hookimpl
            def after_run(self):
                raise stop

    with open_store(":memory:") as store:
        agent = Agent("chat", store=store, model=ScriptedProvider("first", "second"), hooks=[Last()])
        with pytest.raises(stop):
            agent.generate("Go")
        assert Agent("chat", store=store, model=ScriptedProvider("other")).generate("Go on").content == "other"
        agent.hooks = []
        assert agent.generate("Go on").content == "second"


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("is_kept", [False, True])
def test_a_run_on_a_closed_event_loop_ends_before_the_next_run(is_kept, is_stored):
    store = open_store(":memory:") if is_stored else None
    agent = Agent(model=ScriptedProvider("first", "second"), store=store)
    runs = []

    async def start():
        stream = agent.astream("Go")
        async for event in stream:
            if isinstance(event, UsageUpdate):
                break
        if is_kept:
            runs.append(stream)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(start())
    loop.close()
    assert agent.generate("And now?").content == "second"
    assert [message.content for message in agent.session] == ["Go", "first", "And now?", "second"]


@pytest.mark.parametrize("is_stored", [False, True])
def test_ctrl_c_while_an_event_is_on_its_way_ends_the_run(is_stored):
    returned = 0

    def press(frame, event, _):
        nonlocal returned
        if event == "return" and frame.f_back is not None and frame.f_back.f_code is Stream.__next__.__code__:
            returned += 1
            if returned == 2:  # with the event; the first one is the event loop
                raise KeyboardInterrupt

    store = open_store(":memory:") if is_stored else None
    agent = Agent(model=ScriptedProvider(default="a b c"), store=store)
    stream = agent.stream("Go")
    sys.setprofile(press)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(stream)
    finally:
        sys.setprofile(None)
    assert agent.generate("And now?").content == "a b c"


def _child(connection):
    connection.send(worker().generate("Go").content)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs fork")
@pytest.mark.parametrize("place", ["before", "inside"])
def test_a_forked_process_starts_new_event_loops(place):
    def fork(*_):
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=_child, args=(theirs,))
        process.start()
        assert ours.poll(20)
        assert ours.recv() == "inner"
        process.join()
        assert process.exitcode == 0

    agent = worker()
    if place == "inside":
        agent.session.on_message(fork)
    assert agent.generate("Go").content == "inner"
    fork()
    assert worker().generate("Go").content == "inner"


def test_context_variables_of_the_caller_are_seen_by_the_code_of_a_run():
    from contextvars import ContextVar

    user = ContextVar("user", default="nobody")
    users = []

    @tool
    def who() -> str:
        """Tell who asks."""
        users.append(user.get())
        return "x"

    agent = Agent(model=ScriptedProvider(call("who"), "done"), tools=[who])
    agent.session.on_message(lambda _: users.append(user.get()))
    user.set("ann")
    agent.generate("Go")
    assert users == ["ann"] * 4


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_may_stream_another_agent_to_the_end(is_async):
    @tool
    def ask(context: Context) -> str:
        """Ask another agent."""
        stream = worker().stream("Go")
        list(stream)
        return stream.response.content

    agent = Agent(model=ScriptedProvider(call("ask"), Assistant(content="done")), tools=[ask])
    assert (asyncio.run(agent.agenerate("Go")) if is_async else agent.generate("Go")).content == "done"
    assert results(agent.session)[0].content == "inner"


def test_a_stream_of_an_ended_thread_may_be_collected_while_another_loop_runs():
    streams = []

    def begin():
        stream = Agent(model=ScriptedProvider("Hi")).stream("Go")
        next(stream)
        streams.append(stream)

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()

    async def collect():
        loop = asyncio.get_running_loop()
        streams.clear()
        gc.collect()
        return asyncio.get_running_loop() is loop

    assert asyncio.run(collect())


def test_a_provider_without_an_asynchronous_method_is_refused():
    class Old:
        def stream(self, request):
            yield Assistant(content="x")

    with pytest.raises(TypeError, match="asynchronous generator"):
        Agent(model=Old()).generate("Hi")
