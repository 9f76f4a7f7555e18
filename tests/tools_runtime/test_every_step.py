"""Stopped at any step whatever, an executor loses no finished result, makes nothing twice and leaves nothing behind."""

from __future__ import annotations

import asyncio
import importlib
import linecache
import os
import sys
import textwrap
import threading
import weakref
from collections import Counter
from itertools import count

import pytest

import tools_runtime
from tools_core import Context, ToolCall, threads, tool
from tools_runtime import (
    AsyncRuntime,
    Blocking,
    Executor,
    InlineRuntime,
    Pause,
    ProcessRuntime,
    ThreadRuntime,
    hookimpl,
)

HOME = os.path.dirname(tools_runtime.__file__) + os.sep


class Interruption:
    """Raises KeyboardInterrupt in this thread before the line (or opcode) of the package whose turn it is.

    Lines that begin a `with` block come again at its end, before the exit: no signal comes there, so they have no turn.
    Nor have those of a finalizer, from which nothing can be raised, and which comes when the collector likes.
    """

    def __init__(self, turn, event="line"):
        self.turn = turn
        self.event = event
        self.place = None  # where it was, once it has been
        self.on_raise = lambda: None
        self._seen = 0

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)

    def _called(self, frame, _event, _argument):
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        frame.f_trace_opcodes = self.event == "opcode"
        return self._stepped

    def _stepped(self, frame, event, _argument):
        if event == self.event and not line_of(frame).startswith("with ") and not is_of_finalizer(frame):
            self._seen += 1
            if self._seen == self.turn:
                self.place = f"{frame.f_code.co_filename.removeprefix(HOME)}:{frame.f_lineno} ({frame.f_code.co_name})"
                self.on_raise()
                raise KeyboardInterrupt
        return self._stepped


def line_of(frame):
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno or 0).lstrip()


def is_of_finalizer(frame):
    while frame is not None and frame.f_code is not weakref.finalize.__call__.__code__:
        frame = frame.f_back
    return frame is not None


def busy():
    """How many worker threads are at something, and coroutines of synchronous callers on their way."""
    workers = sum(thread.name == "tools-core worker" for thread in threading.enumerate())
    loop = threads._running_loop
    return workers - len(threads._idle) + (len(asyncio.all_tasks(loop)) if loop is not None else 0)


class Around:
    """Waits before the call and after it."""

    @hookimpl
    def around_tool_call(self):
        yield Pause(0)
        result = yield
        yield Pause(0)
        yield Blocking(lambda: None)
        return result.with_metadata({"around": True})


class Beside:
    @hookimpl
    def before_tool_call(self):
        return None

    @hookimpl
    def after_tool_call(self, result):
        return result.with_metadata({"after": True})

    @hookimpl
    def on_event(self, event):
        return None


class Wrapping(InlineRuntime):
    def around_tool_call(self, call, context):
        return (yield).with_metadata({"wrapped": True})


class Shop:
    """Tools that count how often their bodies come to an end."""

    def __init__(self):
        self.ended = Counter()
        self.go_on = threading.Event()

        @tool
        def plain(key: str) -> str:
            """Answer."""
            self.ended[key] += 1
            return key

        @tool
        async def awaited(key: str) -> str:
            """Answer after a while."""
            await asyncio.sleep(0)
            self.ended[key] += 1
            return key

        @tool(timeout=0.01)
        def held(key: str) -> str:
            """Answer when it is let go."""
            assert self.go_on.wait(30)
            self.ended[key] += 1
            return key

        self.tools = [plain, awaited, held]


def batch_of(names):
    return [ToolCall(f"c{number}", name, {"key": f"k{number}"}) for number, name in enumerate(names)]


def outputs(pairs):
    return {call.id: result.output for call, result in pairs}


def answers(calls):
    return {call.id: call.arguments["key"] for call in calls}


