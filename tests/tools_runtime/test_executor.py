"""Every call gets exactly one result, in the order of the calls, whatever happens."""

from __future__ import annotations

import asyncio
import collections
import copy
import gc
import os
import pickle
import sys
import threading
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import Context, DefinitionError, Halt, Registry, Result, Tool, ToolCall, ToolError, Toolset, tool
from tools_runtime import AsyncRuntime, Executor, InlineRuntime, Runtime, ThreadRuntime, hookimpl
from tools_runtime._bugs import BUGS
from tools_runtime.plugins import Retry

made: collections.Counter[str] = collections.Counter()
forever = threading.Event()  # never set


@tool
def ok(key: str) -> str:
    """Answer."""
    made[key] += 1
    return key


@tool
async def awaited(key: str) -> str:
    """Answer later."""
    made[key] += 1
    await asyncio.sleep(0)
    return key


@tool
def slow(key: str) -> str:
    """Answer after a moment."""
    made[key] += 1
    forever.wait(0.005)
    return key


@tool
def broken(key: str) -> str:
    """Raise."""
    made[key] += 1
    raise LookupError(key)


@tool
async def refused(key: str) -> str:
    """Refuse."""
    made[key] += 1
    raise ToolError(key, "not_found")


@tool
def halting(key: str) -> str:
    """Halt."""
    made[key] += 1
    raise Halt(key)


@tool(timeout=0.02)
async def late(key: str) -> str:
    """Never answer."""
    made[key] += 1
    await asyncio.Event().wait()
    return key


@tool(timeout=0.02)
def late_here(key: str, context: Context) -> str:
    """Answer when it is told to stop, or its limit is over."""
    made[key] += 1
    while not context.cancelled and context.remaining:
        forever.wait(0.002)
    return key


@tool(timeout=0.02)
async def stuck(key: str) -> str:
    """Swallow cancellation, for a while."""
    made[key] += 1
    for _ in range(20):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)
    return key


@tool
def leaving(key: str) -> str:
    """Exit."""
    made[key] += 1
    sys.exit(3)


@tool
async def leaving_async(key: str) -> str:
    """Exit."""
    made[key] += 1
    sys.exit(3)


@tool
async def cancelled(key: str) -> str:
    """Raise what it should not."""
    made[key] += 1
    raise asyncio.CancelledError


TOOLS = [ok, awaited, slow, broken, refused, halting, late, late_here, cancelled, stuck, leaving, leaving_async]
ANYWHERE = ["ok", "awaited", "slow", "broken", "refused", "halting", "late", "late_here", "cancelled", "unknown", "bad"]
BESIDE = [*ANYWHERE, "stuck", "leaving"]  # what would end, or hold up, the thread of the caller


class Quiet:
    @hookimpl
    def before_tool_call(self):
        return None


class Around:
    @hookimpl
    def around_tool_call(self):
        return (yield)


class Failing:
    @hookimpl
    def after_tool_call(self):
        raise SystemExit("a hook that breaks never loses a result")


EXPECTED = {
    "ok": None, "awaited": None, "slow": None, "halting": None, "broken": "execution_error", "refused": "not_found",
    "late": "timeout_error", "stuck": "timeout_error", "leaving": "execution_error", "leaving_async": "execution_error",
    "cancelled": "cancelled", "unknown": "unknown_tool", "bad": "validation_error",
}  # fmt: skip

