from __future__ import annotations

import asyncio
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_core import Context, ToolCall, tool
from tools_runtime import Executor, hookimpl
from tools_runtime.plugins import RateLimit
from tools_runtime.plugins._rate_limit import _Bucket


class Counter:
    """A tool that counts how many of its calls run at once, and when each began."""

    def __init__(self):
        self.now = self.most = 0
        self.began: list[float] = []
        self.order: list[int] = []
        self._lock = threading.Lock()

    def enter(self, number):
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.began.append(time.monotonic())
            self.order.append(number)

    def leave(self):
        with self._lock:
            self.now -= 1


@pytest.fixture
def counted():
    counter = Counter()

    @tool
    async def search(number: int = 0) -> int:
        counter.enter(number)
        await asyncio.sleep(0.002)
        counter.leave()
        return number

    return counter, search


NUMBERS = [{"number": number} for number in range(12)]


def test_not_in_parallel_is_kept_in_every_runtime(run, calls, counted):
    counter, search = counted
    results = run([search], calls("search", *NUMBERS), [RateLimit(max_concurrency={"search": 1})])
    assert [result.output for result in results] == list(range(12))
    assert counter.most == 1


def test_without_the_limit_calls_do_run_in_parallel(calls, counted):
    counter, search = counted
    Executor([search], runtime="async", hooks=[RateLimit(max_concurrency={"other": 1})]).execute(
        calls("search", *NUMBERS)
    )
    assert counter.most > 1


def test_so_many_at_once_and_no_more(calls, counted):
    counter, search = counted
    Executor([search], runtime="thread", hooks=[RateLimit(max_concurrency={"se*": 3})]).execute(
        calls("search", *NUMBERS)
    )
    assert counter.most == 3


def test_calls_come_in_the_order_in_which_they_asked(calls, counted):
    counter, search = counted
    hook = RateLimit({"search": (1, 0.002)}, max_concurrency={"search": 1})
    asyncio.run(Executor([search], runtime="async", hooks=[hook]).aexecute(calls("search", *NUMBERS)))
    assert counter.order == list(range(12))


def test_a_rate_lets_a_burst_through_and_then_spaces_calls_evenly(run, calls, counted):
    counter, search = counted
    asked = time.monotonic()
    run([search], calls("search", *NUMBERS), [RateLimit({"search": (4, 0.2)})])
    # 4 at once, and then none before its turn; a busy machine may make any of them later.
    assert all(at - asked > (number - 3) * 0.05 - 0.005 for number, at in enumerate(sorted(counter.began)))


def test_all_tools_of_a_pattern_share_its_limits_and_every_pattern_holds(calls):
    counter = Counter()

    def sleeping(name):
        async def body() -> str:
            counter.enter(name)
            await asyncio.sleep(0.002)
            counter.leave()
            return name

        return tool(body, name=name)

    tools = [sleeping("web_get"), sleeping("web_put"), sleeping("read")]
    hook = RateLimit(max_concurrency={"web_*": 1, "web_get": 5})
    wanted = [*calls("web_get", {}, {}), *calls("web_put", {}, {})]
    Executor(tools, runtime="async", hooks=[hook]).execute(wanted)
    assert counter.most == 1
    Executor(tools, runtime="async", hooks=[RateLimit(max_concurrency={"*": 2})]).execute(
        [*wanted, *calls("read", {}, {})]
    )
    assert counter.most == 2


def test_who_would_wait_beyond_the_deadline_is_told_when_to_come_back(run, calls, counted):
    _, search = counted
    hook = RateLimit({"search": "1/h"})
    first, second = run([search], calls("search", {}, {}), [hook], Context(timeout=5))
    assert first.is_ok
    assert (second.error_type, second.is_error) == ("limit_exceeded", True)
    assert 3500 < second.metadata["retry_after"] <= 3600
    assert "search was not called: it is called too often; try again in" in second.error_message


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_who_waits_for_a_running_call_until_the_deadline_is_refused(runtime, calls):
    running, over = threading.Event(), threading.Event()

    @tool
    def deploy() -> str:
        running.set()
        over.wait(20)
        return "done"

    executor = Executor([deploy], runtime=runtime, hooks=[RateLimit(max_concurrency={"deploy": 1})])
    first: list[object] = []
    other = threading.Thread(target=lambda: first.extend(executor.execute(calls("deploy", {}))))
    other.start()
    try:
        assert running.wait(20)
        [(_, result)] = executor.execute(calls("deploy", {}), Context(timeout=0.1))
    finally:
        over.set()
        other.join()
    assert (result.error_type, "too many calls of it are running" in result.error_message) == ("limit_exceeded", True)
    assert first[0][1].output == "done"
    [(_, result)] = executor.execute(calls("deploy", {}), Context(timeout=5))
    assert result.is_ok  # the turn that was not taken is not lost