PLAIN, MIXED = ["plain", "plain"], ["plain", "awaited"]
CASES = {
    "plain": (InlineRuntime, {}, PLAIN),
    "inline": (InlineRuntime, {"hooks": [Around(), Beside()]}, MIXED),
    "wrapping": (Wrapping, {"hooks": [Around()]}, MIXED),
    "worker": (lambda: InlineRuntime(worker_thread=True), {"hooks": [Around()]}, MIXED),
    "thread": (ThreadRuntime, {"hooks": [Around(), Beside()]}, MIXED),
    "bare threads": (ThreadRuntime, {}, PLAIN),
    "one thread": (lambda: ThreadRuntime(1), {"hooks": [Around()]}, PLAIN),
    "async": (AsyncRuntime, {"hooks": [Around()]}, MIXED),
    "together": (lambda: {"plain": "thread", "*": "async"}, {"max_concurrency": 2}, [*MIXED, "plain"]),
}


def executed(executor, batch, delivered):
    pairs = executor.execute(batch)
    delivered += pairs


def iterated(executor, batch, delivered):
    for pair in executor.iterate(batch):
        delivered.append(pair)


def called(executor, batch, delivered):
    for call in batch:
        result = executor.call(call)
        delivered.append((call, result))


QUICK = [("plain", executed), ("inline", executed), ("thread", executed), ("async", executed), ("together", executed),
         ("plain", iterated), ("thread", iterated), ("plain", called)]  # fmt: skip
EVERY = [
    pytest.param(case, drive, marks=() if (case, drive) in QUICK else pytest.mark.slow, id=f"{case}-{drive.__name__}")
    for case in CASES
    for drive in (executed, iterated, called)
]


def interrupted_everywhere(case, drive, until, event):
    """Interrupt at one step after the other; yields where it was, and whether each body came to its end once."""
    make, options, names = CASES[case]
    before = busy()
    for turn in count(1):
        shop, batch, delivered = Shop(), batch_of(names), []
        with Executor(shop.tools, runtime=make(), plugins=False, **options) as executor:
            interruption = Interruption(turn, event)
            try:
                with interruption:
                    drive(executor, batch, delivered)
            except KeyboardInterrupt:
                assert interruption.place is not None
            else:
                assert interruption.place is None, f"the interruption at {interruption.place} was swallowed"
                assert outputs(delivered) == answers(batch)
                return
            until(lambda: busy() <= before)
            rest = batch[len(delivered) :]
            assert outputs([*delivered, *executor.execute(rest)]) == answers(batch), interruption.place
            yield interruption.place, set(shop.ended.values()) == {1}


@pytest.mark.parametrize(("case", "drive"), EVERY)
def test_an_interruption_at_any_line_loses_no_finished_result(case, drive, until):
    places = list(interrupted_everywhere(case, drive, until, "line"))
    assert len(places) > 15
    assert [place for place, was_made_once in places if not was_made_once] == []


@pytest.mark.slow
@pytest.mark.parametrize(("case", "drive"), [("plain", executed), ("wrapping", iterated)])
def test_an_interruption_inside_of_a_line_loses_a_result_only_while_it_is_being_put_away(case, drive, until):
    lost = [place for place, was_made_once in interrupted_everywhere(case, drive, until, "opcode") if not was_made_once]
    # Of each call from the return of `Tool.call` to the store, and the return of the list: nothing there calls or jumps
    # back, and nowhere else does CPython look at signals.
    assert len(lost) <= 5 * len(CASES[case][2]) + 1, lost


@pytest.mark.parametrize("runtime", [ThreadRuntime, pytest.param(AsyncRuntime, marks=pytest.mark.slow)])
def test_an_interruption_while_a_call_is_left_behind_makes_it_no_second_time(runtime, until):
    before = busy()
    for turn in count(1):
        shop, batch = Shop(), batch_of(["held", "plain"])
        executor = Executor(shop.tools, runtime=(made := runtime()), plugins=False)
        interruption = Interruption(turn)
        interruption.on_raise = shop.go_on.set
        try:
            with interruption:
                pairs = executor.execute(batch)
        except KeyboardInterrupt:
            until(lambda: busy() <= before)
            pairs = executor.execute(batch)
        shop.go_on.set()
        until(lambda: busy() <= before and made.leaked == 0)
        held, plain = (result for _, result in pairs)
        assert (held.output or held.error_type) in ("k0", "timeout_error"), interruption.place
        assert plain.output == "k1"
        assert shop.ended["k1"] == 1 and shop.ended["k0"] <= 1, interruption.place  # a limit may pass before it begins
        if interruption.place is None:
            break
    assert turn > 15


