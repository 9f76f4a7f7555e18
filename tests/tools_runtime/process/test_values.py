"""Arguments, results, errors and the context arrive as they were."""

import json
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_core import Image, Result, ToolCall, tool
from tools_runtime import Executor, RemoteError
from tools_runtime._remote._json import decode, encode, is_exact

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_json_is_exact(value):
    assert is_exact(value)
    assert json.dumps(decode(encode(value))) == json.dumps(value)


def test_values_come_back_as_they_went(tools, make, run):
    runtime = make(1)

    @settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(JSON)
    def check(value):
        assert json.dumps(run(tools.echo, {"value": value}, on=runtime).output) == json.dumps(value)

    check()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "value is nan"), ({1: 2}, "value has the key 1, which is no string"),
        ([{"a": b"x"}], "value[0].a is b'x', of type bytes"), (1 << 20_000, "a number of too many digits"),
        ({1, 2}, "of type set"),
    ],
    ids=["not a number", "number as key", "bytes", "long number", "set"],
)  # fmt: skip
def test_arguments_that_json_cannot_carry_are_named(value, said, tools, run):
    result = run(tools.echo, {"value": value})
    assert (result.error_type, said in result.error_message) == ("validation_error", True)


def test_arguments_nested_without_end_are_refused(tools, run):
    value = []
    value.append(value)
    assert run(tools.echo, {"value": value}).error_type == "validation_error"


def test_text_arrives_unparsed(tools, runtime):
    call = ToolCall("1", "echo", '{"value": 1, "value": 2}')
    result = runtime.run_tool(tools.echo, call, None)
    assert (result.error_type, result.metadata["reason"]) == ("validation_error", "duplicate_key")


def test_blocks_survive(tools, run):
    assert run(tools.picture).output == Image(b"\x89PNG\r\n\x1a\n123")
    result = run(tools.album)
    assert result == Result.ok({"count": 1}, content=["first", Image(b"\x89PNG\r\n\x1a\n123")], metadata={"by": "ada"})
    assert result.content == tools.album.call().content


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TypeError", TypeError), ("UnboundLocalError", NameError), ("ModuleNotFoundError", ImportError),
        ("RecursionError", RecursionError), ("AssertionError", AssertionError),
    ],
)  # fmt: skip
def test_a_bug_is_the_builtin_exception_with_the_workers_traceback_behind_it(name, kind, tools, run):
    error = run(tools.bug, {"name": name}).exception
    assert type(error) is kind
    assert isinstance(error.__cause__, RemoteError)
    assert error.__cause__.kind == f"builtins.{name}"
    assert "hostile_tools.py" in error.__cause__.traceback


def test_another_error_is_a_remote_error(tools, run):
    result = run(tools.bug, {"name": "LookupError"})
    assert result.error_message == "LookupError: a mistake"
    assert (type(result.exception), result.exception.kind) == (RemoteError, "builtins.LookupError")
    assert "a mistake" in str(result.exception)


def test_an_error_that_cannot_be_shown_is_an_error_all_the_same(tools, run):
    result = run(tools.odd_error)
    assert (result.error_message, result.exception.kind) == ("OwnError", "hostile_tools.OwnError")


def test_strict_bugs_are_raised(tools, runtime):
    executor = Executor([tools.bug], runtime=runtime, plugins=False, error_policy="strict_bugs")
    with pytest.raises(TypeError, match="a mistake"):
        executor.execute([ToolCall("1", "bug", {"name": "TypeError"})])


def test_strict_bugs_are_found_in_groups(tools, runtime):
    executor = Executor([tools.bugs], runtime=runtime, plugins=False, error_policy="strict_bugs")
    with pytest.raises(NameError) as raised:
        executor.execute([ToolCall("1", "bugs")])
    assert "a mistake" in str(raised.value.__cause__)


def test_the_state_arrives_item_by_item(tools, run):
    state = {"user": {"name": "ada"}, "lock": threading.Lock(), "traceparent": "00-1-2-01"}
    assert run(tools.look, {"key": "user"}, state=state).output == {
        "value": {"name": "ada"}, "there": True, "keys": ["traceparent", "user"],
    }  # fmt: skip
    assert run(tools.look, {"key": "lock"}, state=state).output["there"] is False
    refused = run(tools.take, {"key": "lock"}, state=state)
    assert refused.exception.kind == "builtins.KeyError"
    assert "'lock' could not be sent to another process" in refused.error_message


def test_a_tool_without_a_context_gets_nothing_of_it(tools, run):
    class Bomb:
        def __reduce__(self):
            raise AssertionError("was sent")

    assert run(tools.context_free, {"number": 1}, state={"bomb": Bomb()}, timeout=5).output == 2


def test_the_time_that_is_left_arrives(tools, run):
    assert 0 < run(tools.left, timeout=7).output <= 7
    assert run(tools.left).output is None


def test_progress_arrives_in_order_in_the_thread_that_waits(tools, run):
    seen = []
    result = run(
        tools.steps, {"count": 500}, on_progress=lambda *report: seen.append((report, threading.current_thread()))
    )
    assert result.output == 500
    assert [report for report, _ in seen] == [(number, 500, f"step {number}") for number in range(500)]
    assert {thread for _, thread in seen} == {threading.current_thread()}


def test_progress_may_have_as_much_to_say_as_a_result(tools, run):
    seen = []
    result = run(tools.says, {"length": 3 << 20}, on_progress=lambda *report: seen.append(len(report[2])))
    assert (result.output, seen) == ("said", [3 << 20])


def test_who_fails_to_hear_progress_ends_the_call(tools, run):
    def fail(*_):
        raise LookupError("deaf")

    result = run(tools.steps, {"count": 5}, on_progress=fail)
    assert (result.error_message, type(result.exception)) == ("LookupError: deaf", LookupError)
    assert run(tools.echo, {"value": 1}).output == 1


def test_a_tool_keeps_its_state_in_its_worker(tools, make, run):
    runtime = make(1)
    up = tools.Counter(5).tool("up")
    assert [run(up, on=runtime).output for _ in range(3)] == [6, 7, 8]


def test_a_tool_that_cannot_be_pickled_says_what_would_help(tools, run):
    result = run(tools.Unpicklable())
    assert (result.error_type, "at the top of a module" in result.error_message) == ("unavailable", True)

    @tool
    def local() -> None:
        """Nobody else can find it."""

    assert run(local).error_type == "unavailable"


def test_a_tool_that_workers_do_not_find_is_unavailable(tools, run, tmp_path, monkeypatch):
    run(tools.echo, {"value": 1})  # from here on the path is known
    (tmp_path / "late_tools.py").write_text("from tools_core import tool\n@tool\ndef late() -> int:\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import late_tools

    result = run(late_tools.late)
    assert (result.error_type, "cannot load the tool: ModuleNotFoundError" in result.error_message) == (
        "unavailable", True,
    )  # fmt: skip
