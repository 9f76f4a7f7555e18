"""Whatever a tool does, its call has a result by its limit, and nobody else is harmed."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import Context, ToolCall
from tools_runtime import Executor

LIMIT = 0.4
LATE = 2.5  # seconds: on a busy machine it is more than the half that is promised


@pytest.mark.parametrize("name", ["spin", "backtrack", "swallow", "stop_oneself", "deaf"])
def test_a_tool_that_does_not_end_is_killed_at_its_limit(name, tools, run, timed):
    run(tools.echo, {"value": 1})
    result, took = timed(getattr(tools, name), timeout=LIMIT)
    assert took < LIMIT + LATE
    assert result.error_type == "timeout_error"
    assert result.error_message == "did not end within its limit of 0.4 s and was killed"
    assert result.metadata == {"timeout": LIMIT, "killed": True}
    assert run(tools.echo, {"value": 2}).output == 2


def test_sleep_is_no_excuse(tools, timed):
    result, took = timed(tools.nap, {"seconds": 60}, timeout=LIMIT)
    assert (result.error_type, took < LIMIT + LATE + 1) == ("timeout_error", True)


def test_progress_without_end_outruns_no_limit(tools, timed):
    result, took = timed(tools.steps, {"count": 1 << 40}, timeout=LIMIT, on_progress=lambda *_: time.sleep(0.01))
    assert (result.error_type, took < LIMIT + LATE) == ("timeout_error", True)


def test_the_limit_of_the_tool_itself_is_kept_without_a_context(tools, run, timed):
    run(tools.echo, {"value": 1})
    result, took = timed(tools.limited)
    assert (result.error_type, result.metadata["killed"]) == ("timeout_error", True)
    assert took < 0.3 + LATE


def test_a_tool_with_a_limit_runs_in_the_main_thread_of_its_worker(tools, run):
    assert run(tools.thread_name).output == "MainThread"


def test_a_fork_bomb_ends_with_its_call(tools, run, timed, processes, tmp_path):
    run(tools.echo, {"value": 1})
    note = tmp_path / "pids"
    result, took = timed(tools.bomb, {"count": 30, "note": str(note)}, timeout=1.0)
    assert (result.error_type, took < 1.0 + LATE) == ("timeout_error", True)
    pids = [int(line) for line in note.read_text().split()]
    assert len(pids) > 30
    assert processes.eventually(lambda: not any(map(processes.is_alive, pids)))


@pytest.mark.parametrize("name", ["escape", "escape_and_die"])
def test_what_left_the_group_of_its_worker_ends_with_it(name, tools, run, processes, tmp_path):
    note = tmp_path / "pid"
    assert run(getattr(tools, name), {"note": str(note)}, timeout=1.5).is_error
    assert processes.eventually(lambda: not processes.is_alive(int(note.read_text())))


def test_what_a_finished_call_left_running_ends_with_the_runtime(tools, make, run, processes, tmp_path):
    note = tmp_path / "pid"
    runtime = make(1)
    assert run(tools.escape, {"note": str(note), "then": 0.0}, on=runtime).output == "left"
    assert processes.is_alive(int(note.read_text()))
    assert run(tools.echo, {"value": 1}, on=runtime).output == 1
    runtime.close()
    assert not processes.is_alive(int(note.read_text()))


def test_a_coroutine_is_cancelled_at_its_limit_and_cleans_up(tools, run, timed, tmp_path):
    note = tmp_path / "note"
    run(tools.anap, {"seconds": 0, "note": str(note)})
    note.unlink()
    before = run(tools.whoami).output["pid"]
    result, took = timed(tools.anap, {"seconds": 60, "note": str(note)}, timeout=LIMIT)
    assert (result.error_type, took < LIMIT + LATE) == ("timeout_error", True)
    assert note.read_text() == "finally"
    assert run(tools.whoami).output["pid"] == before


def test_a_tool_that_asks_is_told_at_its_limit_and_its_worker_lives_on(tools, run, timed, tmp_path):
    before = run(tools.whoami).output["pid"]
    note = tmp_path / "note"
    result, took = timed(tools.until_told, {"note": str(note)}, timeout=LIMIT)
    assert (result.error_type, result.metadata["killed"]) == ("timeout_error", False)
    assert took < LIMIT + LATE
    assert note.read_text() == "told"
    assert run(tools.whoami).output["pid"] == before


def test_a_tool_that_was_told_and_goes_on_is_killed(tools, run, timed, tmp_path):
    run(tools.echo, {"value": 1})
    result, took = timed(tools.unmoved, {"note": str(tmp_path / "note")}, timeout=LIMIT)
    assert (result.error_type, result.metadata["killed"]) == ("timeout_error", True)
    assert took < LIMIT + LATE


def cancelled(run, runtime, tool, arguments, begun, eventually):
    context = Context()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runtime.run_tool, tool, ToolCall("c", tool.name, arguments), context)
        assert eventually(begun)
        context.cancel()
        return future.result(10)


def test_a_caller_who_gives_up_gets_what_the_tool_makes_of_it(tools, run, runtime, processes, tmp_path):
    note = tmp_path / "note"
    result = cancelled(run, runtime, tools.until_told, {"note": str(note)}, note.exists, processes.eventually)
    assert result.output == "told"


def test_a_tool_whose_caller_gave_up_is_killed_when_it_goes_on(tools, run, runtime, processes, tmp_path):
    note = tmp_path / "note"
    result = cancelled(run, runtime, tools.unmoved, {"note": str(note)}, note.exists, processes.eventually)
    assert (result.error_type, result.metadata["killed"]) == ("cancelled", True)


def test_a_call_whose_caller_gave_up_before_is_not_made(tools, runtime, tmp_path):
    context = Context()
    context.cancel()
    note = tmp_path / "note"
    result = runtime.run_tool(tools.unmoved, ToolCall("c", "unmoved", {"note": str(note)}), context)
    assert (result.error_type, note.exists()) == ("cancelled", False)


def test_calls_beyond_the_workers_wait_and_their_limit_begins_when_they_get_one(tools, make):
    runtime = make(1)
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(runtime.run_tool, tools.nap, ToolCall("c", "nap", {"seconds": 1}), Context(timeout=3.5))
            for _ in range(4)
        ]
        assert [call.result().output for call in calls] == ["slept"] * 4


def test_a_call_that_waits_for_a_worker_can_be_given_up(tools, make, processes, tmp_path):
    runtime = make(1)
    note, context = tmp_path / "note", Context()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(
            runtime.run_tool, tools.unmoved, ToolCall("c", "unmoved", {"note": str(note)}), Context(timeout=3)
        )
        assert processes.eventually(note.exists)
        second = pool.submit(runtime.run_tool, tools.echo, ToolCall("c", "echo", {"value": 1}), context)
        context.cancel()
        assert second.result(2).error_type == "cancelled"
        assert not first.done()


def test_the_time_of_a_caller_runs_on_while_his_call_waits_for_a_worker(tools, make, processes, tmp_path):
    runtime, note = make(1), tmp_path / "note"
    executor = Executor([tools.left, tools.unmoved], runtime=runtime, default_timeout=None, plugins=False)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(executor.call, ToolCall("1", "unmoved", {"note": str(note)}), Context(timeout=4))
        assert processes.eventually(note.exists)
        late = executor.call(ToolCall("2", "left"), Context(timeout=0.1))
        assert not first.done()
        assert (late.error_type, late.metadata["begun"]) == ("timeout_error", False)
        assert executor.call(ToolCall("3", "left"), Context(timeout=20)).output < 19


def test_siblings_of_a_killed_call_are_unharmed(tools, make):
    runtime = make(3)
    go = threading.Barrier(3)

    def call(tool, arguments, timeout):
        go.wait()
        return runtime.run_tool(tool, ToolCall("c", tool.name, arguments), Context(timeout=timeout))

    with ThreadPoolExecutor(3) as pool:
        slow = pool.submit(call, tools.nap, {"seconds": 1.0}, 20)
        others = [pool.submit(call, tools.spin, {}, LIMIT), pool.submit(call, tools.segfault, {}, 20)]
        assert [other.result().is_error for other in others] == [True, True]
        assert slow.result().output == "slept"


def test_memory_beyond_the_limit_is_said_so(tools, make, run):
    runtime = make(1, memory=256 << 20)
    result = run(tools.hog, {"size": 1 << 30}, on=runtime)
    assert (result.error_type, result.error_message) == (
        "limit_exceeded", "needed more memory than its limit of 256 MiB",
    )  # fmt: skip
    assert run(tools.hog, {"size": 64 << 20}, on=runtime).output == 64 << 20


def test_a_result_that_needs_more_memory_than_there_is_is_said_so(tools, make, run):
    runtime = make(1, memory=300 << 20)
    result = run(tools.enormous, {"size": 200 << 20}, on=runtime)
    assert (result.error_type, "300 MiB" in result.error_message) == ("limit_exceeded", True)


@pytest.mark.slow
def test_processor_time_beyond_the_limit_is_said_so(tools, make, run):
    runtime = make(1, cpu=1)
    result = run(tools.spin, on=runtime, timeout=20)
    assert (result.error_type, result.metadata["crash"]) == ("limit_exceeded", "SIGXCPU")
    assert "limit of 1 s" in result.error_message


@pytest.mark.slow
def test_processor_time_is_counted_anew_for_each_call(tools, make, run):
    runtime = make(1, cpu=1)
    for seconds in (0.8, 1.6, 2.4, 3.2):
        assert run(tools.compute, {"seconds": seconds}, on=runtime, timeout=20).is_ok


@pytest.mark.slow
def test_a_result_that_is_too_large_is_refused(tools, run):
    result = run(tools.enormous, {"size": 200_000_000}, timeout=20)
    assert (result.error_type, "64 MiB" in result.error_message) == ("limit_exceeded", True)
    assert run(tools.echo, {"value": 1}).output == 1


def test_the_limit_of_results_is_exact(tools, make, run):
    runtime = make(1, max_result_bytes=1_000_000)
    assert len(run(tools.enormous, {"size": 999_998}, on=runtime).output) == 999_998
    assert run(tools.enormous, {"size": 999_999}, on=runtime).error_type == "limit_exceeded"


@pytest.mark.slow
def test_a_large_result_arrives_whole(tools, run):
    assert run(tools.enormous, {"size": 50_000_000}).output == "x" * 50_000_000


def test_large_arguments_arrive_whole(tools, run):
    assert run(tools.echo, {"value": ["x" * 3_000_000, 1]}).output == ["x" * 3_000_000, 1]


@pytest.mark.slow
def test_what_a_tool_prints_corrupts_nothing(tools, run, capfd):
    assert run(tools.shout, {"size": 100_000_000}, timeout=60).output == 100_000_000
    assert run(tools.echo, {"value": 1}).output == 1


def test_a_killed_worker_is_replaced_ahead_of_need(tools, make, run, processes):
    runtime = make(1)
    run(tools.spin, on=runtime, timeout=LIMIT)
    assert processes.eventually(lambda: len(processes.all()) == 2)


def test_signals_of_python_are_as_ever_in_a_worker(tools, run):
    result = run(tools.signal_group, {"number": int(signal.SIGTERM)}, timeout=10)
    assert result.metadata == {"crash": "SIGTERM"}