def test_an_interruption_cancels_the_coroutines_that_were_started(until):
    Executor(Shop().tools, runtime="async", plugins=False).execute(batch_of(MIXED))  # what is imported has lines, too
    before = busy()
    for turn in count(1):
        ended = []

        @tool
        async def slow() -> None:
            """Take a while."""
            await asyncio.sleep(2)
            ended.append(turn)  # noqa: B023

        interruption = Interruption(turn)
        with interruption, pytest.raises(KeyboardInterrupt):
            Executor([slow], runtime="async", plugins=False).execute([ToolCall("c", "slow", {})])
        until(lambda: busy() <= before)
        assert not ended, interruption.place
        if "(_wait)" in interruption.place:  # everything was started
            break


def test_an_interruption_while_results_are_kept_tells_those_that_run_all_the_same(until):
    before = busy()
    for turn in count(1):
        contexts, go_on = [], threading.Event()

        @tool
        def held(context: Context) -> None:
            """Answer when it is let go."""
            contexts.append(context)  # noqa: B023
            go_on.wait(30)  # noqa: B023

        quick = tool(lambda: None, name="quick", description="Answer.")
        calls = [ToolCall(str(number), name, {}) for number, name in enumerate(["quick", "held", "held", "quick"])]
        given = Executor([quick, held], runtime=ThreadRuntime(2), plugins=False).iterate(calls)
        next(given)
        until(lambda: len(contexts) == 2)  # noqa: B023
        interruption = Interruption(turn)
        try:
            with interruption:
                given.close()
        except KeyboardInterrupt:
            pass
        go_on.set()
        if "_keep" in (interruption.place or ""):
            assert all(context.cancelled for context in contexts), interruption.place
        until(lambda: busy() <= before)
        if interruption.place is None:
            break
    assert turn > 5


def test_what_is_made_after_results_were_kept_and_before_coroutines_are_cancelled_is_kept_as_well(until):
    go_on, paused, made = threading.Event(), threading.Event(), []

    @tool
    async def slow(key: str) -> str:
        """Answer when it is let go, or is a first one."""
        made.append(key)
        await asyncio.to_thread(lambda: key == "k0" or go_on.wait(30))
        return key

    class Pausing:
        @hookimpl
        def around_tool_call(self, call):
            result = yield
            if go_on.is_set() and not paused.is_set():
                paused.set()
                yield Pause(30)
            return result

    def called(frame, _event, _argument):
        if frame.f_code.co_name == "give_up" and threading.current_thread() is threading.main_thread():
            go_on.set()
            assert paused.wait(20)

    executor = Executor([slow], runtime="async", hooks=[Pausing()], plugins=False)
    batch = batch_of(["slow", "slow"])
    given = executor.iterate(batch)
    next(given)
    before = sys.gettrace()
    sys.settrace(called)
    try:
        given.close()
    finally:
        sys.settrace(before)
    assert paused.is_set()
    until(lambda: executor._kept.made)
    assert outputs(executor.execute(batch[1:])) == {"c1": "k1"}
    assert sorted(made) == ["k0", "k1"]


# ------------------------------------------------------------------------------------------------- cancellation


class Stepped:
    """A coroutine that tells of each of its steps before it takes it."""

    def __init__(self, coroutine, tell):
        self.coroutine = coroutine
        self.tell = tell

    def __await__(self):
        value, error = None, None
        while True:
            self.tell()
            try:
                step = self.coroutine.send(value) if error is None else self.coroutine.throw(error)
            except StopIteration as end:
                return end.value
            value, error = None, None
            try:
                value = yield step
            except BaseException as thrown:  # noqa: BLE001  (handed on)
                error = thrown


