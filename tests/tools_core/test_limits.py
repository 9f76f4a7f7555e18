"""Sync and async, time limits, cancellation, and what travels along."""

import asyncio
import concurrent.futures
import contextvars
import os
import threading
from contextlib import suppress

import pytest

from tools_core import Context, Halt, Result, ToolError, tool

user = contextvars.ContextVar("user", default="guest")


@tool
def sync_where() -> str:
    """Tell the thread and the user."""
    return f"{threading.current_thread() is threading.main_thread()} {user.get()}"


@tool
async def async_where() -> str:
    """Tell the thread and the user."""
    await asyncio.sleep(0)
    return f"{threading.current_thread() is threading.main_thread()} {user.get()}"


@tool
async def fail(how: str) -> str:
    """Fail."""
    await asyncio.sleep(0)
    raise {
        "tool": ToolError("no", type="denied"),
        "bug": ValueError("bug"),
        "timeout": TimeoutError("mine"),
        "halt": Halt("stop"),
    }[how]


def in_a_loop(*calls):
    async def main():
        return await asyncio.gather(*(call() for call in calls))

    return asyncio.run(main())


def test_without_a_limit_a_synchronous_tool_runs_in_this_very_thread():
    assert sync_where.call().output == "True guest"


def test_a_coroutine_tool_can_be_called_synchronously_while_a_loop_is_running():
    async def main():
        token = user.set("ada")
        try:
            return async_where.call().output
        finally:
            user.reset(token)

    assert asyncio.run(main()) == "False ada"


def test_a_synchronous_tool_leaves_the_event_loop_free_and_keeps_context_variables():
    user.set("grace")
    try:
        assert in_a_loop(sync_where.acall, async_where.acall) == [Result.ok("False grace"), Result.ok("True grace")]
    finally:
        user.set("guest")


@pytest.mark.parametrize(
    ("how", "type"), [("tool", "denied"), ("bug", "execution_error"), ("timeout", "execution_error"), ("halt", None)]
)
def test_both_drivers_make_the_same_result_of_the_same_outcome(how, type):
    (awaited,) = in_a_loop(lambda: fail.acall(how=how))
    assert awaited == fail.call(how=how)
    assert awaited.error_type == type
    assert awaited.halted == (how == "halt")


def test_a_hundred_synchronous_tools_run_at_once_by_default():
    barrier = threading.Barrier(100)

    @tool
    def meet() -> int:
        """Return when a hundred are here."""
        return barrier.wait(timeout=30)

    results = in_a_loop(*[meet.acall] * 100)
    assert sorted(result.output for result in results) == list(range(100))


def test_a_synchronous_tool_that_passes_its_limit_is_left_behind_and_said_to():
    release, stopped = threading.Event(), threading.Event()

    @tool(timeout=0.05)
    def hang(context: Context) -> None:
        """Hang."""
        release.wait(30)
        assert context.cancelled
        stopped.set()

    for result in (hang.call(), in_a_loop(hang.acall)[0]):
        assert result.error_type == "timeout_error"
        assert "0.05 s" in result.error and "may still be running" in result.error
        assert result.metadata["abandoned"] is True
    release.set()
    assert stopped.wait(30)


def test_a_coroutine_that_passes_its_limit_is_cancelled():
    has_ended = []

    @tool(timeout=0.05)
    async def hang() -> None:
        """Hang."""
        try:
            await asyncio.Event().wait()
        finally:
            has_ended.append("cancelled")

    for result in (hang.call(), in_a_loop(hang.acall)[0]):
        assert result.error_type == "timeout_error" and "abandoned" not in result.metadata
        assert result.error == "Timed out after 0.05 s (limit set by the tool)."
    assert has_ended == ["cancelled", "cancelled"]


