"""Arguments, results, errors and the context arrive unchanged."""

import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import Image, Result, tool
from tools_runtime import ProcessRuntime, RemoteError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_values_come_back_as_they_went(tools, run):
    @settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(VALUES)
    def check(value):
        assert run(tools.echo, {"value": value}).output == value

    check()


def test_large_values_arrive_whole(tools, run):
    value = ["x" * 3_000_000, 1]
    assert run(tools.echo, {"value": value}).output == value


def test_text_is_parsed_by_the_tool(tools, run):
    result = run(tools.echo, '{"value": NaN}')
    assert (result.error_type, result.metadata["reason"]) == ("validation_error", "not_finite")


def test_a_result_arrives_with_all_its_parts(tools, run):
    result = run(tools.album)
    assert result == Result.ok({"count": 1}, content=["first", Image(b"\x89PNG\r\n\x1a\n123")], metadata={"by": "ada"})
    assert run(tools.make, {"code": "(1, {2}, b'3')"}).output == (1, {2}, b"3")


def test_a_result_that_cannot_be_pickled_is_an_error_that_names_its_type(tools, run):
    result = run(tools.make, {"code": "{}.keys()"})
    assert (result.error_type, "returned a dict_keys" in result.error) == ("execution_error", True)
    assert 'runtime="thread"' in result.error


def test_a_result_of_a_class_that_only_the_worker_has_is_an_error(tools, run):
    code = "(globals().__setitem__('Mine', type('Mine', (), {'__module__': 'process_tools'})), Mine())[1]"
    result = run(tools.make, {"code": code})
    assert (result.error_type, "Mine" in result.error) == ("execution_error", True)
    assert run(tools.echo, {"value": 1}).output == 1


def test_arguments_that_cannot_be_pickled_are_a_validation_error(tools, run):
    result = run(tools.echo, {"value": (number for number in ())})
    assert (result.error_type, "cannot be sent to a worker process" in result.error) == (
        "validation_error", True,
    )  # fmt: skip


def test_a_large_result_is_refused(tools, make, run):
    runtime = make(1, max_result_bytes=100_000)
    assert len(run(tools.make, {"code": "'x' * 90_000"}, on=runtime).output) == 90_000
    result = run(tools.make, {"code": "'x' * 110_000"}, on=runtime)
    assert (result.error_type, "limit of 100,000" in result.error) == ("limit_exceeded", True)


def test_exceeding_the_memory_limit_replaces_the_worker(tools, make, run):
    runtime = make(1, memory=256 << 20)
    first = run(tools.whoami, on=runtime).output["pid"]
    result = run(tools.hog, {"size": 1 << 30}, on=runtime)
    assert (result.error_type, "limit of 268,435,456 bytes" in result.error) == ("limit_exceeded", True)
    assert run(tools.hog, {"size": 64 << 20}, on=runtime).output == 64 << 20
    assert run(tools.whoami, on=runtime).output["pid"] != first


def test_a_result_that_needs_more_memory_than_the_limit_is_an_error(tools, make, run):
    result = run(tools.make, {"code": "'x' * (200 << 20)"}, on=make(1, memory=300 << 20))
    assert (result.error_type, result.metadata["memory"]) == ("limit_exceeded", 300 << 20)


# Errors


@pytest.mark.parametrize("name", ["TypeError", "UnboundLocalError", "LookupError"])
def test_an_exception_arrives_with_the_traceback_of_the_worker(name, tools, run):
    result = run(tools.fail, {"name": name})
    assert (result.error, result.error_type) == (f"{name}: a mistake", "execution_error")
    assert type(result.exception).__name__ == name
    assert isinstance(result.exception.__cause__, RemoteError)
    assert "process_tools.py" in str(result.exception.__cause__)


@pytest.mark.parametrize(("unshowable", "message"), [(True, "Unshowable"), (False, "Unpicklable: one and two")])
def test_an_exception_that_cannot_be_sent_arrives_as_text(unshowable, message, tools, run):
    result = run(tools.fail_oddly, {"unshowable": unshowable})
    assert result.error == message
    text = str(result.exception if isinstance(result.exception, RemoteError) else result.exception.__cause__)
    assert "process_tools.py" in text


# Tools


def test_an_unpicklable_tool_is_unavailable_with_advice(tools, run):
    @tool
    def local() -> None:
        """Cannot be found by another process."""

    for refused in (tools.Locked(), local):
        result = run(refused)
        assert result.error_type == "unavailable"
        assert f"The tool {refused.name!r} cannot be sent to a worker process" in result.error
        assert "top level of a module" in result.error
        assert 'runtime="thread"' in result.error


