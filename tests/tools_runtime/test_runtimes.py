"""Where calls run: limits, how many at once, which runtime, and runtimes of one's own."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from contextlib import suppress

import pytest

from tools_core import Context, Halt, Result, Tool, ToolCall, ToolError, tool
from tools_runtime import AsyncRuntime, Executor, InlineRuntime, Runtime, ThreadRuntime, hookimpl, set_default_runtime

user = contextvars.ContextVar("user", default="nobody")
BESIDE = ["thread", "async", ThreadRuntime(1), AsyncRuntime(1)]


class Gate:
    """Holds tools back until it is opened, and forgets none."""

    def __init__(self):
        self.open = threading.Event()
        self.told = threading.Event()

        @tool
        def held(context: Context) -> str:
            """Wait."""
            assert self.open.wait(30)
            if context.cancelled:
                self.told.set()
            return "held"

        @tool
        async def stubborn() -> str:
            """Swallow cancellation."""
            for _ in range(100):  # then it ends by itself: the end of an event loop waits for it
                if self.open.is_set():
                    break
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.01)
            return "stubborn"

        @tool
        async def hanging() -> None:
            """Hang."""
            await asyncio.Event().wait()

        @tool
        def quick() -> str:
            """Answer."""
            return "quick"

        self.tools = [held, stubborn, hanging, quick]


@pytest.fixture
def gate(until):
    made = Gate()
    yield made
    made.open.set()


# Limits


def test_calls_have_ten_seconds_unless_something_else_is_said(run, calls):
    @tool
    def remaining(context: Context) -> float | None:
        """Tell."""
        return context.remaining

    own = tool(remaining, name="own", timeout=60)
    for runtime in ("inline", *BESIDE):
        pairs = run(Executor([remaining, own], runtime=runtime, plugins=False), calls("remaining", "own"))
        assert 9 < pairs[0][1].output <= 10 and 59 < pairs[1][1].output <= 60
        without = run(Executor([remaining], runtime=runtime, default_timeout=None, plugins=False), calls("remaining"))
        assert without[0][1].output is None
        nearer = run(Executor([own], runtime=runtime, plugins=False), calls("own"), Context(timeout=5))
        assert nearer[0][1].output <= 5


def test_inline_cannot_enforce_a_limit_on_synchronous_code_and_says_so(run, calls):
    @tool(timeout=0.2)
    def own(context: Context) -> str:
        """Take too long."""
        while context.remaining:
            pass
        return "late"

    @tool
    def plain() -> str:
        """Take too long."""
        threading.Event().wait(0.3)
        return "late"

    executor = Executor([own, plain], default_timeout=0.2, plugins=False)
    for _, result in run(executor, calls("own", "plain")):
        assert result.output == "late"
        assert result.metadata["timeout_enforced"] is False
    pairs = run(Executor([plain], plugins=False), calls("plain"), Context(timeout=0.2))
    assert pairs[0][1].metadata["timeout_enforced"] is False


def test_a_deadline_that_has_passed_lets_no_call_begin(run, calls):
    context = Context(timeout=0.001)
    threading.Event().wait(0.01)
    began = []

    @tool
    def work() -> None:
        """Work."""
        began.append(1)

    for runtime in ("inline", "thread", "async"):
        pairs = run(Executor([work], runtime=runtime, plugins=False), calls("work", "work"), context)
        assert [result.error_type for _, result in pairs] == ["timeout_error"] * 2
    assert not began


@pytest.mark.parametrize("runtime", ["inline", InlineRuntime(worker_thread=True), ThreadRuntime(1), AsyncRuntime(1)])
def test_no_call_begins_once_the_caller_has_given_up_and_who_asks_again_has_it_made(run, calls, runtime):
    began = []

    @tool
    def give_up(context: Context) -> None:
        """The caller does, while this runs."""
        context.state["caller"].cancel()

    @tool
    def work() -> None:
        """Work."""
        began.append("work")

    @tool
    async def work_later() -> None:
        """Work, in an event loop."""
        began.append("work_later")

    state = {}
    state["caller"] = Context(state=state)
    executor = Executor([give_up, work, work_later], runtime=runtime, plugins=False)
    asked = calls("give_up", "work", "work_later", "unknown")
    results = [result for _, result in run(executor, asked, state["caller"])]
    assert [result.error_type for result in results] == [None] + ["cancelled"] * 3
    assert not began
    assert all(result.is_ok for _, result in run(executor, asked[1:3]))
    assert began == ["work", "work_later"]


@pytest.mark.parametrize("runtime", [InlineRuntime(worker_thread=True), *BESIDE])
def test_a_synchronous_tool_is_left_behind_at_its_limit(run, calls, gate, runtime, until):
    executor = Executor(gate.tools, runtime=runtime, default_timeout=0.05, plugins=False)
    pairs = run(executor, calls("held", "quick"))
    assert [result.error_type for _, result in pairs] == ["timeout_error", None]
    assert pairs[0][1].metadata["abandoned"] is True
    assert "0.05 s; it may still be running" in pairs[0][1].error_message
    gate.open.set()
    assert gate.told.wait(20)
    if not isinstance(runtime, InlineRuntime):
        until(lambda: executor.runtime_of("held").leaked == 0)


@pytest.mark.parametrize("runtime", ["inline", *BESIDE])
def test_a_coroutine_is_cancelled_at_its_limit(run, calls, gate, runtime):
    executor = Executor(gate.tools, runtime=runtime, default_timeout=0.05, plugins=False)
    pairs = run(executor, calls("hanging", "quick"))
    assert [result.error_type for _, result in pairs] == ["timeout_error", None]
    assert "0.05 s and was cancelled" in pairs[0][1].error_message
    assert "abandoned" not in pairs[0][1].metadata


@pytest.mark.parametrize("runtime", [AsyncRuntime(grace=0.02), AsyncRuntime(1, grace=0.02)])
@pytest.mark.parametrize("hooked", [False, True])
def test_a_coroutine_that_swallows_cancellation_is_left_behind_and_takes_no_place(gate, calls, runtime, hooked, until):
    class Around:
        @hookimpl
        def around_tool_call(self):
            return (yield)

    hooks = [Around()] if hooked else []
    executor = Executor(gate.tools, runtime=runtime, default_timeout=0.05, hooks=hooks, plugins=False)
    pairs = executor.execute(calls("stubborn", "quick", "stubborn", "quick"))
    assert [result.error_type for _, result in pairs] == ["timeout_error", None] * 2
    assert pairs[0][1].metadata["abandoned"] is True
    assert runtime.leaked == 2
    gate.open.set()
    until(lambda: runtime.leaked == 0)


def test_threads_that_are_left_behind_are_counted_and_too_many_refuse_further_calls(gate, calls, until):
    runtime = ThreadRuntime(2, max_leaked=3)
    executor = Executor(gate.tools, runtime=runtime, default_timeout=0.05, plugins=False)
    assert len(executor.execute(calls("held", "held", "held"))) == 3
    assert runtime.leaked == 3
    result = executor.call(ToolCall("1", "quick"))
    assert result.error_type == "unavailable" and "3 earlier calls" in result.error_message
    assert asyncio.run(executor.acall(ToolCall("1", "quick"))).error_type == "unavailable"
    gate.open.set()
    until(lambda: runtime.leaked == 0)
    assert executor.call(ToolCall("1", "quick")).output == "quick"


def test_the_limit_of_a_call_begins_when_it_begins(run, calls):
    @tool(timeout=1)
    def short(context: Context) -> float:
        """Take a while."""
        left = context.remaining
        threading.Event().wait(0.3)
        return left

    for runtime in (ThreadRuntime(1), AsyncRuntime(1), InlineRuntime()):
        pairs = run(Executor([short], runtime=runtime, plugins=False), calls(*["short"] * 5))  # 1.5 s
        assert all(result.is_ok and result.output > 0.7 for _, result in pairs)


@pytest.mark.parametrize("runtime", ["inline", *BESIDE])
def test_a_tools_own_timeout_error_is_not_ours(run, calls, runtime):
    @tool
    def fail() -> None:
        """Fail."""
        raise TimeoutError("the socket")

    @tool
    async def fail_async() -> None:
        """Fail."""
        raise TimeoutError("the socket")

    pairs = run(Executor([fail, fail_async], runtime=runtime, plugins=False), calls("fail", "fail_async"))
    assert [result.error_type for _, result in pairs] == ["execution_error"] * 2


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_hooks_that_wait_after_the_call_are_not_cut_short_by_its_limit(run, calls, runtime):
    from tools_runtime import Pause

    class Again:
        @hookimpl
        def around_tool_call(self):
            yield
            yield Pause(0.3)
            return (yield)

    @tool(timeout=0.1)
    async def work() -> str:
        """Work."""
        return "done"

    executor = Executor([work], runtime=runtime, hooks=[Again()], plugins=False)
    assert [result.output for _, result in run(executor, calls("work", "work"))] == ["done"] * 2


@pytest.mark.parametrize("runtime", ["thread", "async", AsyncRuntime(1, grace=0.02)])
def test_what_is_made_again_after_a_limit_has_a_limit_of_its_own(run, calls, gate, runtime):
    seen = []

    class Again:
        @hookimpl
        def around_tool_call(self):
            seen.append((yield).error_type)
            return (yield)

    executor = Executor(gate.tools, runtime=runtime, default_timeout=0.05, hooks=[Again()], plugins=False)
    for name in ("hanging", "held", "stubborn"):
        if name == "stubborn" and runtime == "thread":
            continue  # core's own loop waits for it
        (pair,) = run(executor, calls(name))
        assert pair[1].error_type == "timeout_error"
    assert seen == ["timeout_error"] * len(seen) and len(seen) >= 2


# How many at once


class Counting:
    """A tool that knows how many of it run."""

    def __init__(self):
        self.now = self.most = 0
        self.lock = threading.Lock()

        @tool
        def count() -> None:
            """Count."""
            self.enter()
            threading.Event().wait(0.005)
            self.leave()

        @tool
        async def count_async() -> None:
            """Count."""
            self.enter()
            await asyncio.sleep(0.005)
            self.leave()

        self.tools = [count, tool(count, name="other"), count_async, tool(count, name="here")]

    def enter(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def leave(self):
        with self.lock:
            self.now -= 1


@pytest.mark.parametrize(
    ("runtime", "most", "expected"),
    [
        (ThreadRuntime(3), None, 3), (AsyncRuntime(3), None, 3), ("thread", 2, 2), ("async", 2, 2),
        ("thread", 1, 1), ("async", 1, 1), (ThreadRuntime(2), 5, 2), ("inline", None, 1), ("inline", 5, 1),
        ({"count": ThreadRuntime(4), "other": ThreadRuntime(4), "count_async": "async", "here": "inline"}, 3, 3),
        ({"count": "thread", "other": "inline", "count_async": "async", "here": "inline"}, 1, 1),
    ],
)  # fmt: skip
def test_never_more_run_at_once(run, calls, runtime, most, expected):
    counting = Counting()
    executor = Executor(counting.tools, runtime=runtime, max_concurrency=most, plugins=False)
    pairs = run(executor, calls(*["count", "other", "count_async", "here"] * 5))
    assert all(result.is_ok for _, result in pairs)
    assert counting.most <= expected


class Pairs(Runtime):
    """One that says how many calls it makes at once, and nothing else."""

    max_concurrency = 2


@pytest.mark.parametrize(
    ("runtime", "most", "number"),
    [("thread", None, 64), (ThreadRuntime(5), None, 5), ("async", None, 100), ("thread", 7, 7), (Pairs, None, 2)],
)
def test_so_many_do_run_at_once(run, calls, runtime, most, number):
    barrier = threading.Barrier(number)

    @tool
    def meet() -> None:
        """Meet."""
        barrier.wait(30)

    executor = Executor([meet], runtime=runtime, max_concurrency=most, default_timeout=60, plugins=False)
    assert all(result.is_ok for _, result in run(executor, calls(*["meet"] * number)))


def test_one_slow_call_does_not_hold_up_others(calls, gate):
    executor = Executor(gate.tools, runtime=ThreadRuntime(2), plugins=False)
    given = executor.iterate(calls("quick", *["quick"] * 20, "held"))
    assert [next(given)[1].output for _ in range(21)] == ["quick"] * 21
    gate.open.set()
    assert next(given)[1].output == "held"


# Which runtime


class Named(Tool):
    """Tell the thread."""

    name = "where"

    def execute(self) -> bool:
        return threading.current_thread() is threading.main_thread()


class Threaded(Named):
    name = "threaded"
    runtime = "thread"

    def execute(self) -> bool:
        return threading.current_thread() is threading.main_thread()


def is_here(choice, context=None):
    return Executor([Named()], runtime=choice, plugins=False).execute([ToolCall("1", "where")], context)[0][1].output


def test_a_runtime_is_a_name_a_class_an_instance_or_a_function():
    assert is_here(None) and is_here("inline") and is_here(InlineRuntime) and is_here(InlineRuntime())
    for choice in ("thread", ThreadRuntime, ThreadRuntime(3), lambda: ThreadRuntime, lambda context: "thread"):
        assert not is_here(choice)
    assert is_here(lambda: None) and is_here({"where": "inline", "*": "thread"}) and is_here({"x": "thread"})
    assert not is_here({"where": lambda: "thread"}) and not is_here({"*": "thread"})


def test_a_function_sees_the_context():
    def choose(context):
        return ThreadRuntime() if context.state.get("parallel") else InlineRuntime()

    assert is_here(choose, Context(state={})) and not is_here(choose, Context(state={"parallel": True}))
    assert is_here(choose)  # without one, there is an empty one


def test_a_tool_names_its_own_runtime_and_comes_first():
    executor = Executor([Named(), Threaded()], runtime={"*": "inline", "threaded": "inline"}, plugins=False)
    pairs = executor.execute([ToolCall("1", "where"), ToolCall("2", "threaded")])
    assert [result.output for _, result in pairs] == [True, False]
    assert executor.runtime_of("threaded").name == "thread" and executor.runtime_of("where").name == "inline"


def test_a_tool_that_names_no_runtime_is_one_result_and_no_more(run, calls):
    class Lost(Named):
        name = "lost"
        runtime = "moon"

        def execute(self) -> None: ...

    executor = Executor([Named(), Lost()], plugins=False)
    pairs = run(executor, calls("where", "lost", "where"))
    assert [result.error_type for _, result in pairs] == [None, "unavailable", None]
    assert "'moon'" in pairs[1][1].error_message and "thread" in pairs[1][1].error_message


def test_the_default_is_for_those_that_name_none():
    set_default_runtime("thread")
    assert not is_here(None) and is_here("inline")
    with pytest.raises(TypeError, match="a name, a class or an instance"):
        set_default_runtime(3)


@pytest.mark.parametrize("wrong", [3, object(), int, Runtime, {"a": 3}, {"*": Runtime}])
def test_anything_else_is_a_type_error_that_says_what_would_work(wrong):
    with pytest.raises(TypeError, match="a name, a class or an instance of Runtime, or a function of the context"):
        Executor([Named()], runtime=wrong, plugins=False)


@pytest.mark.parametrize("wrong", ["moon", {"where": "moon"}, {"*": "moon"}])
def test_an_unknown_name_is_a_value_error_that_names_those_that_there_are(wrong):
    with pytest.raises(ValueError, match=r"'moon'; there are .*async.*inline.*thread"):
        Executor([Named()], runtime=wrong, plugins=False)


@pytest.mark.parametrize("wrong", [lambda: 3, lambda: Runtime, lambda: lambda: "inline"])
def test_a_function_that_gives_something_else_is_refused_before_anything_runs(wrong):
    with pytest.raises(TypeError):
        is_here(wrong)


def test_sizes_are_checked():
    assert (ThreadRuntime().max_concurrency, AsyncRuntime().max_concurrency) == (64, None)
    for make in (ThreadRuntime, AsyncRuntime):
        with pytest.raises(ValueError, match="1 or more"):
            make(0)


@pytest.mark.parametrize("runtime", ["inline", InlineRuntime(worker_thread=True), *BESIDE])
def test_context_variables_reach_the_tools(run, calls, runtime):
    @tool
    def who() -> str:
        """Tell."""
        return user.get()

    token = user.set("ada")
    try:
        pairs = run(Executor([who], runtime=runtime, plugins=False), calls("who", "who"))
    finally:
        user.reset(token)
    assert [result.output for _, result in pairs] == ["ada", "ada"]


def test_one_batch_runs_in_several_places_and_keeps_its_order(run, calls):
    @tool
    async def loop() -> bool:
        """Tell."""
        return threading.current_thread() is threading.main_thread()

    executor = Executor([Named(), Threaded(), loop], runtime={"loop": "async"}, plugins=False)
    pairs = run(executor, calls("threaded", "where", "loop", "where", "threaded", "unknown"))
    assert [call.name for call, _ in pairs] == ["threaded", "where", "loop", "where", "threaded", "unknown"]
    assert [result.is_ok for _, result in pairs] == [True] * 5 + [False]
    assert not pairs[0][1].output and not pairs[4][1].output


def test_a_tool_that_exits_in_a_thread_or_a_task_ends_nobody_else(run, calls):
    @tool
    def leave() -> None:
        """Exit."""
        raise SystemExit(3)

    class Watch:
        @hookimpl
        def after_tool_call(self, result):
            return result.with_metadata({"seen": True})

    for runtime in BESIDE:
        executor = Executor([leave, Named()], runtime=runtime, hooks=[Watch], plugins=False)
        pairs = run(executor, calls("leave", "where", "leave"))
        assert all(result.metadata["seen"] for _, result in pairs)
        assert [result.error_type for _, result in pairs] == ["execution_error", None, "execution_error"]
        assert "SystemExit: 3" in pairs[0][1].error_message
    with pytest.raises(SystemExit):  # in the thread of the caller it is what it is
        Executor([leave], plugins=False).execute(calls("leave"))


class Unheard(BaseException):
    """What nobody catches."""


@pytest.mark.parametrize("error", [Unheard, GeneratorExit])
@pytest.mark.parametrize("runtime", BESIDE)
def test_what_is_no_exception_ends_no_other_call_beside_it(run, calls, runtime, error):
    @tool
    def let_out() -> None:
        """Raise it."""
        raise error("out")

    @tool
    async def let_out_later() -> None:
        """The same, in an event loop."""
        await asyncio.sleep(0)
        raise error("out")

    executor = Executor([let_out, let_out_later, Named()], runtime=runtime, plugins=False)
    results = [result for _, result in run(executor, calls("let_out", "where", "let_out_later", "where"))]
    assert [result.error_type for result in results] == ["execution_error", None, "execution_error", None]
    assert all(f"{error.__name__}: out" in result.error_message for result in results[::2])


def test_calls_of_an_event_loop_that_was_closed_with_them_are_let_go_in_silence(calls, gate, capfd):
    async def leave() -> None:
        task = asyncio.ensure_future(executor.aexecute(calls("hanging", "hanging", "hanging")))
        for _ in range(3):
            await asyncio.sleep(0)
        assert not task.done()
        task._log_destroy_pending = False  # asyncio's own word on it

    for runtime in ("inline", "thread", "async"):
        executor = Executor(gate.tools, runtime=runtime, plugins=False)
        loop = asyncio.new_event_loop()
        loop.run_until_complete(leave())
        loop.close()
    gc.collect()
    assert "Exception ignored" not in capfd.readouterr().err


def test_a_coroutine_that_cancels_its_own_task_is_one_result_and_cancels_nobody_else(run, calls):
    @tool
    async def give_up() -> None:
        """Cancel."""
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    class Watch:
        @hookimpl
        def around_tool_call(self):
            result = yield
            yield asyncio.sleep(0)
            return result.with_metadata({"seen": True})

    executor = Executor([give_up, Named()], runtime="async", hooks=[Watch], plugins=False)
    pairs = run(executor, calls("where", "give_up", "where"))
    assert [result.error_type for _, result in pairs] == [None, "cancelled", None]
    assert all(result.metadata["seen"] for _, result in pairs)


@pytest.mark.parametrize("most", [None, 1])
def test_a_coroutine_that_cancels_every_task_of_its_loop_leaves_each_call_a_result(calls, most):
    @tool
    async def cancel_all() -> None:
        """Cancel."""
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(0)

    executor = Executor([cancel_all, Named()], runtime=AsyncRuntime(most), plugins=False)
    pairs = executor.execute(calls("cancel_all", "cancel_all", "where"))
    assert len(pairs) == 3 and pairs[0][1].error_type == "cancelled"


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_coroutine_that_calls_synchronously_holds_up_no_call_of_its_own(runtime, is_async):
    @tool
    async def leaf() -> str:
        """Answer from an event loop."""
        await asyncio.sleep(0)
        return "leaf"

    @tool(timeout=20)
    def branch() -> str:
        """Call it from wherever this runs."""
        return leaf.call({}).output

    asked = leaf if is_async else branch
    inner = Executor([asked], runtime=runtime, plugins=False, default_timeout=20)

    @tool
    async def outer() -> str:
        """Call without awaiting."""
        return inner.call(ToolCall("1", asked.name)).output

    assert Executor([outer], plugins=False).call(ToolCall("1", "outer")).output == "leaf"


def test_a_coroutine_that_is_called_by_a_coroutine_is_cancelled_at_its_limit(until):
    ended = []

    @tool
    async def leaf() -> None:
        """Wait."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("leaf")

    inner = Executor([leaf], runtime="async", plugins=False, default_timeout=0.05)

    @tool
    async def outer() -> str | None:
        """Call without awaiting."""
        return inner.call(ToolCall("1", "leaf")).error_type

    assert Executor([outer], plugins=False).call(ToolCall("1", "outer")).output == "timeout_error"
    until(lambda: ended == ["leaf"])