@pytest.mark.parametrize("blocks", [False, True])
def test_a_coroutine_that_does_not_end_when_it_is_cancelled_is_left_behind(blocks):
    release, has_ended = threading.Event(), threading.Event()

    @tool(timeout=0.05)
    async def hang(context: Context) -> None:
        """Swallow every cancellation, or hold up the event loop."""
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0 if blocks else 0.01)
            if blocks:
                release.wait(30)
        assert context.cancelled
        has_ended.set()

    result = hang.call()
    release.set()
    assert result.error_type == "timeout_error" and "may still be running" in result.error
    assert result.metadata == {"timeout": 0.05, "abandoned": True}
    assert has_ended.wait(30)


def test_a_coroutine_that_holds_up_its_event_loop_holds_up_no_other_tool():
    release, has_ended = threading.Event(), threading.Event()

    @tool(timeout=0.05)
    async def hang() -> None:
        """Hold up the event loop."""
        release.wait(30)
        has_ended.set()

    @tool(timeout=10)
    async def prompt() -> str:
        """Answer."""
        return "here"

    assert hang.call().error_type == "timeout_error"
    assert prompt.call().output == "here"
    assert not has_ended.is_set()
    release.set()
    assert has_ended.wait(30)
    assert prompt.call().output == "here"


def test_a_timeout_error_of_the_tool_is_an_execution_error():
    @tool(timeout=60)
    def raise_it() -> None:
        """Raise."""
        raise TimeoutError("socket")

    @tool(timeout=60)
    async def raise_async() -> None:
        """Raise."""
        raise TimeoutError("socket")

    for subject in (raise_it, raise_async):
        for result in (subject.call(), in_a_loop(subject.acall)[0]):
            assert (result.error_type, result.error) == ("execution_error", "TimeoutError: socket")