RUNTIMES = {
    "inline": (InlineRuntime, ANYWHERE),
    "worker": (lambda: InlineRuntime(worker_thread=True), ANYWHERE),
    "thread": (ThreadRuntime, BESIDE),
    "thread2": (lambda: ThreadRuntime(2), BESIDE),
    "thread1": (lambda: ThreadRuntime(1), BESIDE),
    "async": (AsyncRuntime, [*BESIDE, "leaving_async"]),
    "async1": (lambda: AsyncRuntime(1, grace=0.02), [*BESIDE, "leaving_async"]),
    "mixed": (lambda: {"ok": "thread", "late": "async", "slow": ThreadRuntime(2), "*": "inline"}, ANYWHERE),
}


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_every_call_gets_exactly_one_result_in_the_order_of_the_calls(runtime, drain, data, caplog):
    make, names = RUNTIMES[runtime]
    chosen = data.draw(st.lists(st.sampled_from(names), max_size=10))
    driver = data.draw(st.sampled_from(["execute", "iterate", "aexecute", "aiterate"]))
    if driver.startswith("a"):  # a synchronous tool that exits inline, or swallows, does so in the caller's own loop
        chosen = [name for name in chosen if name != "stuck" or not runtime.startswith("thread")]
    hooks = data.draw(st.lists(st.sampled_from([Quiet, Around, Failing]), max_size=3))
    most = data.draw(st.sampled_from([None, None, 1, 2, 5]))
    executor = Executor(TOOLS, runtime=make(), hooks=hooks, max_concurrency=most, plugins=False)
    made.clear()
    batch = []
    for number, name in enumerate(chosen):
        given_ = {"key": 1} if name == "bad" else {"key": str(number)}
        batch.append(ToolCall(f"id{number}", "ok" if name == "bad" else name, given_))
    pairs = drain(executor, batch, None, driver)
    caplog.clear()
    assert [call for call, _ in pairs] == batch
    for number, (name, (_, result)) in enumerate(zip(chosen, pairs, strict=True)):
        assert isinstance(result, Result)
        if name == "late_here":  # it ends at its limit by itself
            assert result.error_type in (None, "timeout_error")
        elif name == "cancelled":  # which `Tool.call` and `Tool.acall` call by two names
            assert result.error_type in ("cancelled", "execution_error")
        else:
            assert result.error_type == EXPECTED[name], (name, result)
        if result.is_ok:
            assert result.output == str(number)
        # On a busy machine a limit may be over before the tool has begun.
        begun = (0, 1) if result.error_type == "timeout_error" else (name not in ("unknown", "bad"),)
        assert made[str(number)] in begun
    assert executor._kept.results == {}


def test_no_calls_are_no_results(run):
    assert run(Executor([ok], plugins=False), []) == []


# What the calls find


def test_tools_come_as_registry_list_classes_toolset_or_function(run, calls):
    class Desk(Toolset):
        @tool
        def ask(self) -> str:
            """Ask."""
            return "desk"

    @tool
    def ask() -> str:
        """Ask."""
        return "function"

    registry = Registry()
    registry.register(ask)
    assert run(Executor(registry, plugins=False), calls("ask"))[0][1].output == "function"
    assert run(Executor([ask], plugins=False), calls("ask"))[0][1].output == "function"
    assert run(Executor({"ask": ask}, plugins=False), calls("ask"))[0][1].output == "function"
    assert run(Executor(lambda: [ask], plugins=False), calls("ask"))[0][1].output == "function"
    assert run(Executor(lambda: None, plugins=False), calls("ask"))[0][1].error_type == "unknown_tool"


def test_a_function_of_the_context_chooses_the_tools(run, calls):
    def choose(context):
        return [ok] if context.state.get("premium") else []

    executor = Executor(choose, plugins=False)
    call = ToolCall("1", "ok", {"key": "k"})
    assert run(executor, [call], Context(state={"premium": True}))[0][1].output == "k"
    assert run(executor, [call], Context())[0][1].error_type == "unknown_tool"


def test_two_tools_of_one_name_are_refused():
    @tool(name="b")
    def one() -> None:
        """One."""

    @tool(name="a")
    def two() -> None:
        """Two."""

    others = [tool(each, name=each.name) for each in (one, two)]
    with pytest.raises(ValueError, match=r"^Duplicate tool names: a, b$"):
        Executor([one, two, *others], plugins=False)
    with pytest.raises(ValueError, match=r"^Duplicate tool names: b$"):
        Executor(lambda: [one, others[0]], plugins=False).execute([ToolCall("1", "b")])
    with pytest.raises(DefinitionError):
        Executor([3], plugins=False)


class Plain(Tool):
    """A tool as a class."""

    def execute(self) -> str:
        return "plain"


class Bench(Toolset):
    @tool
    def saw(self) -> str:
        """Saw."""
        return "sawn"


def giving(tools):
    return lambda: tools


def test_a_tool_alone_is_refused_and_not_asked_for_tools_as_a_function_would_be():
    made.clear()
    for alone in (ok, Plain, Plain(), Bench, Bench()):
        with pytest.raises(TypeError, match=r"one tool goes into a list: Executor\(\[\.\.\.\]\)"):
            Executor(alone, plugins=False)
        with pytest.raises(TypeError, match="one tool goes into a list"):
            Executor(giving(alone), plugins=False).execute([ToolCall("1", "ok", {"key": "k"})])
    assert not made


def test_what_is_no_tool_in_a_mapping_is_refused_by_its_name():
    for wrong in (None, Plain, giving(None)):
        with pytest.raises(TypeError, match="each is a Tool; 'wrong' is"):
            Executor({"ok": ok, "wrong": wrong}, plugins=False)


class Mute:
    def __repr__(self):
        raise RuntimeError("no words")


def nested(depth):
    made = {}
    for _ in range(depth):
        made = {"key": made}
    return made