# Runtimes of one's own


class Http(Runtime):
    """As the seed shows: it overrides one method, and is made without arguments."""

    def dispatch_tool_call(self, call, tools, context):
        return {
            "answer": lambda: Result.text(f"{call.name} {call.arguments} {context.call_id}"),
            "expected": lambda: self.fail(ToolError("no", "not_found")),
            "crash": lambda: self.fail(OSError("down")),
            "halt": lambda: self.fail(Halt("over")),
            "nothing": lambda: None,
            "cancelled": lambda: self.fail(asyncio.CancelledError()),
            "base": lambda: super(Http, self).dispatch_tool_call(ToolCall("x", "where"), tools, context),
        }[call.name]()

    def fail(self, error):
        raise error


def test_a_name_with_its_distribution_runs_where_the_name_alone_does():
    @tool
    def where() -> str:
        """Say where."""
        return threading.current_thread().name

    with Executor({"where": where, "dist:where": where}, runtime={"where": "thread"}, plugins=False) as executor:
        assert executor.runtime_of("dist:where") is executor.runtime_of("where")


def test_a_runtime_of_ones_own_makes_calls_where_it_likes(run, calls):
    names = ["answer", "expected", "crash", "halt", "nothing", "base", "keyerror", "cancelled"]
    pairs = run(Executor([Named()], runtime=Http, plugins=False), calls(*names))
    results = [result for _, result in pairs]
    assert results[0].output == "answer {} c0"
    assert (results[1].error_type, results[1].error_message) == ("not_found", "no")
    assert (results[2].error_type, results[2].error_message) == ("execution_error", "OSError: down")
    assert results[3].is_halted and results[3].output == "over"
    assert "Http returned NoneType, not a Result" in results[4].error_message
    assert results[5].is_ok
    assert results[6].error_type == "execution_error"
    assert results[7].error_type == "cancelled"  # nobody asked for that: it is the runtime's own