def test_who_gives_up_during_a_long_wait_leaves_its_turn_to_others(counted, until):
    counter, search = counted
    limit, context = RateLimit({"search": (1, 3.0)}), Context()
    call = ToolCall(None, "search", {})

    async def main():
        with Executor([search], hooks=[limit], plugins=False) as executor:
            await executor.acall(call)
            waiting = asyncio.create_task(executor.acall(call, context))
            await until(lambda: limit._buckets[0][1]._next > time.monotonic() + 3)
            context.cancel()
            async with asyncio.timeout(2):
                return await waiting

    assert asyncio.run(main()).error_type == "cancelled"
    assert len(counter.began) == 1 and limit._buckets[0][1]._returned


def test_a_call_whose_caller_gave_up_while_it_waited_is_not_made(calls):
    running, over, made = threading.Event(), threading.Event(), []

    @tool
    def deploy(number: int) -> None:
        made.append(number)
        running.set()
        over.wait(20)

    executor = Executor([deploy], runtime="thread", hooks=[RateLimit(max_concurrency={"deploy": 1})])
    context, results = Context(), []
    first = threading.Thread(target=lambda: executor.execute(calls("deploy", {"number": 1})))
    first.start()
    assert running.wait(20)
    second = threading.Thread(target=lambda: results.extend(executor.execute(calls("deploy", {"number": 2}), context)))
    second.start()
    context.cancel()
    over.set()
    first.join(20)
    second.join(20)
    assert made == [1] and results[0][1].error_type == "cancelled"


def test_who_gives_up_while_another_call_runs_does_not_wait_for_its_end(run, counted):
    _, search = counted
    hook, context, before = RateLimit(max_concurrency={"search": 1}), Context(timeout=20), Context(timeout=20)
    gate = hook._gates[0][1]
    held = gate.enter()  # by a call that never ends

    class Caller:
        """Gives up as soon as its call waits."""

        @hookimpl
        def around_tool_call(self):
            threading.Thread(target=self.give_up).start()
            return (yield)

        def give_up(self):
            while not gate._waiting:
                threading.Event().wait(0.001)
            context.cancel()

    [result] = run([search], [ToolCall("1", "search", {})], [Caller(), hook], context)
    assert result.error_type == "cancelled"
    gate.leave(held)
    assert run([search], [ToolCall("1", "search", {})], [hook], before)[0].is_ok  # no turn is lost


@pytest.mark.parametrize("most", [1, 2])
def test_a_call_from_inside_one_that_it_would_wait_for_is_refused(run, calls, most):
    hook = RateLimit(max_concurrency={"nest": most})

    @tool
    def nest(depth: int) -> str:
        if depth == 0:
            return "all the way"
        executor = Executor([nest], hooks=[hook], plugins=False)
        return str(executor.call(ToolCall(None, "nest", {"depth": depth - 1}), Context(timeout=2)))

    for _ in range(2):
        fits, does_not = run([nest], calls("nest", {"depth": most - 1}, {"depth": most}), [hook], max_concurrency=1)
        assert fits.output == "all the way"
        assert does_not.output.startswith("nest was not called: it is called by a call that it would have to wait for")


