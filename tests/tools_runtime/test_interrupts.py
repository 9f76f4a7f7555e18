"""Who stops in the middle: nothing further begins, and no finished result is lost or made twice."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress

import pytest

from tools_core import Context, Result, ToolCall, tool
from tools_runtime import AsyncRuntime, Blocking, Executor, Pause, Runtime, ThreadRuntime, hookimpl
from tools_runtime.plugins import RateLimit, Retry


class Workshop:
    """Tools whose calls are counted, and which wait to be let go."""

    def __init__(self):
        self.made: list[str] = []
        self.contexts: list[Context] = []
        self.go_on = threading.Event()
        self.stuck = threading.Event()

        @tool
        def quick(key: str) -> str:
            """Answer."""
            self.made.append(key)
            return key

        @tool
        def held(key: str, context: Context) -> str:
            """Answer when it is let go."""
            self.made.append(key)
            self.contexts.append(context)
            self.stuck.set()
            assert self.go_on.wait(30)
            return key

        @tool
        async def awaited(key: str) -> str:
            """Never answer."""
            self.made.append(key)
            self.stuck.set()
            await asyncio.Event().wait()
            return key

        self.tools = [quick, held, awaited]


@pytest.fixture
def shop():
    made = Workshop()
    yield made
    made.go_on.set()


def call(name, key):
    return ToolCall(key, name, {"key": key})


def test_inline_makes_a_call_only_when_it_is_asked_for(shop):
    executor = Executor(shop.tools, plugins=False)
    given = executor.iterate([call("quick", key) for key in "abc"])
    assert shop.made == []
    assert next(given)[1].output == "a"
    assert shop.made == ["a"]
    given.close()
    assert shop.made == ["a"]
    assert [result.output for _, result in executor.execute([call("quick", "b")])] == ["b"]


def test_inline_is_lazy_for_coroutines_too(shop):
    async def main():
        given = Executor(shop.tools, plugins=False).aiterate([call("quick", key) for key in "abc"])
        await anext(given)
        await given.aclose()

    asyncio.run(main())
    assert shop.made == ["a"]


@pytest.mark.parametrize("runtime", [ThreadRuntime(1), AsyncRuntime(1), "custom"])
def test_what_makes_one_call_at_a_time_makes_no_more_for_who_stops(shop, runtime):
    class Custom(Runtime):
        def dispatch_tool_call(self, call, tools, context):
            return tools[call.name].call(call.given, context)

    executor = Executor(shop.tools, runtime=Custom if runtime == "custom" else runtime, plugins=False)
    given = executor.iterate([call("quick", key) for key in "abc"])
    next(given)
    given.close()
    assert shop.made == ["a"]


def test_results_are_given_in_order_each_as_soon_as_it_may_be(shop, until):
    executor = Executor(shop.tools, runtime="thread", plugins=False)
    given = executor.iterate([call("quick", "a"), call("held", "b"), call("quick", "c")])
    assert next(given)[1].output == "a"  # though b has not ended
    until(lambda: set(shop.made) == {"a", "b", "c"})
    shop.go_on.set()
    assert [result.output for _, result in given] == ["b", "c"]


@pytest.mark.parametrize("stop", ["close", "throw", "raise"])
def test_who_stops_begins_nothing_more_and_finished_results_are_kept(shop, until, stop):
    executor = Executor(shop.tools, runtime=ThreadRuntime(2), plugins=False)
    names = ["quick", "held", "quick", "held", "quick", "quick"]
    batch = [call(name, key) for name, key in zip(names, "abcdef", strict=True)]

    def stop_in_the_middle():
        for _ in (given := executor.iterate(batch)):
            until(lambda: sorted(shop.made) == ["a", "b", "c", "d"])
            if stop == "close":
                given.close()
                break
            if stop == "throw":
                given.throw(KeyboardInterrupt)
            raise LookupError

    with nullcontext() if stop == "close" else pytest.raises((KeyboardInterrupt, LookupError)):
        stop_in_the_middle()
    gc.collect()  # of the exception, whose traceback holds the generator
    assert len(shop.contexts) == 2 and all(context.cancelled for context in shop.contexts)
    # What was thrown in may as well have come just before the first one was given, which so is kept.
    kept = ["a"] if stop == "throw" else []
    assert sorted(key[0] for key in executor._kept.results) == [*kept, "c"]
    shop.go_on.set()
    until(lambda: sorted(key[0] for key in executor._kept.results) == [*kept, "b", "c", "d"])
    assert sorted(shop.made) == ["a", "b", "c", "d"]
    assert [result.output for _, result in executor.execute(batch[1:])] == ["b", "c", "d", "e", "f"]
    assert sorted(shop.made) == ["a", "b", "c", "d", "e", "f"]  # none twice


def test_a_result_that_comes_after_the_interruption_is_kept_with_what_its_hooks_say(shop, until):
    class Mark:
        @hookimpl
        def after_tool_call(self, result):
            return result.with_metadata({"seen": True})

    executor = Executor(shop.tools, runtime="thread", hooks=[Mark()], plugins=False)
    given = executor.iterate([call("quick", "a"), call("held", "b")])
    next(given)
    assert shop.stuck.wait(20)
    given.close()
    shop.go_on.set()
    until(lambda: executor._kept.results)
    result = executor.call(call("held", "b"))
    assert (result.output, result.metadata["seen"]) == ("b", True)
    assert sorted(shop.made) == ["a", "b"]


@pytest.mark.parametrize("runtime", ["inline", "thread", "async", ThreadRuntime(1), AsyncRuntime(1)])
@pytest.mark.parametrize("hooked", [False, True])
def test_a_cancelled_coroutine_keeps_what_its_threads_come_to(shop, until, runtime, hooked):
    class Mark:
        @hookimpl
        def around_tool_call(self):
            return (yield).with_metadata({"seen": True})

    executor = Executor(shop.tools, runtime=runtime, hooks=[Mark()] if hooked else [], plugins=False)
    batch = [call("quick", "a"), call("held", "b")]

    async def main():
        task = asyncio.create_task(executor.aexecute(batch))
        await asyncio.to_thread(until, lambda: sorted(shop.made) == ["a", "b"])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    until(lambda: ("a", "quick", "{'key': 'a'}") in executor._kept.results)
    shop.go_on.set()
    until(lambda: len(executor._kept.results) == 2)
    pairs = asyncio.run(executor.aexecute(batch))
    assert [result.output for _, result in pairs] == ["a", "b"]
    assert all("seen" in result.metadata for _, result in pairs) == hooked
    assert sorted(shop.made) == ["a", "b"]


@pytest.mark.parametrize("runtime", ["async", AsyncRuntime(1)])
def test_a_coroutine_is_cancelled_with_its_caller_and_leaves_no_task(shop, runtime):
    executor = Executor(shop.tools, runtime=runtime, plugins=False)

    async def main():
        task = asyncio.create_task(executor.aexecute([call("awaited", "a"), call("awaited", "b")]))
        await asyncio.to_thread(shop.stuck.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(main()) == set()
    assert executor._kept.results == {}


def test_hooks_around_a_cancelled_coroutine_are_closed_at_once(shop):
    closed = []

    class Watch:
        @hookimpl
        def around_tool_call(self, call):
            try:
                return (yield)
            except GeneratorExit:
                closed.append(call.id)
                raise

    async def main():
        executor = Executor(shop.tools, runtime="async", hooks=[Watch()], plugins=False)
        task = asyncio.create_task(executor.aexecute([call("awaited", "a")]))
        await asyncio.to_thread(shop.stuck.wait, 20)
        task.cancel()
        await asyncio.wait([task])
        assert closed == ["a"]

    asyncio.run(main())


def test_an_attempt_that_follows_the_interruption_is_not_made(shop):
    ended = threading.Event()

    class Again:
        @hookimpl
        def around_tool_call(self, call):
            if call.name == "quick":
                return (yield)
            try:
                yield
                return (yield)
            finally:
                ended.set()

    executor = Executor(shop.tools, runtime="thread", hooks=[Again()], plugins=False)
    given = executor.iterate([call("quick", "a"), call("held", "b")])
    next(given)
    assert shop.stuck.wait(20)
    given.close()
    shop.go_on.set()
    assert ended.wait(20)
    assert sorted(shop.made) == ["a", "b"]


def test_results_that_execute_could_not_return_are_kept():
    made = []

    @tool
    def answer(key: str) -> str:
        """Answer, but be interrupted at b the first time."""
        made.append(key)
        if made == ["a", "b"]:
            raise KeyboardInterrupt
        return key

    for hooks in ([], [Quiet()]):
        made.clear()
        executor = Executor([answer], hooks=hooks, plugins=False)
        batch = [call("answer", key) for key in "abc"]
        with pytest.raises(KeyboardInterrupt):
            executor.execute(batch)
        assert [result.output for _, result in executor.execute(batch)] == ["a", "b", "c"]
        assert made == ["a", "b", "b", "c"]


class Quiet:
    @hookimpl
    def before_tool_call(self):
        return None


class Interrupted:
    """Is interrupted once, after the call; `answer` is what it says to the call from then on, before it is made."""

    def __init__(self, answer):
        self.answer = answer
        self.times = 0

    @hookimpl
    def around_tool_call(self, call):
        self.times += 1
        if self.times == 1:
            yield
            yield Blocking(self.interrupt)
        answer = self.answer(call)
        return answer if isinstance(answer, Result) else (yield answer)

    def interrupt(self):
        raise KeyboardInterrupt


HOOKED = [
    (lambda call: call, "a", ["a"]),
    (lambda call: Result.error("no", type="denied"), "no", ["a"]),  # what was made is not told past the hooks
    (lambda call: ToolCall(call.id, "quick", {"key": "b"}), "b", ["a", "b"]),  # which is another call
]


@pytest.mark.parametrize(("answer", "told", "made"), HOOKED)
def test_hooks_that_were_interrupted_after_the_call_begin_again_without_it(shop, answer, told, made):
    executor = Executor(shop.tools, hooks=[Quiet(), Interrupted(answer)], plugins=False)
    with pytest.raises(KeyboardInterrupt):
        executor.call(call("quick", "a"))
    assert str(executor.call(call("quick", "a")).content) == told
    assert shop.made == made


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_hooks_that_were_cancelled_after_the_call_begin_again_without_it(shop, runtime):
    paused, began = threading.Event(), []

    class Pausing:
        @hookimpl
        def around_tool_call(self, call):
            began.append(call.id)
            result = yield
            paused.set()
            yield Pause(0.0 if len(began) == 2 else 30.0)
            return result.with_metadata({"seen": len(began)})

    executor = Executor(shop.tools, runtime=runtime, hooks=[Pausing()], plugins=False, default_timeout=None)

    async def main():
        task = asyncio.create_task(executor.acall(call("quick", "a")))
        await asyncio.to_thread(paused.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    result = executor.call(call("quick", "a"))
    assert (result.output, result.metadata["seen"], shop.made) == ("a", 2, ["a"])


@pytest.mark.parametrize(("name", "told"), [("quick", "a"), ("stuck", "timeout_error")])
@pytest.mark.parametrize("drive", ["iterate", "aiterate"])
def test_hooks_in_an_event_loop_that_are_stopped_after_the_call_begin_again_without_it(shop, until, name, told, drive):
    paused, closed = threading.Event(), []

    class Pausing:
        @hookimpl
        def around_tool_call(self, call):
            result = yield
            if call.id == "a" and not closed:
                paused.set()
                try:
                    yield Pause(30.0)
                finally:
                    closed.append(call.id)
            return result

    @tool
    async def stuck(key: str) -> str:
        """Do not end when it is cancelled."""
        shop.made.append(key)
        while not shop.go_on.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        return key

    runtime = AsyncRuntime(grace=0.01)
    executor = Executor([*shop.tools, stuck], runtime=runtime, hooks=[Pausing()], plugins=False, default_timeout=0.1)
    batch = [call("quick", "first"), call(name, "a")]

    async def main():
        given = executor.aiterate(batch)
        await anext(given)
        await asyncio.to_thread(paused.wait, 20)
        await given.aclose()
        shop.go_on.set()  # the end of the loop waits for it

    if drive == "aiterate":
        asyncio.run(main())
    else:
        given = executor.iterate(batch)
        next(given)
        assert paused.wait(20)
        given.close()
    until(lambda: closed and executor._kept.made)
    result = executor.call(batch[1])
    assert (result.output or result.error_type, sorted(shop.made)) == (told, ["a", "first"])
    shop.go_on.set()
    until(lambda: runtime.leaked == 0 or drive == "aiterate")  # whose loop has ended


def test_what_was_made_stays_kept_while_its_hooks_are_interrupted_again_and_again(shop):
    class Impatient:
        times = 0

        @hookimpl
        def around_tool_call(self):
            self.times += 1
            if self.times == 2:  # before the call, this time
                raise KeyboardInterrupt
            result = yield
            if self.times in (1, 3):
                raise KeyboardInterrupt
            return result

    executor = Executor(shop.tools, hooks=[Impatient()], plugins=False)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            executor.call(call("quick", "a"))
    assert (executor.call(call("quick", "a")).output, shop.made) == ("a", ["a"])
    assert executor.call(call("quick", "a")).output == "a"
    assert shop.made == ["a", "a"]  # it is given once


@pytest.mark.parametrize("runtime", ["thread", ThreadRuntime(2), AsyncRuntime()])
@pytest.mark.parametrize("hooked", [False, True])
def test_a_call_that_still_runs_when_it_is_asked_for_again_is_waited_for(shop, until, runtime, hooked):
    class Mark:
        @hookimpl
        def around_tool_call(self):
            return (yield).with_metadata({"seen": True})

    executor = Executor(shop.tools, runtime=runtime, hooks=[Mark()] if hooked else [], plugins=False)
    given = executor.iterate([call("quick", "a"), call("held", "b")])
    next(given)
    assert shop.stuck.wait(20)
    given.close()
    with ThreadPoolExecutor(1) as other:
        again = other.submit(executor.execute, [call("held", "b"), call("quick", "c")])
        until(lambda: "c" in shop.made)  # it waits, and keeps nobody else from running
        shop.go_on.set()
        (_, result), _ = again.result()
    assert (result.output, "seen" in result.metadata) == ("b", hooked)
    assert sorted(shop.made) == ["a", "b", "c"]
    assert executor._kept.results == executor._kept.running == {}


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_a_call_whose_thread_still_runs_when_a_coroutine_asks_again_is_waited_for(shop, until, runtime):
    executor = Executor(shop.tools, runtime=runtime, plugins=False)

    async def main():
        task = asyncio.create_task(executor.acall(call("held", "a")))
        await asyncio.to_thread(shop.stuck.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = asyncio.create_task(executor.acall(call("held", "a")))
        await asyncio.sleep(0)
        shop.go_on.set()
        return await again

    assert asyncio.run(main()).output == "a"
    assert shop.made == ["a"]
    assert executor._kept.results == executor._kept.running == {}


def test_what_still_runs_is_waited_for_within_the_limit_and_not_made_again(shop, until):
    executor = Executor(shop.tools, runtime="thread", plugins=False, default_timeout=0.1)
    given = executor.iterate([call("quick", "a"), call("held", "b")])
    next(given)
    assert shop.stuck.wait(20)
    given.close()
    for _ in range(2):
        result = executor.call(call("held", "b"))
        assert (result.error_type, result.metadata) == ("timeout_error", {"timeout": 0.1})
        assert result.error_message == "was interrupted before, and still runs: it is not made a second time"
    shop.go_on.set()
    until(lambda: executor._kept.results)
    assert executor.call(call("held", "b")).output == "b"
    assert sorted(shop.made) == ["a", "b"]


def test_a_call_that_comes_to_nothing_after_it_was_given_up_is_made_again(shop, until):
    executor = Executor(shop.tools, runtime="async", plugins=False)

    async def main():
        task = asyncio.create_task(executor.acall(call("awaited", "a")))
        await asyncio.to_thread(shop.stuck.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = asyncio.create_task(executor.acall(call("awaited", "a")))
        await asyncio.to_thread(until, lambda: shop.made == ["a", "a"])
        again.cancel()
        with pytest.raises(asyncio.CancelledError):
            await again

    asyncio.run(main())
    assert executor._kept.running == {}


def test_only_the_same_call_is_given_a_kept_result(shop, until):
    executor = Executor(shop.tools, runtime="thread", plugins=False)
    without_id = [ToolCall(None, "quick", {"key": "None"}), ToolCall("", "quick", {"key": "empty"})]
    given = executor.iterate([call("quick", "a"), call("quick", "b"), *without_id, call("quick", "None")])
    next(given)
    until(lambda: len(shop.made) == 5)
    given.close()
    until(lambda: len(executor._kept.results) == 2)  # without an id nobody can ask again
    executor.execute(without_id)
    assert (shop.made.count("None"), shop.made.count("empty")) == (3, 2)
    other = executor.execute([ToolCall("b", "quick", {"key": "x"}), ToolCall("z", "quick", {"key": "b"})])
    assert [result.output for _, result in other] == ["x", "b"]
    assert shop.made.count("b") == 2
    assert executor.call(call("quick", "b")).output == "b"
    assert shop.made.count("b") == 2
    assert executor.call(call("quick", "b")).output == "b"  # it is given once
    assert shop.made.count("b") == 3


@pytest.mark.parametrize("driver", ["execute", "aexecute"])
def test_equal_calls_of_one_batch_are_each_given_a_result_of_their_own(shop, until, drain, driver):
    executor = Executor(shop.tools, runtime="thread", plugins=False)
    batch = [call("quick", "a")] * 3
    given = executor.iterate([call("quick", "b"), *batch])
    next(given)
    until(lambda: len(shop.made) == 4)
    given.close()
    until(lambda: sum(map(len, executor._kept.results.values())) == 3)
    assert [result.output for _, result in drain(executor, batch, None, driver)] == ["a"] * 3
    assert shop.made.count("a") == 3
    assert executor._kept.is_empty


def test_a_result_that_is_kept_for_two_reasons_is_given_once(shop):
    executor, again = Executor(shop.tools, plugins=False), call("quick", "a")
    pairs = executor.execute([again])
    for _ in range(2):
        executor._kept.take_back(pairs, KeyboardInterrupt())
    assert executor.execute([again])[0][1] is pairs[0][1]
    executor.execute([again])
    assert shop.made == ["a", "a"]


def test_hooks_that_want_another_attempt_when_their_caller_has_gone_are_closed(shop):
    begun: list[Context] = []

    @tool(idempotent=True)
    def flaky(context: Context) -> Result:
        """Fail once."""
        begun.append(context)
        shop.stuck.set()
        assert shop.go_on.wait(30)
        return Result.error("busy", type="unavailable") if len(begun) == 1 else Result.ok("fine")

    turns = RateLimit(max_concurrency={"*": 1})
    executor = Executor([flaky], hooks=[turns, Retry(first=0)], plugins=False)

    async def twice() -> Result:
        task = asyncio.create_task(executor.acall(ToolCall("1", "flaky", {})))
        await asyncio.to_thread(shop.stuck.wait, 30)
        task.cancel()
        await asyncio.wait([task])
        shop.go_on.set()
        return await executor.acall(ToolCall("1", "flaky", {}))

    assert asyncio.run(twice()).output == "fine"
    assert len(begun) == 2


def test_kept_results_do_not_grow_without_end(shop, until):
    executor = Executor(shop.tools, runtime="async", plugins=False)
    batch = [call("quick", str(number)) for number in range(1_200)]

    async def main():
        given = executor.aiterate(batch)
        await anext(given)
        await asyncio.to_thread(until, lambda: len(shop.made) == len(batch))
        await asyncio.sleep(0)
        await given.aclose()

    asyncio.run(main())
    until(lambda: len(executor._kept.results) == 1_000)


SIGNALLED = """
    import sys, threading
    from tools_core import ToolCall, Context, tool
    from tools_runtime import Executor, ThreadRuntime

    made, go_on = [], threading.Event()

    @tool
    def held(key: str, context: Context) -> str:
        "Wait."
        made.append(key)
        if len(made) == 2:
            print("ready", flush=True)
        while not context.cancelled:
            go_on.wait(0.005)
        return key

    executor = Executor([held], runtime={runtime}, plugins=False, default_timeout=30)
    batch = [ToolCall(str(number), "held", {{"key": str(number)}}) for number in range(6)]
    try:
        {run}
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    began = list(made)
    while len(executor._kept.results) < 2:
        go_on.wait(0.005)
    assert sorted(made) == ["0", "1"] == sorted(began), made
    print(sorted(key[0] for key in executor._kept.results), flush=True)
    assert executor.call(batch[0]).output == "0" and made.count("0") == 1
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runtime", "run"),
    [
        ("ThreadRuntime(2)", "executor.execute(batch)"),
        ("ThreadRuntime(2)", "list(executor.iterate(batch))"),
        ("ThreadRuntime(2)", "import asyncio; asyncio.run(executor.aexecute(batch))"),
        ("'async'", "executor.max_concurrency = 2; executor.execute(batch)"),
    ],
)
def test_a_real_interrupt_from_the_keyboard(runtime, run):
    code = textwrap.dedent(SIGNALLED.format(runtime=runtime, run=run))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert out == "interrupted\n['0', '1']\n"