def test_cancelling_the_caller_passes_through_and_reaches_the_tool():
    started, stopped = threading.Event(), threading.Event()

    @tool
    def work(context: Context) -> None:
        """Work until cancelled."""
        started.set()
        while not context.cancelled:
            threading.Event().wait(0.005)
        stopped.set()

    async def main():
        task = asyncio.create_task(work.acall())
        await asyncio.to_thread(started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert stopped.wait(30)


@pytest.mark.parametrize("error", [asyncio.CancelledError, concurrent.futures.CancelledError])
def test_a_cancellation_by_the_tool_is_its_own_error(error):
    @tool
    def work() -> None:
        """Let out the cancellation of something else."""
        raise error

    @tool
    async def work_later() -> None:
        """The same, later."""
        await asyncio.sleep(0)
        raise error

    for subject in (work, work_later):
        for result in (subject.call(), asyncio.run(subject.acall())):
            assert result.error_type == "cancelled"
            assert "by its own code" in result.error


def test_a_call_with_a_cancelled_context_does_not_begin():
    context, began = Context(), []

    @tool
    def work() -> None:
        """Work."""
        began.append(1)

    context.cancel()
    for result in (work.call(context=context), in_a_loop(lambda: work.acall(context=context))[0]):
        assert result.error_type == "cancelled"
        assert result.error == "Cancelled by the caller before the call began."
    assert began == []


@pytest.mark.parametrize("door", ["call", "acall"])
@pytest.mark.parametrize("limit", [None, 60])
def test_cancelling_the_context_ends_a_coroutine(door, limit):
    began, has_ended = threading.Event(), []

    @tool(timeout=limit)
    async def work() -> None:
        """Work."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            has_ended.append(asyncio.current_task().cancelling())

    context = Context()
    result = cancelled_by_another_thread(work, context, began, door)
    assert (result.error_type, result.error, result.metadata) == ("cancelled", "Cancelled by the caller.", {})
    assert has_ended == [1]


@pytest.mark.parametrize("door", ["call", "acall"])
def test_cancelling_the_context_abandons_a_limited_function(door):
    began, stopped, go = threading.Event(), threading.Event(), threading.Event()

    @tool(timeout=60)
    def work(context: Context) -> None:
        """Work."""
        began.set()
        assert go.wait(60)
        if context.cancelled:
            stopped.set()

    result = cancelled_by_another_thread(work, Context(), began, door)
    go.set()
    assert (result.error_type, result.metadata) == ("cancelled", {"abandoned": True})
    assert result.error == "Cancelled by the caller. It may still be running and have effects."
    assert stopped.wait(60)


@pytest.mark.parametrize("door", ["call", "acall"])
def test_a_cancelled_function_that_stops_returns_its_own_result(door):
    began = threading.Event()

    @tool(timeout=60)
    def work(context: Context) -> str:
        """Work until cancelled."""
        over = threading.Event()
        context.on_cancel(over.set)
        began.set()
        assert over.wait(60)
        return "partial output"

    assert cancelled_by_another_thread(work, Context(), began, door) == Result.ok("partial output")


@pytest.mark.parametrize("door", ["call", "acall"])
def test_a_tool_that_manages_its_timeout_returns_its_own_result(door):
    began = threading.Event()

    @tool(manages_timeout=True)
    def work(context: Context) -> str:
        """Work until the deadline or a cancellation."""
        over = threading.Event()
        context.on_cancel(over.set)
        began.set()
        over.wait(context.remaining)
        return "cancelled" if context.cancelled else "time is up"

    assert cancelled_by_another_thread(work, Context(timeout=60), began, door).output == "cancelled"
    context = Context(timeout=0.2)
    result = work.call(context=context) if door == "call" else in_a_loop(lambda: work.acall(context=context))[0]
    assert result.output == "time is up"


def cancelled_by_another_thread(tool, context, began, door):
    def cancel():
        began.wait(60)
        context.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    result = tool.call(context=context) if door == "call" else in_a_loop(lambda: tool.acall(context=context))[0]
    thread.join()
    return result


def test_a_limit_is_described_by_its_seconds_and_its_origin():
    @tool
    def hang() -> None:
        """Hang."""
        threading.Event().wait(5)

    result = hang.call(context=Context(timeout=0.05))
    assert result.error.startswith("Timed out after 0.05 s (limit set by the caller).")
    assert result.metadata == {"timeout": 0.05, "abandoned": True}
    result = hang.call(context=Context(timeout=60).for_call(0.05, set_by="the executor"))
    assert result.error.startswith("Timed out after 0.05 s (limit set by the executor).")


@tool(timeout=30)
def leave() -> None:
    """Leave."""
    raise SystemExit(3)


@tool
async def leave_later() -> None:
    """Leave."""
    await asyncio.sleep(0)
    raise SystemExit(3)


@pytest.mark.parametrize("subject", [leave, leave_later])
def test_system_exit_passes_through_and_later_calls_run(subject):
    for _ in range(2):
        with pytest.raises(SystemExit):
            subject.call()
    assert async_where.call().ok


@pytest.mark.parametrize("limit", [None, 30])
def test_a_function_may_raise_stop_iteration(limit):
    subject = tool(lambda: next(iter(())), name="next", timeout=limit)
    for result in (subject.call(), in_a_loop(subject.acall)[0]):
        assert result.error_type == "execution_error" and "StopIteration" in result.error


def test_an_async_generator_is_collected():
    @tool
    async def count():
        """Count."""
        for n in range(3):
            yield n

    assert count.call().output == [0, 1, 2]
    assert in_a_loop(count.acall)[0].output == [0, 1, 2]


def test_a_function_that_returns_a_coroutine_is_awaited():
    subject = tool(lambda: async_where.__wrapped__(), name="wrapped")  # noqa: PLW0108  (the lambda is the case)
    assert subject.call().ok and isinstance(subject.call().output, str)
    assert isinstance(in_a_loop(subject.acall)[0].output, str)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_worker_threads_survive_a_fork():
    subject = tool(lambda: 7, name="seven", timeout=30)
    assert subject.call().output == 7  # a worker is idle now, which the child does not have
    reader, writer = os.pipe()
    if (pid := os.fork()) == 0:
        os.write(writer, str(subject.call().output).encode())
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 10) == b"7"
    assert os.waitpid(pid, 0)[1] == 0
    os.close(reader)
