"""A worker that ends costs one call its result and nothing else."""

import os
import signal

import pytest


@pytest.mark.parametrize(
    ("name", "arguments", "crash"),
    [
        ("segfault", {}, "SIGSEGV"),
        ("kill_oneself", {"number": int(signal.SIGTERM)}, "SIGTERM"),
        ("kill_oneself", {"number": int(signal.SIGKILL)}, "SIGKILL"),
        ("exit_now", {"status": 3}, "exit 3"),
        ("exit_now", {"status": 0}, "exit 0"),
        ("exit_politely", {"status": 4}, "exit 4"),
        ("crash_with_child", {}, "exit 7"),
    ],
)
def test_a_crash_is_named(name, arguments, crash, tools, run):
    result = run(getattr(tools, name), arguments)
    assert result.error_type == "execution_error"
    assert result.error.startswith(f"The worker process ended with {crash}")
    assert result.metadata == {"crash": crash}
    assert run(tools.echo, {"value": 1}).output == 1


@pytest.mark.parametrize("stay", [False, True])
def test_a_tool_that_closes_all_descriptors_is_a_crash(stay, tools, run):
    result = run(tools.close_all, {"stay": stay})
    assert (result.error_type, "crash" in result.metadata) == ("execution_error", True)
    assert run(tools.echo, {"value": 1}).output == 1


def test_a_crash_ends_the_processes_of_the_call(tools, run, processes, tmp_path):
    note = tmp_path / "pid"
    assert run(tools.start_daemon, {"note": str(note), "status": 9}).metadata == {"crash": "exit 9"}
    assert not processes.is_alive(int(note.read_text()))


def test_a_fork_that_returns_as_well_answers_once(tools, run):
    worker = run(tools.whoami).output["pid"]
    assert run(tools.come_back_twice).output == worker
    assert [run(tools.echo, {"value": number}).output for number in range(50)] == list(range(50))


def test_an_idle_worker_that_was_killed_harms_no_call(tools, run, processes):
    worker = run(tools.whoami).output["pid"]
    os.kill(worker, signal.SIGKILL)
    assert processes.eventually(lambda: not processes.is_alive(worker))
    assert [run(tools.echo, {"value": number}).output for number in range(20)] == list(range(20))


def test_a_fork_server_that_was_killed_is_replaced(tools, make, run, begin, processes, tmp_path):
    runtime, note = make(2), tmp_path / "note"
    assert run(tools.echo, {"value": 1}, on=runtime).output == 1
    server = min(processes.all())  # it was started first
    os.kill(server, signal.SIGKILL)
    assert processes.eventually(lambda: not processes.is_alive(server))
    context, future = begin(tools.spin, {"note": str(note)}, on=runtime)
    assert processes.eventually(note.exists)
    _, other = begin(tools.echo, {"value": 2}, on=runtime)
    assert other.result(20).output == 2
    context.cancel()
    assert future.result(20).error_type == "cancelled"
