from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tools_core import Context, Result, ToolCall, tool
from tools_runtime import Executor, hookimpl
from tools_runtime.plugins import RateLimit, Retry

NUMBERS = [{"number": number} for number in range(12)]


class Counter:
    """Counts how many calls run at once, and when each began."""

    def __init__(self):
        self.now = self.most = 0
        self.began: list[float] = []
        self.order: list[object] = []
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
        for _ in range(5):
            await asyncio.sleep(0)
        counter.leave()
        return number

    return counter, search


class Holder:
    """A tool whose calls run until `over` is set."""

    def __init__(self):
        self.running, self.over, self.made = threading.Semaphore(0), threading.Event(), []

        @tool
        async def deploy(number: int = 0) -> int:
            self.made.append(number)
            self.running.release()
            while not self.over.is_set():
                await asyncio.sleep(0.001)
            return number

        self.tool = deploy

    def start(self, executor, context, **arguments):
        """Make a call in a thread, and wait until it runs."""
        thread = threading.Thread(target=lambda: executor.call(ToolCall(None, "deploy", arguments), context=context))
        thread.start()
        assert self.running.acquire(timeout=20)
        return thread


@pytest.fixture
def holder():
    holder = Holder()
    yield holder
    holder.over.set()


def test_a_limit_of_one_runs_calls_in_order(run, calls, counted):
    counter, search = counted
    results = run([search], calls("search", *NUMBERS), [RateLimit(max_concurrency={"search": 1})])
    assert [result.output for result in results] == sorted(counter.order) == list(range(12))
    assert counter.most == 1


@pytest.mark.parametrize(("limit", "expected"), [({"se*": 3}, 3), ({"other": 1}, 12)])
def test_the_limit_applies_to_matching_tools_only(calls, limit, expected):
    counter, are_together = Counter(), asyncio.Event()

    @tool
    async def search(number: int) -> None:
        counter.enter(number)
        if counter.now == expected:
            are_together.set()
        await are_together.wait()
        counter.leave()

    executor = Executor([search], runtime="async", hooks=[RateLimit(max_concurrency=limit)], plugins=False)
    asyncio.run(executor.aexecute(calls("search", *NUMBERS)))
    assert counter.most == expected


def test_a_rate_lets_a_burst_through_and_then_spaces_calls_evenly(run, calls, counted):
    counter, search = counted
    start = time.monotonic()
    run([search], calls("search", *NUMBERS), [RateLimit({"search": (4, 0.2)})])
    # 4 at once, and then none before its turn; a busy machine may make any of them later.
    assert all(at - start > (number - 3) * 0.05 - 0.005 for number, at in enumerate(sorted(counter.began)))


def test_all_tools_of_a_pattern_share_its_limits_and_every_pattern_applies(calls):
    counter = Counter()

    def counting(name):
        async def body() -> str:
            counter.enter(name)
            for _ in range(5):
                await asyncio.sleep(0)
            counter.leave()
            return name

        return tool(body, name=name)

    tools = [counting("web_get"), counting("web_put")]
    hooks = [RateLimit(max_concurrency={"web_*": 1, "web_get": 5})]
    batch = [*calls("web_get", {}, {}), *calls("web_put", {}, {})]
    Executor(tools, runtime="async", hooks=hooks, plugins=False).execute(batch)
    assert counter.most == 1


@pytest.mark.parametrize("limit", [{"max_concurrency": {"deploy": 1}}, {"rates": {"deploy": "1/h"}}])
def test_each_run_has_separate_limits(holder, limit):
    executor = Executor([holder.tool], hooks=[RateLimit(**limit)], plugins=False)
    threads = [holder.start(executor, Context(timeout=60)) for _ in range(2)]
    holder.over.set()
    for thread in threads:
        thread.join(20)
    assert len(holder.made) == 2


def test_a_key_shares_limits_among_runs(counted, call, by_user):
    _, search = counted
    key, of = by_user
    limit = RateLimit({"search": "1/h"}, key=key)
    contexts = [of("ann").for_call(60), of("ann").for_call(60), of("bob").for_call(60)]
    assert [call(search, [limit], context).error_type for context in contexts] == [None, "limit_exceeded", None]


