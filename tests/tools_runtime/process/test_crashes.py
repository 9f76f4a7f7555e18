"""A worker that ends, or writes what it should not, costs one call its result and nothing else."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import Context, ToolCall
from tools_runtime._process._wire import OUTPUT, PROGRESS, REPLY, RESULT


@pytest.mark.parametrize(
    ("name", "arguments", "crash", "said"),
    [
        ("segfault", {}, "SIGSEGV", "with SIGSEGV"),
        ("exit_now", {"status": 3}, "exit 3", "with exit status 3"),
        ("exit_now", {"status": 0}, "exit 0", "with exit status 0"),
        ("exit_politely", {"status": 4}, "exit 4", "with exit status 4"),
        ("signal_group", {"number": int(signal.SIGKILL)}, "SIGKILL", "with SIGKILL"),
        ("hold_open", {}, "exit 7", "with exit status 7"),
    ],
)
def test_a_crash_is_named(name, arguments, crash, said, tools, run):
    result = run(getattr(tools, name), arguments, timeout=20)
    assert result.error_type == "execution_error"
    assert result.error_message == (
        f"the worker process ended {said} before it answered; the call may have had effects"
    )
    assert result.metadata == {"crash": crash}
    assert run(tools.echo, {"value": 1}).output == 1


def test_a_call_is_never_made_twice(tools, run, tmp_path):
    note = tmp_path / "pid"
    run(tools.escape_and_die, {"note": str(note)})
    first = note.read_text()
    run(tools.echo, {"value": 1})
    assert note.read_text() == first


@pytest.mark.parametrize("stay", [0.0, 600.0])
def test_a_tool_that_closes_all_descriptors_is_a_crash(stay, tools, run):
    result = run(tools.close_all, {"stay": stay}, timeout=20)
    assert (result.error_type, "crash" in result.metadata) == ("execution_error", True)
    assert run(tools.echo, {"value": 1}).output == 1


def test_a_fork_that_comes_back_answers_once(tools, make, run):
    runtime = make(1)
    worker = run(tools.whoami, on=runtime).output["pid"]
    assert run(tools.come_back_twice, on=runtime).output == worker
    assert [run(tools.echo, {"value": number}, on=runtime).output for number in range(50)] == list(range(50))


def test_garbage_on_every_descriptor_is_a_crash_of_that_worker(tools, make, run):
    runtime = make(1)
    result = run(tools.scribble, on=runtime, timeout=20)
    assert (result.error_type, result.metadata) == ("execution_error", {"crash": "unknown"})
    assert "wrote what is no answer" in result.error_message
    assert run(tools.echo, {"value": 1}, on=runtime).output == 1


FORGED = REPLY.pack(OUTPUT, False, 5, 8) + b'"forged"'


def test_an_answer_to_another_call_is_no_answer(tools, run):
    result = run(tools.forge, {"frame": FORGED.hex()}, timeout=20)
    assert (result.error_type, result.output) == ("execution_error", None)


def test_an_answer_beforehand_is_never_the_next_calls(tools, make, run, processes):
    runtime = make(1)
    worker = run(tools.whoami, on=runtime).output["pid"]
    assert run(tools.forge_ahead, {"frame": FORGED.hex()}, on=runtime).output == "done"

    def is_another():
        result = run(tools.whoami, on=runtime, timeout=20)  # an error where the forged answer comes while it is made
        return result.is_ok and result.output["pid"] != worker

    assert processes.eventually(is_another)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"nonsense", b'{"ok": 1}', b'{"ok": false, "error": 7, "error_type": []}', b"[" * 100_000, b"\xff\xfe",
        b'{"ok": false, "error": "x", "error_type": "y", "exception": 1}',
        b'{"ok": false, "error": "x", "error_type": "y", "exception": {"kind": [], "message": 1}}',
        b'{"ok": true, "output": 1, "error": "x"}',
    ],
)  # fmt: skip
def test_what_is_no_result_is_no_result(body):
    from tools_runtime._process._exchange import Reply
    from tools_runtime._process._outcome import result_of

    assert result_of(Reply(RESULT, False, body, None), None) is None


def test_a_worker_that_promises_more_than_it_may_send_is_stopped_at_once(tools, make, run):
    runtime = make(1)
    for kind in (OUTPUT, PROGRESS):
        frame = REPLY.pack(kind, False, 5, 1 << 60)
        assert run(tools.forge, {"frame": frame.hex()}, on=runtime, timeout=20).is_error


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_tool_may_signal_the_process_that_forked_it(number, tools, make, run):
    runtime = make(2)
    result = run(tools.signal_parent, {"number": int(number)}, on=runtime, timeout=20)
    assert result.output == "sent"
    for value in range(3):
        assert run(tools.echo, {"value": value}, on=runtime, timeout=20).output == value
    # Where who knows the exit code was killed, it may be ending only now.
    known = {"SIGSEGV", "unknown"} if number == signal.SIGKILL else {"SIGSEGV"}
    assert run(tools.segfault, on=runtime, timeout=20).metadata["crash"] in known
    assert run(tools.echo, {"value": 4}, on=runtime, timeout=20).output == 4


def test_calls_end_when_the_process_that_forked_their_workers_is_gone(tools, make, processes):
    runtime = make(3)

    def call(tool, arguments):
        return runtime.run_tool(tool, ToolCall("c", tool.name, arguments), Context(timeout=20))

    with ThreadPoolExecutor(3) as pool:
        slow = pool.submit(call, tools.nap, {"seconds": 1.0})
        killer = pool.submit(call, tools.signal_parent, {"number": int(signal.SIGKILL), "then": 0.3})
        assert killer.result().output == "sent"
        assert call(tools.echo, {"value": 1}).output == 1
        assert slow.result().output == "slept"
    runtime.close()
    assert processes.all() == []


def test_what_runs_when_the_forking_process_is_gone_is_still_killed_at_its_limit(tools, make, run, processes, tmp_path):
    runtime = make(2)
    run(tools.signal_parent, {"number": int(signal.SIGKILL)}, on=runtime)
    note = tmp_path / "pid"
    assert run(tools.escape, {"note": str(note)}, on=runtime, timeout=1.0).error_type == "timeout_error"
    assert processes.eventually(lambda: not processes.is_alive(int(note.read_text())))


def test_an_idle_worker_that_was_killed_harms_no_call(tools, make, run, processes):
    runtime = make(1)
    worker = run(tools.whoami, on=runtime).output["pid"]
    os.kill(worker, signal.SIGKILL)
    assert processes.eventually(lambda: not processes.is_alive(worker))
    results = [run(tools.echo, {"value": number}, on=runtime) for number in range(20)]
    assert [result.output for result in results] == list(range(20))