def test_runtime_itself_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Runtime()


class Timed(InlineRuntime):
    """As the seed shows: it wraps each call."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def around_tool_call(self, call, context):
        self.seen.append(("before", call.name, context.call_id))
        result = yield
        self.seen.append(("after", call.name, result.error_type))
        return result


class Loud(Timed):
    def around_tool_call(self, call, context):
        result = yield from super().around_tool_call(call, context)
        return result.with_metadata({"loud": True})


def test_around_tool_call_wraps_every_call_and_is_inherited_and_overridden_further(run):
    batch = [ToolCall("1", "where"), ToolCall("2", "unknown"), ToolCall("3", "where", {"extra": 1})]
    for kind in (Timed, Loud, type("Silent", (Loud,), {})):
        runtime = kind()
        pairs = run(Executor([Named()], runtime=runtime, plugins=False), batch)
        assert runtime.seen == [
            ("before", "where", "1"), ("after", "where", None),
            ("before", "unknown", "2"), ("after", "unknown", "unknown_tool"),
            ("before", "where", "3"), ("after", "where", "validation_error"),
        ]  # fmt: skip
        assert all(("loud" in result.metadata) == (kind is not Timed) for _, result in pairs)


def test_around_tool_call_wraps_dispatch_too(run, calls):
    class Both(Http, Timed):
        pass

    runtime = Both()
    run(Executor([Named()], runtime=runtime, plugins=False), calls("answer", "crash"))
    assert [event[2] for event in runtime.seen if event[0] == "after"] == [None, "execution_error"]


def test_around_tool_call_runs_in_the_thread_of_the_call(calls):
    threads = []

    class Watched(ThreadRuntime):
        def around_tool_call(self, call, context):
            threads.append(threading.current_thread())
            result = yield
            threads.append(threading.current_thread())
            return result

    Executor([Named()], runtime=Watched, plugins=False).execute(calls("where"))
    assert threads[0] is threads[1] is not threading.main_thread()


@pytest.mark.parametrize("base", [ThreadRuntime, AsyncRuntime])
def test_around_tool_call_sees_that_a_limit_has_passed(run, calls, gate, base):
    seen = []

    class Watched(base):
        def around_tool_call(self, call, context):
            result = yield
            seen.append(result.error_type)
            return result.with_metadata({"seen": True})

    executor = Executor(gate.tools, runtime=Watched, default_timeout=0.05, plugins=False)
    pairs = run(executor, calls("held"))
    assert seen == ["timeout_error"] and pairs[0][1].metadata["seen"]


def test_an_around_tool_call_that_fails_or_answers_has_one_meaning(run, calls, caplog):
    class Failing(InlineRuntime):
        def around_tool_call(self, call, context):
            if call.id == "c0":
                raise LookupError("before")
            if call.id == "c1":
                return Result.ok("answered")
            yield
            raise LookupError("after")

    pairs = run(Executor([Named()], runtime=Failing, plugins=False), calls("where", "where", "where"))
    assert [result.error_type for _, result in pairs] == ["unavailable", None, None]
    assert pairs[1][1].output == "answered"
    assert "around_tool_call of Failing failed" in caplog.text


def test_an_around_tool_call_that_is_no_generator_is_refused_where_it_is_defined():
    with pytest.raises(TypeError, match="result = yield"):

        class Wrong(Runtime):
            def around_tool_call(self, call, context):
                return None


@pytest.mark.parametrize("method", ["dispatch_tool_call", "run_tool", "adispatch_tool_call"])
def test_what_execute_could_not_await_is_refused_where_it_is_defined(method):
    async def make(self, *_):
        return Result.ok()

    with pytest.raises(TypeError, match=f"{method} (is a coroutine|alone)"):
        type("Wrong", (Runtime,), {method: make})


def test_runtimes_that_were_made_here_are_closed_and_those_that_were_given_are_not():
    closed = []

    class Closing(InlineRuntime):
        def close(self):
            closed.append(self)

    given = Closing()
    with Executor([Named()], runtime={"where": Closing, "*": given}, plugins=False) as executor:
        assert executor.call(ToolCall("1", "where")).is_ok
        made = executor.runtime_of("where")
        assert made is not given and executor.runtime_of("other") is given
    assert closed == [made]
    assert executor.call(ToolCall("1", "where")).is_ok  # it can be used again