def test_a_call_that_would_miss_its_deadline_is_refused_with_retry_after(run, calls, counted):
    _, search = counted
    hook = RateLimit({"search": "1/h"})
    results = run([search], calls("search", {}, {}), [hook], Context(timeout=60))
    first, second = sorted(results, key=lambda result: not result.ok)
    assert first.ok and second.error_type == "limit_exceeded"
    assert 3500 < second.metadata["retry_after"] <= 3600
    assert "search was not run: rate limit exceeded; retry in" in second.error


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_waiting_for_a_running_call_ends_at_the_deadline(runtime, holder):
    hooks = [RateLimit(max_concurrency={"deploy": 1}, key=lambda _: None)]
    executor = Executor([holder.tool], runtime=runtime, hooks=hooks, plugins=False)
    thread = holder.start(executor, Context(timeout=60))
    result = executor.call(ToolCall(None, "deploy"), context=Context(timeout=0.5))
    holder.over.set()
    thread.join(20)
    assert result.error_type == "limit_exceeded" and "concurrency limit reached" in result.error
    assert executor.call(ToolCall(None, "deploy"), context=Context(timeout=60)).ok


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_a_cancelled_waiter_frees_its_place(runtime, holder):
    class Waits:
        """Cancels the second call once it waits."""

        @hookimpl
        def on_event(self, event):
            if event.kind == "start" and event.call.id == "second":
                threading.Timer(0.05, context.cancel).start()

    context = Context()
    hooks = [Waits(), RateLimit(max_concurrency={"deploy": 1}, key=lambda _: None)]
    executor = Executor([holder.tool], runtime=runtime, hooks=hooks, plugins=False)
    thread = holder.start(executor, Context(), number=1)
    result = executor.call(ToolCall("second", "deploy", {"number": 2}), context=context)
    holder.over.set()
    thread.join(20)
    assert result.error_type == "cancelled" and holder.made == [1]
    assert executor.call(ToolCall(None, "deploy", {"number": 3}), context=Context(timeout=60)).ok


@pytest.mark.slow
def test_turns_and_places_of_cancelled_calls_go_to_others(calls, counted):
    counter, search = counted
    # 2 at once, then one per 2 s: without the turns of the cancelled calls, the last ones would come after 100 s.
    hook = RateLimit({"search": (2, 4)}, max_concurrency={"search": 100}, key=lambda _: None)
    executor = Executor([search], runtime="async", hooks=[hook], plugins=False)

    async def main():
        waiting = asyncio.create_task(executor.aexecute(calls("search", *[{}] * 50)))
        async with asyncio.timeout(20):
            while len(counter.began) < 2:
                await asyncio.sleep(0.001)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return await executor.aexecute(calls("search", {}), Context(timeout=60))

    [(_, result)] = asyncio.run(main())
    assert result.ok, result


def test_a_nested_call_needs_no_second_place(run, calls):
    hook = RateLimit(max_concurrency={"nest": 1}, key=lambda _: None)

    @tool
    def nest(depth: int) -> str:
        if depth == 0:
            return "done"
        inner = Executor([nest], hooks=[hook], plugins=False)
        return str(inner.call(ToolCall(None, "nest", {"depth": depth - 1}), context=Context(timeout=60)))

    results = run([nest], calls("nest", {"depth": 3}, {"depth": 0}), [hook], Context(timeout=60))
    assert [result.output for result in results] == ["done", "done"]


def test_a_retry_waits_for_its_turn_again():
    order: list[str] = []

    @tool(read_only=True)
    async def fetch(key: str) -> Result:
        order.append(key)
        return Result.error("busy", metadata={"retry_after": 0.2}) if len(order) == 1 else Result.ok(key)

    hooks = [Retry(), RateLimit(max_concurrency={"fetch": 1})]
    executor = Executor([fetch], runtime="async", hooks=hooks, plugins=False)
    pairs = executor.execute([ToolCall(key, "fetch", {"key": key}) for key in "abc"])
    assert [result.output for _, result in pairs] == ["a", "b", "c"]
    assert order == ["a", "b", "c", "a"]


def test_a_name_with_its_distribution_has_the_same_limits(counted):
    _, search = counted
    executor = Executor({"search": search, "dist:search": search}, hooks=[RateLimit({"search": "1/h"})], plugins=False)
    pairs = executor.execute([ToolCall(None, name) for name in ("search", "dist:search")], Context(timeout=60))
    assert [result.error_type for _, result in pairs] == [None, "limit_exceeded"]


@pytest.mark.parametrize("rate", ["10", "10/d", "0/s", "-1/s", "a/s", (0, 1), (1, 0), (1,), 5, (1, float("nan"))])
def test_an_invalid_rate_is_refused(rate):
    with pytest.raises(ValueError, match="a rate is"):
        RateLimit({"search": rate})


def test_a_concurrency_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        RateLimit(max_concurrency={"search": 0})