def test_a_tool_that_workers_do_not_find_is_unavailable(tools, run, tmp_path, monkeypatch):
    run(tools.echo, {"value": 1})  # the worker has the path of this moment
    (tmp_path / "late_tools.py").write_text("from tools_core import tool\n@tool\ndef late() -> int:\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import late_tools

    result = run(late_tools.late)
    assert (result.error_type, "ModuleNotFoundError" in result.error) == ("unavailable", True)


def test_a_tool_keeps_its_state_in_its_worker(tools, run):
    up = tools.Counter(5).tool("up")
    assert [run(up).output for _ in range(3)] == [6, 7, 8]


# The context


def test_the_context_arrives(tools, run, tmp_path):
    report = run(tools.surroundings, workspace=tmp_path, timeout=50, run_id="run", call_id="mine").output
    assert 0 < report.pop("remaining") <= 50
    assert report == {"workspace": str(tmp_path), "call_id": "mine", "run_id": "run", "cancelled": False}
    assert run(tools.surroundings).output["remaining"] is None
    assert run(tools.surroundings).output["call_id"] == "call"


def test_the_state_arrives_item_by_item(tools, run):
    state = {"user": {"name": "ada"}, "lock": threading.Lock()}
    assert run(tools.look, {"key": "user"}, state=state).output == {
        "value": {"name": "ada"}, "there": True, "keys": ["user"],
    }  # fmt: skip
    refused = run(tools.take, {"key": "lock"}, state=state)
    assert isinstance(refused.exception, KeyError)
    assert "'lock' cannot be sent to another process" in refused.error


def test_progress_arrives_in_order(tools, run):
    reports = []
    assert run(tools.steps, {"count": 500}, on_progress=lambda *report: reports.append(report)).output == 500
    assert reports == [(number, 500, f"step {number}") for number in range(500)]


def test_progress_after_the_end_of_a_call_is_not_reported(tools, run):
    late, other = [], []
    assert run(tools.report_late, on_progress=lambda *report: late.append(report)).output == "done"
    count = len(late)
    assert run(tools.steps, {"count": 500}, on_progress=lambda *report: other.append(report)).output == 500
    assert (len(late), len(other)) == (count, 500)


def test_a_listener_that_fails_harms_no_call(tools, run, caplog):
    def listen(*_):
        raise LookupError("deaf")

    assert run(tools.steps, {"count": 1}, on_progress=listen).output == 1
    assert "LookupError: deaf" in caplog.text


# One worker for many tenants


def test_a_call_sees_no_traces_of_the_call_before_it(tools, run, tmp_path):
    folder = os.getcwd()
    pid = run(tools.leave_traces, {"folder": str(tmp_path)}, run_id="one").output
    assert run(tools.traces, run_id="two").output == {
        "tenant": "nobody", "TENANT": None, "PATH": True, "folder": folder, "pid": pid,
    }  # fmt: skip


def test_a_call_runs_in_the_current_folder_of_its_caller(tools, run, tmp_path, monkeypatch):
    assert run(tools.traces).output["folder"] == os.getcwd()
    monkeypatch.chdir(tmp_path)
    assert run(tools.traces).output["folder"] == str(tmp_path)


def test_tools_have_an_empty_standard_input_and_print_to_standard_error(tools, run, capfd):
    assert run(tools.streams).output == {"stdin": "", "stdout_is_stderr": True}
    assert run(tools.run_program).output == "done"
    out, err = capfd.readouterr()
    assert (out, "printed" in err) == ("", True)


# Options


def test_modules_are_imported_beforehand(tools, make, run):
    assert run(tools.imported, {"name": "wave"}, on=make(1)).output is False
    assert run(tools.imported, {"name": "wave"}, on=make(1, preload=["wave"])).output is True
    result = run(tools.echo, {"value": 1}, on=make(1, preload=["no_such_module"]))
    assert (result.error_type, "cannot prepare the call: ModuleNotFoundError" in result.error) == (
        "unavailable", True,
    )  # fmt: skip


@pytest.mark.parametrize("option", ["max_workers", "memory", "max_result_bytes"])
def test_an_option_out_of_range_is_refused(option):
    with pytest.raises(ValueError, match=f"{option} must be above 0"):
        ProcessRuntime(**{option: 0})


def test_one_name_instead_of_a_list_is_refused():
    with pytest.raises(TypeError, match=r"preload=\['wave'\]"):
        ProcessRuntime(preload="wave")


def test_a_system_that_cannot_fork_is_refused(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(OSError, match='use runtime="thread"'):
        ProcessRuntime()