@pytest.mark.parametrize(
    "arguments", [nested(100_000), {"key": 10**5000}, {"key": Mute()}], ids=["deep", "long", "mute"]
)
@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_calls_that_nobody_can_write_down_are_kept_and_given_as_others_are(drain, runtime, arguments):
    executor = Executor([ok], runtime=runtime, plugins=False)
    calls = [ToolCall("1", "ok", {"key": "a"}), ToolCall("2", "ok", arguments), ToolCall("3", "ok", {"key": "b"})]
    asked = executor.iterate(calls)
    next(asked)
    asked.close()
    for driver in ("execute", "aexecute"):
        pairs = drain(executor, calls[1:], None, driver)
        assert [(call.id, result.error_type) for call, result in pairs] == [("2", "validation_error"), ("3", None)]


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_an_unknown_tool_is_a_result_that_names_what_is_near(run, runtime):
    registry = Registry()
    registry.register(ok)
    registry.register(awaited)
    for tools in ([ok, awaited], {"ok": ok, "awaited": awaited}, registry):
        result = run(Executor(tools, runtime=runtime, plugins=False), [ToolCall("1", "awaitd")])[0][1]
        assert result.error_type == "unknown_tool"
        assert "awaited" in result.error_message


# Mistakes in the code of tools


@pytest.mark.parametrize("runtime", ["inline", "thread", "async"])
def test_strict_bugs_are_raised_when_all_calls_have_run_the_first_one_first(run, runtime):
    ran = []

    @tool
    def bug(key: str) -> None:
        """Fail."""
        ran.append(key)
        raise (NameError if key == "b" else TypeError)(key)

    batch = [ToolCall(key, "bug" if key in "bd" else "ok", {"key": key}) for key in "abcde"]
    executor = Executor([bug, ok], runtime=runtime, error_policy="strict_bugs", plugins=False)
    with pytest.raises(NameError, match="b"):
        run(executor, batch)
    assert sorted(ran) == ["b", "d"]
    assert [result.error_type for _, result in run(Executor([bug, ok], runtime=runtime, plugins=False), batch)] == [
        None, "execution_error", None, "execution_error", None,
    ]  # fmt: skip


def test_strict_bugs_are_raised_after_what_was_given():
    @tool
    def bug() -> None:
        """Fail."""
        raise AttributeError("mistake")

    executor = Executor([bug, ok], error_policy="strict_bugs", plugins=False)
    given = executor.iterate([ToolCall("1", "bug"), ToolCall("2", "ok", {"key": "k"})])
    assert next(given)[1].is_error
    assert next(given)[1].output == "k"
    with pytest.raises(AttributeError, match="mistake"):
        next(given)


def test_strict_bugs_are_found_in_what_a_task_group_raises(run):
    @tool
    async def work(keys: list[str]) -> None:
        """Fail beside each other."""

        async def fail(key: str) -> None:
            raise (NameError if key == "bug" else OSError)(key)

        async with asyncio.TaskGroup() as group:
            for key in keys:
                group.create_task(fail(key))

    executor = Executor([work], error_policy="strict_bugs", plugins=False)
    for keys in (["bug"], ["down", "bug"]):
        with pytest.raises(ExceptionGroup):
            run(executor, [ToolCall("1", "work", {"keys": keys})])
    assert run(executor, [ToolCall("2", "work", {"keys": ["down", "down"]})])[0][1].is_error


@pytest.mark.parametrize("error", [*BUGS, OSError, ValueError, KeyError, RuntimeError, TimeoutError])
def test_strict_bugs_are_mistakes_and_nothing_else(run, error):
    @tool
    def fail() -> None:
        """Fail."""
        raise error("x")

    executor = Executor([fail], error_policy="strict_bugs", plugins=False)
    if error in BUGS:
        with pytest.raises(error):
            run(executor, [ToolCall("1", "fail")])
    else:
        assert run(executor, [ToolCall("1", "fail")])[0][1].error_type == "execution_error"


def test_what_came_beside_a_bug_is_not_made_again():
    ran = []

    @tool
    def fail() -> None:
        """Fail the first time."""
        ran.append("fail")
        if ran.count("fail") == 1:
            raise TypeError("mistake")

    @tool
    def work() -> None:
        """Work."""
        ran.append("work")

    executor = Executor([fail, work], error_policy="strict_bugs", plugins=False)
    batch = [ToolCall("1", "work"), ToolCall("2", "fail")]
    with pytest.raises(TypeError):
        executor.execute(batch)
    assert all(result.is_ok for _, result in executor.execute(batch))
    assert ran == ["work", "fail", "fail"]


# What goes along