def cancelled_at(turn, coroutine):
    """Cancel it at the step whose turn it is, of whichever task; whether there was such a step, and no task is left."""
    seen = 0

    async def main():
        loop = asyncio.get_running_loop()

        def tell():
            nonlocal seen
            seen += 1
            if seen == turn:
                loop.call_soon(task.cancel)

        async def stepped(coroutine):
            return await Stepped(coroutine, tell)

        task = loop.create_task(stepped(coroutine))
        loop.set_task_factory(lambda loop, inner, **options: asyncio.Task(stepped(inner), loop=loop, **options))
        await asyncio.wait([task])
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return task.cancelled() or task.result()

    asyncio.run(main())
    return seen >= turn


async def awaited(executor, batch, delivered):
    pairs = await executor.aexecute(batch)
    delivered += pairs


async def aiterated(executor, batch, delivered):
    async for pair in executor.aiterate(batch):
        delivered.append(pair)


async def acalled(executor, batch, delivered):
    for call in batch:
        result = await executor.acall(call)
        delivered.append((call, result))


@pytest.mark.parametrize("drive", [awaited, aiterated, acalled])
@pytest.mark.parametrize("case", CASES)
def test_a_cancellation_at_any_step_loses_no_finished_result(case, drive, until):
    make, options, names = CASES[case]
    before = busy()
    for turn in count(1):
        shop, batch, delivered = Shop(), batch_of(names), []
        with Executor(shop.tools, runtime=make(), plugins=False, **options) as executor:
            goes_on = cancelled_at(turn, drive(executor, batch, delivered))
            until(lambda: busy() <= before)
            pairs = delivered + asyncio.run(executor.aexecute(batch[len(delivered) :]))
        assert outputs(pairs) == answers(batch), turn
        assert set(shop.ended.values()) == {1}, turn
        if not goes_on:
            break
    assert turn > 3


# ---------------------------------------------------------------------------------------------------- processes


NOTING = """
    from tools_core import tool


    @tool
    def noted(key: str, path: str) -> str:
        "Note that it was called."
        with open(path, "a") as file:
            file.write(key + " ")
        return key
"""


def marked(mark):
    """The processes that have an entry in their environment."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"EVERY_STEP={mark}".encode() in file.read().split(b"\0"):
                    found.append(name)
        except OSError:  # it has ended, or is another user's
            continue
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are found in /proc")
@pytest.mark.parametrize("step", [40, pytest.param(7, marks=pytest.mark.slow)])
def test_an_interruption_leaves_no_worker_process_and_makes_no_call_twice(step, until, tmp_path, monkeypatch):
    (tmp_path / "noting_tools.py").write_text(textwrap.dedent(NOTING))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "noting_tools", raising=False)
    noted = importlib.import_module("noting_tools").noted
    before = busy()
    for turn in count(1, step):
        mark, path = os.urandom(8).hex(), tmp_path / f"notes{turn}"
        batch = [ToolCall(f"c{number}", "noted", {"key": f"k{number}", "path": str(path)}) for number in range(3)]
        runtime = ProcessRuntime(2, environment={"EVERY_STEP": mark})
        interruption = Interruption(turn)
        with runtime:
            executor = Executor([noted], runtime=runtime, plugins=False)
            try:
                with interruption:
                    pairs = executor.execute(batch)
            except KeyboardInterrupt:
                until(lambda: busy() <= before)
                pairs = executor.execute(batch)
        until(lambda mark=mark: not marked(mark))
        noted_keys = path.read_text().split()
        for (call, result), key in zip(pairs, ("k0", "k1", "k2"), strict=True):
            # One that was running is killed, and its result says so; it may have noted its key before.
            assert result.output == key or result.error_type in ("cancelled", "interrupted"), (call, interruption.place)
            assert noted_keys.count(key) <= 1, interruption.place
        if interruption.place is None:
            break
    assert turn > 100