def test_turns_of_calls_that_were_cancelled_go_to_others(calls, counted, until):
    counter, search = counted
    # 2 at once, then one per 2 s: without the turns of the cancelled, the last calls would come after 100 s.
    hook = RateLimit({"search": (2, 4)}, max_concurrency={"search": 100})
    executor = Executor([search], runtime="async", hooks=[hook])

    async def main():
        waiting = asyncio.create_task(executor.aexecute(calls("search", *[{}] * 50)))
        await until(lambda: len(counter.began) == 2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        del waiting
        return await executor.aexecute(calls("search", {}), Context(timeout=10))

    [(_, result)] = asyncio.run(main())
    assert result.is_ok, result


def test_slots_of_calls_that_were_cancelled_are_free_again(calls, until):
    started: list[int] = []

    @tool
    async def search(number: int) -> int:
        started.append(number)
        await asyncio.sleep(0 if number > 90 else 60)
        return number

    executor = Executor([search], runtime="async", hooks=[RateLimit(max_concurrency={"search": 2})])

    async def main():
        waiting = asyncio.create_task(executor.aexecute(calls("search", *NUMBERS)))
        await until(lambda: len(started) == 2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        del waiting
        return await asyncio.wait_for(executor.aexecute(calls("search", {"number": 99}, {"number": 98})), 10)

    assert [result.output for _, result in asyncio.run(main())] == [99, 98]


def test_threads_and_event_loops_wait_for_each_other(calls, counted):
    counter, search = counted
    hook = RateLimit(max_concurrency={"search": 1})
    results: list[object] = []

    def awaited():
        executor = Executor([search], runtime="async", hooks=[hook])
        results.extend(asyncio.run(executor.aexecute(calls("search", *NUMBERS))))

    def threaded():
        results.extend(Executor([search], runtime="thread", hooks=[hook]).execute(calls("search", *NUMBERS)))

    workers = [threading.Thread(target=body) for body in (awaited, threaded, awaited)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert len(results) == 36 and counter.most == 1


def test_a_thousand_calls_wait_in_one_event_loop_without_threads(calls, threads):
    @tool
    async def watched(number: int) -> int:
        threads.look()
        return number

    hook = RateLimit({"watched": "2000/s"}, max_concurrency={"watched": 10})
    executor = Executor([watched], runtime="async", hooks=[hook])
    pairs = asyncio.run(executor.aexecute(calls("watched", *({"number": number} for number in range(1000)))))
    assert [result.output for _, result in pairs] == list(range(1000))
    assert threads.most <= 2


def test_a_name_with_its_distribution_has_the_same_limits(counted):
    counter, search = counted
    tools = {"search": search, "dist:search": search}  # as a registry has it
    limit = RateLimit({"search": "1/h"})
    with Executor(tools, hooks=[limit], plugins=False) as executor:
        results = [executor.call(ToolCall(None, name, {}), Context(timeout=5)) for name in tools]
    assert [result.error_type for result in results] == [None, "limit_exceeded"]
    assert len(counter.began) == 1


@pytest.mark.parametrize("rate", ["10", "10/d", "0/s", "-1/s", "a/s", (0, 1), (1, 0), (1,), 5, (1, float("nan"))])
def test_a_rate_that_means_nothing_is_refused(rate):
    with pytest.raises(ValueError, match="a rate is"):
        RateLimit({"search": rate})


def test_a_concurrency_of_none_at_all_is_refused():
    with pytest.raises(ValueError, match="1 or more"):
        RateLimit(max_concurrency={"search": 0})


@given(
    count=st.integers(1, 5),
    steps=st.lists(st.tuples(st.floats(0, 3), st.sampled_from(["take", "give"])), max_size=60),
)
def test_in_no_stretch_of_time_there_are_more_calls_than_burst_and_rate_allow(count, steps):
    bucket, now = _Bucket(count, 4.0), 100.0
    planned: list[tuple[float, float]] = []  # the turn, and when the call is made
    for wait, what in steps:
        now += wait
        waiting = [entry for entry in planned if entry[1] > now]
        if what == "give" and waiting:
            planned.remove(waiting[0])
            bucket.give_back(waiting[0][0])
        else:
            at = max(now, bucket.next_turn(now))
            planned.append((bucket.take(now), at))
    made = sorted(at for _, at in planned)
    for first in range(len(made)):
        for last in range(first, len(made)):
            allowed = count + (made[last] - made[first]) / bucket.interval
            assert last - first + 1 <= allowed + 1e-6
