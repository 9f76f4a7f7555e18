"""A cancelled call is killed with all that it started, and no other call is harmed."""

import pytest


@pytest.mark.parametrize("name", ["spin", "swallow", "be_deaf"])
def test_a_tool_that_does_not_end_is_killed(name, tools, begin, run, processes, tmp_path):
    note = tmp_path / "note"
    context, future = begin(getattr(tools, name), {"note": str(note)})
    assert processes.eventually(lambda: note.exists() and note.read_text())
    context.cancel()
    result = future.result(20)
    assert (result.error_type, result.metadata["killed"]) == ("cancelled", True)
    assert not processes.is_alive(int(note.read_text()))
    assert run(tools.echo, {"value": 2}).output == 2


def test_all_that_a_call_started_is_killed_with_it(tools, begin, processes, tmp_path):
    note = tmp_path / "pids"
    context, future = begin(tools.start_many, {"count": 20, "note": str(note)})
    assert processes.eventually(lambda: note.exists() and note.read_text().count("\n") == 40)
    context.cancel()
    future.result(20)
    assert not any(processes.is_alive(int(pid)) for pid in note.read_text().split())


def test_a_process_in_another_session_is_killed_too(tools, begin, processes, tmp_path):
    note = tmp_path / "pid"
    context, future = begin(tools.start_daemon, {"note": str(note), "stay": True})
    assert processes.eventually(lambda: note.exists() and note.read_text())
    context.cancel()
    future.result(20)
    assert not processes.is_alive(int(note.read_text()))


def test_siblings_of_a_killed_call_are_unharmed(tools, make, begin, processes, tmp_path):
    runtime, note, other = make(3), tmp_path / "note", tmp_path / "other"
    killed, first = begin(tools.spin, {"note": str(note)}, on=runtime)
    goes_on, second = begin(tools.spin, {"note": str(other)}, on=runtime)
    _, crash = begin(tools.segfault, on=runtime)
    assert processes.eventually(lambda: note.exists() and other.exists())
    killed.cancel()
    assert (first.result(20).error_type, crash.result(20).metadata) == ("cancelled", {"crash": "SIGSEGV"})
    assert not second.done()
    assert processes.is_alive(int(other.read_text()))
    goes_on.cancel()
    assert second.result(20).error_type == "cancelled"


def test_cancelling_a_finished_call_has_no_effect(tools, begin, run):
    context, future = begin(tools.whoami)
    pid = future.result(20).output["pid"]
    context.cancel()
    assert run(tools.whoami).output["pid"] == pid


def test_closing_the_runtime_interrupts_a_call(tools, runtime, begin, processes, tmp_path):
    note = tmp_path / "note"
    _, future = begin(tools.spin, {"note": str(note)})
    assert processes.eventually(note.exists)
    runtime.close()
    assert future.result(1).error_type == "interrupted"
    assert processes.all() == []