@pytest.mark.parametrize("runtime", ["inline", "thread", "async", InlineRuntime(worker_thread=True)])
def test_a_tool_gets_state_workspace_and_id_and_its_progress_comes_back(run, runtime, tmp_path):
    events, reports = [], []

    class Listener:
        @hookimpl
        def on_event(self, event):
            events.append(event)

    @tool
    def look(context: Context) -> list[str]:
        """Look."""
        context.progress(1, 2, "half")
        return [context.state["user"], str(context.workspace), context.call_id]

    @tool
    async def look_async(context: Context) -> list[str]:
        """Look."""
        context.progress(1, 2, "half")
        return [context.state["user"], str(context.workspace), context.call_id]

    executor = Executor([look, look_async], runtime=runtime, hooks=[Listener()], plugins=False)
    context = Context(state={"user": "ada"}, workspace=tmp_path, on_progress=lambda *given: reports.append(given))
    pairs = run(executor, [ToolCall("1", "look"), ToolCall("2", "look_async")], context)
    assert [result.output for _, result in pairs] == [["ada", str(tmp_path), "1"], ["ada", str(tmp_path), "2"]]
    assert reports == [(1, 2, "half")] * 2
    for id in ("1", "2"):
        own = [event for event in events if event.call.id == id]
        assert [event.kind for event in own] == ["start", "progress", "end"]
        assert own[1].detail == {"done": 1, "total": 2, "message": "half"}
        assert own[2].result.is_ok
        assert own[0].at <= own[1].at <= own[2].at


def test_wrong_settings_are_refused():
    for wrong in ({"error_policy": "x"}, {"default_timeout": 0}, {"default_timeout": -1}, {"max_concurrency": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Executor([ok], plugins=False, **wrong)


@pytest.mark.parametrize("move", [pickle.dumps, copy.deepcopy])
def test_an_executor_that_is_to_go_elsewhere_says_what_to_do(move):
    with pytest.raises(TypeError, match="make one there"):
        move(Executor([ok], plugins=False))


def test_an_executor_is_used_by_many_threads_at_once(until):
    executor = Executor([ok, awaited], runtime="thread", plugins=False)
    results = []

    def work(number):
        batch = [ToolCall(f"{number}-{index}", "ok", {"key": f"{number}-{index}"}) for index in range(20)]
        results.append([result.output for _, result in executor.execute(batch)] == [call.id for call in batch])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [True] * 8


@pytest.mark.slow
def test_a_hundred_thousand_calls_leave_nothing_behind(until):
    class Custom(Runtime):
        def dispatch_tool_call(self, call, tools, context):
            return tools[call.name].call(call.given, context)

    executors = [
        Executor([ok, awaited, broken], runtime=runtime, hooks=[Quiet(), Around()], plugins=False)
        for runtime in ("inline", "thread", "async", Custom)
    ]
    names = ["ok", "ok", "ok", "broken", "unknown", "ok", "ok", "awaited", "ok", "ok"]

    def work(batches):
        for number in range(batches):
            executor = executors[number % len(executors)]
            batch = [ToolCall(str(index), names[index % 10], {"key": "k"}) for index in range(250)]
            pairs = executor.execute(batch) if number % 3 else asyncio.run(executor.aexecute(batch))
            assert len(pairs) == 250

    before_any = threading.active_count()
    work(40)
    idle = before_any + 2  # the event loop stays

    def measured():
        """What eight batches leave behind, once their idle threads have ended."""
        tracemalloc.start()
        try:
            work(8)
            until(lambda: threading.active_count() <= idle)
            gc.collect()
            return tracemalloc.get_traced_memory()[0], len(os.listdir("/proc/self/fd"))
        finally:
            tracemalloc.stop()

    before = measured()
    work(350)
    after = measured()
    assert after[0] < before[0] + 1_000_000
    assert after[1] <= before[1] + 2
    assert all(executor._kept.results == {} for executor in executors)


@pytest.mark.parametrize(
    ("calls", "context", "words"),
    [
        ([{"id": "1", "name": "add", "arguments": {}}], None, "ToolCall.from_dict"),
        (["add"], Context(), "a call is a ToolCall, got str"),
        ([ToolCall("1", "add")], {"user": 1}, "context is a Context, got dict"),
    ],
)
def test_what_is_no_call_or_no_context_is_told_with_what_would_do(run, calls, context, words):
    for hooks in ([], [Retry()]):
        with pytest.raises(TypeError, match=words):
            run(Executor([], hooks=hooks, plugins=False), calls, context)


@pytest.mark.parametrize("hooks", [Retry(), Retry])
def test_a_plugin_outside_of_a_list_is_refused(hooks):
    with pytest.raises(TypeError, match="goes into a list"):
        Executor([], hooks=hooks)
