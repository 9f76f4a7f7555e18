"""Limits and cancellation: calls end when they should, on every runtime, and say why."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from tools_core import Context, ToolCall, tool
from tools_runtime import AsyncRuntime, Executor, InlineRuntime, Runtime, ThreadRuntime, hookimpl

RUNTIMES = ["inline", "thread", "async"]
CALL = [ToolCall("1", "wait", {})]


class Gate:
    """A tool that has begun, and ends when it is let go."""

    def __init__(self):
        self.begun, self.release, self.ended = threading.Event(), threading.Event(), threading.Event()

    def blocking(self, **options):
        @tool(name="wait", **options)
        def wait() -> str:
            """Wait."""
            self.begun.set()
            self.release.wait(30)
            self.ended.set()
            return "late"

        return wait

    def coroutine(self, **options):
        @tool(name="wait", **options)
        async def wait() -> str:
            """Wait."""
            self.begun.set()
            try:
                await asyncio.sleep(30)
            finally:
                self.ended.set()
            return "late"

        return wait


@pytest.fixture
def gate():
    new_gate = Gate()
    yield new_gate
    new_gate.release.set()


def patient(name):
    """A runtime that waits long for a coroutine to end, since the machine may be busy."""
    runtime = {"inline": InlineRuntime, "thread": ThreadRuntime, "async": AsyncRuntime}[name]()
    runtime.grace = 20.0
    return runtime


def cancel_when(signal, context):
    threading.Thread(target=lambda: signal.wait(20) and context.cancel(), daemon=True).start()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_cancelling_the_context_ends_a_coroutine_at_once(runtime, gate, run, make):
    context = Context()
    cancel_when(gate.begun, context)
    result = run(make([gate.coroutine()], runtime=patient(runtime)), CALL, context)[0][1]
    assert result.error_type == "cancelled"
    assert gate.ended.wait(20)  # where the machine was busy, the call ended first


@pytest.mark.parametrize("runtime", ["auto", *RUNTIMES])
def test_cancelling_the_context_abandons_a_thread(runtime, gate, run, make):
    context = Context()
    cancel_when(gate.begun, context)
    result = run(make([gate.blocking()], runtime=runtime), CALL, context)[0][1]
    assert (result.error_type, result.metadata["abandoned"]) == ("cancelled", True)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_calls_of_a_cancelled_context_do_not_begin(runtime, gate, run, make, recorder):
    context = Context()
    context.cancel()
    executor = make([gate.blocking()], runtime=runtime, hooks=[recorder])
    assert run(executor, CALL, context)[0][1].error_type == "cancelled"
    assert not gate.begun.is_set()
    assert recorder.kinds == ["start", "end"]


@pytest.mark.parametrize(
    ("runtime", "options", "default", "timeout", "set_by"),
    [
        ("inline", {"timeout": 0.5}, 10, None, "the tool"),
        ("thread", {"timeout": 0.5}, 10, None, "the tool"),
        ("async", {}, 0.5, None, "the executor's default_timeout"),
        ("inline", {}, None, 0.5, "the caller"),
    ],
)
def test_a_timeout_names_the_limit_and_its_origin(runtime, options, default, timeout, set_by, gate, run, make):
    executor = make([gate.coroutine(**options)], runtime=patient(runtime), default_timeout=default)
    result = run(executor, CALL, Context(timeout=timeout))[0][1]
    assert result.error_type == "timeout_error"
    assert f"Timed out after 0.5 s (limit set by {set_by})" in str(result)
    assert gate.ended.is_set()


@pytest.mark.parametrize("runtime", [None, "auto", *RUNTIMES])
def test_a_synchronous_tool_is_abandoned_at_its_limit(runtime, gate, run, make, recorder):
    executor = make([gate.blocking(timeout=0.05)], runtime=runtime, hooks=[recorder])
    result = run(executor, CALL)[0][1]
    assert (result.error_type, result.metadata["abandoned"]) == ("timeout_error", True)
    assert "may still be running" in str(result)
    gate.release.set()
    assert gate.ended.wait(20)
    assert recorder.kinds == ["start", "end"]


def test_a_runtime_with_its_own_dispatch_ends_a_call_at_its_limit(gate, run, make):
    class Elsewhere(Runtime):
        def dispatch_tool_call(self, call, *, tools, context):
            gate.begun.set()
            gate.release.wait(30)

    result = run(make([gate.blocking(timeout=0.05)], runtime=Elsewhere), CALL)[0][1]
    assert (result.error_type, result.metadata["abandoned"]) == ("timeout_error", True)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_tool_that_manages_its_time_is_not_cut_by_the_default_limit(runtime, run, make):
    @tool(manages_timeout=True)
    async def own(context: Context) -> float | None:
        """Work until the deadline has passed."""
        while context.remaining:
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        return context.remaining

    executor = make([own], runtime=runtime, default_timeout=0.01)
    assert run(executor, [ToolCall("1", "own", {})])[0][1].output is None
    result = run(executor, [ToolCall("1", "own", {})], Context(timeout=0.5))[0][1]
    assert result.output == 0.0  # the caller's deadline has passed, within the margin


def test_waiting_for_a_turn_ends_with_the_callers_deadline(gate, make):
    runtime = ThreadRuntime(1)
    batch = [ToolCall(str(n), "wait", {}) for n in range(2)]
    first, second = make([gate.blocking()], runtime=runtime).execute(batch, Context(timeout=0.1))
    assert first[1].metadata["abandoned"]
    assert second[1].error_type == "timeout_error"


# ---------------------------------------------------------------------------------------------------- concurrency


class Meter:
    """Counts the calls that run at once: `with meter:` in each, then `meter.peak`."""

    def __init__(self):
        self.running = self.peak = 0
        self._lock = threading.Lock()

    def __enter__(self):
        with self._lock:
            self.running += 1
            self.peak = max(self.peak, self.running)

    def __exit__(self, *_):
        with self._lock:
            self.running -= 1


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_max_concurrency_holds_for_all_callers_of_an_executor(runtime, make):
    meter, three = Meter(), threading.Event()

    @tool
    def work() -> None:
        """Work beside two others."""
        with meter:
            if meter.peak == 3:
                three.set()
            three.wait(20)

    executor = make([work], runtime=runtime, max_concurrency=3)
    batch = [ToolCall(str(n), "work", {}) for n in range(3)]
    users = [threading.Thread(target=executor.execute, args=(batch,)) for _ in range(6)]
    for user in users:
        user.start()
    for user in users:
        user.join(30)
    assert meter.peak == 3


def test_a_call_inside_a_call_needs_no_second_place(make):
    @tool
    def leaf() -> str:
        """Answer."""
        return "leaf"

    @tool
    def outer() -> str:
        """Call another tool of the same executor."""
        return str(executor.call_tool("leaf"))

    executor = make([leaf, outer], runtime="thread", max_concurrency=1)
    assert executor.call_tool("outer", None, Context(timeout=20)).output == "leaf"


@pytest.mark.slow
def test_many_synchronous_calls_in_an_event_loop_use_a_bounded_number_of_threads(make):
    meter = Meter()

    @tool
    def work() -> None:
        """Take a moment."""
        with meter:
            threading.Event().wait(0.001)

    executor = make([work], runtime=AsyncRuntime())
    pairs = asyncio.run(executor.aexecute([ToolCall(str(n), "work", {}) for n in range(1000)]))
    assert all(result.error_type is None for _, result in pairs)
    assert meter.peak <= 64


# ---------------------------------------------------------------------------------------------------- events and hooks


class Witness:
    """Sees what its `yield` gives."""

    def __init__(self):
        self.results = []
        self.seen = threading.Event()

    @hookimpl
    def around_tool_call(self, context):
        self.results.append((yield))
        self.results.append((yield))  # at once, since the caller has left
        self.seen.set()


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
@pytest.mark.parametrize("leaves_by", ["cancelled task", "context"])
def test_hooks_see_that_the_caller_has_left(runtime, leaves_by, gate, make, recorder):
    witness, context = Witness(), Context()
    executor = make([gate.coroutine()], runtime=runtime, hooks=[recorder, witness])

    async def leave():
        task = asyncio.create_task(executor.acall(CALL[0], context=context))
        while not gate.begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel() if leaves_by == "cancelled task" else context.cancel()
        await asyncio.wait([task])

    asyncio.run(leave())
    assert witness.seen.wait(20)
    recorder.wait_for("end")
    assert [result.error_type for result in witness.results] == ["cancelled", "cancelled"]
    assert recorder.kinds == ["start", "end"]


def test_stopping_an_iteration_cancels_running_calls(gate, make, recorder):
    @tool
    def quick() -> str:
        """Answer."""
        return "quick"

    executor = make([quick, gate.blocking()], runtime="thread", hooks=[recorder])
    results = executor.iterate([ToolCall("1", "quick", {}), *CALL])
    next(results)
    assert gate.begun.wait(20)
    results.close()
    recorder.wait_for("end", 2)
    assert recorder.kinds.count("start") == recorder.kinds.count("end") == 2
    assert recorder.events[-1].result.error_type == "cancelled"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_events_carry_run_attempt_and_context_and_no_progress_follows_the_end(runtime, run, make, recorder):
    reports = []

    @tool
    async def steps(context: Context) -> str:
        """Report."""
        reports.append(context.progress)
        context.progress(1, 2, "half")
        return "done"

    class Again:
        @hookimpl
        def around_tool_call(self):
            yield
            reports[0](9, 9, "late report of the first attempt")
            return (yield)

    received = []
    context = Context(run_id="r1", on_progress=lambda *progress: received.append(progress))
    run(make([steps], runtime=runtime, hooks=[recorder, Again()]), [ToolCall("1", "steps", {})], context)
    for report in reports:
        report(9, 9, "after the end")
    assert recorder.kinds == ["start", "progress", "retry", "progress", "end"]
    assert [event.attempt for event in recorder.events] == [0, 1, 2, 2, 2]
    assert {event.run_id for event in recorder.events} == {"r1"}
    assert len({id(event.context) for event in recorder.events}) == 1
    assert received == [(1, 2, "half")] * 2


def test_a_keyboard_interrupt_ends_its_call_for_the_hooks_and_reaches_the_caller(make, recorder):
    @tool
    def interrupted() -> None:
        """Behave like Ctrl-C."""
        raise KeyboardInterrupt

    results = []

    class Look:
        @hookimpl
        def around_tool_call(self):
            results.append((yield))

    with pytest.raises(KeyboardInterrupt):
        make([interrupted], hooks=[recorder, Look()]).call_tool("interrupted")
    assert [result.error_type for result in results] == ["cancelled"]
    assert recorder.kinds == ["start", "end"]


@pytest.fixture
def partial_tool(gate):
    @tool(name="wait", manages_timeout=True)
    def wait(context: Context) -> str:
        """Work until the call is cancelled, and return the partial output."""
        gate.begun.set()
        while not (context.cancelled or gate.release.wait(0.01)):
            pass
        return "partial output"

    return wait


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_cancelled_tool_may_return_its_partial_output(runtime, gate, partial_tool, run, make):
    context = Context()
    cancel_when(gate.begun, context)
    assert run(make([partial_tool], runtime=runtime), CALL, context)[0][1].output == "partial output"


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_hooks_receive_the_partial_output_of_an_interrupted_call(runtime, gate, partial_tool, make):
    outputs, has_output = [], threading.Event()

    class Look:
        @hookimpl
        def after_tool_call(self, result):
            outputs.append(result.output)
            has_output.set()

    def interrupt():
        gate.begun.wait(20)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        make([partial_tool], runtime=runtime, hooks=[Look()]).execute(CALL)
    assert has_output.wait(20)
    assert outputs == ["partial output"]


def test_hundreds_of_waiting_calls_that_time_out_leave_the_gate_intact(gate, make):
    executor = make([gate.blocking()], runtime="thread", max_concurrency=1)
    holder = threading.Thread(target=executor.execute, args=(CALL,))
    holder.start()
    assert gate.begun.wait(20)

    async def wait_in_vain():
        return await asyncio.gather(*(executor.aexecute(CALL, Context(timeout=0.3)) for _ in range(600)))

    batches = asyncio.run(wait_in_vain())
    assert {result.error_type for [(_, result)] in batches} == {"timeout_error"}
    gate.release.set()
    holder.join(20)
    assert executor.call_tool("wait", None, Context(timeout=20)).output == "late"


@pytest.mark.slow
@pytest.mark.parametrize("ends_by", ["timeout_error", "cancelled"])
def test_an_async_hook_that_hangs_ends_with_the_callers_limit(ends_by, run, make):
    hangs = threading.Event()

    class Hang:
        @hookimpl
        async def around_tool_call(self, call_next):
            hangs.set()
            await asyncio.sleep(3600)
            return await call_next()

    @tool
    def quick() -> int:
        """Return at once."""
        return 1

    context = Context(timeout=0.05 if ends_by == "timeout_error" else 3600)
    if ends_by == "cancelled":
        cancel_when(hangs, context)
    result = run(make([quick], hooks=[Hang()]), [ToolCall("1", "quick", {})], context)[0][1]
    assert result.error_type == ends_by


@pytest.mark.slow
def test_an_async_hook_that_hangs_after_the_call_loses_no_result(run, make):
    class Hang:
        @hookimpl
        async def after_tool_call(self, result):
            await asyncio.sleep(3600)

    @tool
    def quick() -> int:
        """Return at once."""
        return 1

    executor = make([quick], hooks=[Hang()])
    assert run(executor, [ToolCall("1", "quick", {})], Context(timeout=0.5))[0][1].output == 1


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("limit", [10.0, None])
@pytest.mark.parametrize("runtime", ["auto", "async"])
def test_many_calls_use_64_threads(runtime, limit, is_async):
    lock, running, peak, threads = threading.Lock(), set(), [0], [0]
    before = threading.active_count()

    @tool(read_only=True)
    def slow(number: int) -> str:
        """Wait until others run as well."""
        with lock:
            running.add(number)
            peak[0] = max(peak[0], len(running))
            threads[0] = max(threads[0], threading.active_count() - before)
        threading.Event().wait(0.05)
        with lock:
            running.discard(number)
        return "x"

    executor = Executor([slow], runtime=runtime, default_timeout=limit)
    calls = [ToolCall(str(at), "slow", {"number": at}) for at in range(200)]
    pairs = asyncio.run(executor.aexecute(calls)) if is_async else executor.execute(calls)
    assert all(result.ok for _, result in pairs)
    assert 32 < peak[0] <= 64
    assert threads[0] <= 68  # and those of the event loop
