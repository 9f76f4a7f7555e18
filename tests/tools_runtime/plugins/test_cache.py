from __future__ import annotations

import threading

import pytest

from tools_core import Context, Halt, Image, Result, ToolCall, tool
from tools_runtime import Executor
from tools_runtime.plugins import Cache, Retry

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.fixture
def search():
    """A tool that only reads, and counts its calls."""

    def search(query: str = "a", limit: int = 10) -> list[str]:
        executed.append(query)
        return [query] * limit

    executed: list[str] = []
    search_tool = tool(search, read_only=True)
    search_tool.made = executed
    return search_tool


@pytest.fixture
def is_cached(call):
    def is_cached(tool, cache, context, **arguments):
        return call(tool, [cache], context, **arguments).metadata.get("cached", False)

    return is_cached


def test_an_equal_call_in_a_run_returns_the_cached_result(run, calls, search):
    cache, context = Cache(), Context()
    [first] = run([search], calls("search", {"query": "x", "limit": 2}), [cache], context)
    [second] = run([search], calls("search", '{"limit": 2, "query": "x"}'), [cache], context)
    assert first.output == second.output == ["x", "x"]
    assert first.metadata == {} and second.metadata["cached"] is True and second.metadata["age"] >= 0
    assert search.made == ["x"]


def test_other_arguments_tools_and_workspaces_are_other_calls(search, is_cached, tmp_path):
    cache = Cache()
    for variant, workspace, arguments in [
        (search, None, {"query": "x"}),
        (search, None, {"query": "y"}),
        (search, None, {"query": "x", "limit": 1}),
        (search.renamed("find"), None, {"query": "x"}),
        (search, tmp_path, {"query": "x"}),
    ]:
        assert not is_cached(variant, cache, Context(run_id="1", workspace=workspace), **arguments)


def test_runs_do_not_share_cached_results(search, is_cached):
    cache, mine = Cache(entries=3, max_bytes=1000), Context()
    is_cached(search, cache, mine)
    other = Context()
    assert not is_cached(search, cache, other)
    for number in range(50):
        is_cached(search, cache, other, query=f"{number:03}" * 10)
    write = tool(lambda: None, name="write")
    is_cached(write, cache, other)
    assert is_cached(search, cache, mine)


def test_a_key_shares_results_among_runs(search, is_cached, by_user):
    key, of = by_user
    cache = Cache(key=key)
    assert [is_cached(search, cache, of(user)) for user in ("ann", "ann", "bob")] == [False, True, False]


def test_the_number_of_runs_is_bounded_and_the_longest_unused_goes(search, is_cached):
    cache = Cache()
    first, second, *others = (Context() for _ in range(201))
    hits = [is_cached(search, cache, context) for context in (first, second, first, *others, first, second)]
    assert [hits[2], *hits[-2:]] == [True, True, False]


def test_a_tool_that_takes_the_context_is_cached_for_equal_plain_state_only(call):
    @tool(read_only=True)
    def whoami(context: Context) -> str:
        executed.append(1)
        return str(context.state.get("user", "unknown"))

    executed: list[int] = []
    cache = Cache(key=lambda _: None)
    ann = {"user": {"name": "ann"}}
    for state in (ann, {"user": "bob"}, ann, {}, ann | {"traceparent": "00-1"}):
        assert call(whoami, [cache], Context(state=state)).output == str(state.get("user", "unknown"))
    assert len(executed) == 3
    ann["user"]["name"] = "eve"  # changed in place
    assert "eve" in call(whoami, [cache], Context(state=ann)).output
    for _ in range(2):
        assert "cached" not in call(whoami, [cache], Context(state={"user": object()})).metadata


@pytest.mark.parametrize(
    "options",
    [{}, {"read_only": False}, {"idempotent": True}, {"read_only": True, "open_world": True}],
    ids=["unstated", "writes", "idempotent", "open-world"],
)
def test_a_tool_that_does_more_than_read_here_is_called_each_time(is_cached, options):
    cache, context = Cache(), Context()
    fetch = tool(lambda: 1, name="fetch", **options)
    assert [is_cached(fetch, cache, context) for _ in range(2)] == [False, False]
    if options.get("open_world"):
        cache = Cache(open_world=True)
        assert [is_cached(fetch, cache, context) for _ in range(2)] == [False, True]


def test_a_call_that_may_change_something_drops_the_results_of_its_run(search, is_cached):
    @tool
    def write() -> None:
        raise RuntimeError("half done")

    cache, context = Cache(), Context()
    is_cached(search, cache, context)
    is_cached(write, cache, context)
    assert [is_cached(search, cache, context) for _ in range(2)] == [False, True]


def test_a_change_discards_results_of_running_calls():
    reading, changed = threading.Event(), threading.Event()

    @tool(read_only=True)
    def read() -> str:
        if not reading.is_set():
            reading.set()
            changed.wait(20)
            return "old"
        return "new"

    write = tool(lambda: None, name="write")
    executor, context = Executor([read, write], runtime="thread", hooks=[Cache()], plugins=False), Context()
    early: list[Result] = []
    reader = threading.Thread(target=lambda: early.append(executor.call(ToolCall(None, "read"), context=context)))
    reader.start()
    assert reading.wait(20)
    executor.call(ToolCall(None, "write"), context=context)
    changed.set()
    reader.join(20)
    assert early[0].output == "old"
    assert executor.call(ToolCall(None, "read"), context=context).output == "new"


@pytest.mark.parametrize("hooks", [[], [Retry(first=0)]], ids=["at-its-limit", "made-again"])
def test_an_abandoned_change_stops_caching(hooks):
    value, may_go_on, has_written, writing = ["old"], threading.Event(), threading.Event(), threading.Event()

    @tool(read_only=True)
    def read() -> str:
        return value[0]

    @tool(idempotent=True, timeout=0.5)
    def write() -> None:
        if writing.is_set():  # by the second attempt
            return
        writing.set()
        assert may_go_on.wait(20)
        value[0] = "new"
        has_written.set()

    executor = Executor([read, write], runtime="thread", hooks=[Cache(), *hooks], plugins=False)
    context = Context()
    assert executor.call(ToolCall(None, "write"), context=context).metadata["abandoned"]
    assert executor.call(ToolCall(None, "read"), context=context).output == "old"
    may_go_on.set()
    assert has_written.wait(20)
    assert executor.call(ToolCall(None, "read"), context=context).output == "new"


def test_errors_halts_and_old_results_are_not_given_again(run, calls, search):
    @tool(read_only=True)
    def fetch(end: bool) -> str:
        executed.append(end)
        if end:
            raise Halt("enough")
        raise RuntimeError("broken")

    executed: list[bool] = []
    cache, context = Cache(seconds=1e-9), Context()
    for _ in range(2):
        run([fetch], calls("fetch", {"end": False}, {"end": True}), [cache], context)
        run([search], calls("search", {}), [cache], context)
    assert len(executed) == 4 and len(search.made) == 2


def test_each_caller_receives_a_copy(call):
    @tool(read_only=True)
    def count() -> Result:
        return Result.ok([1], metadata={"pages": [1]})

    cache, context = Cache(), Context()
    for _ in range(3):
        result = call(count, [cache], context)
        assert result.output == result.metadata["pages"] == [1]
        result.output.append(2)
        result.metadata["pages"].append(2)


def test_images_are_stored_and_values_that_cannot_be_copied_are_not(call, is_cached):
    draw = tool(lambda: ["a picture", Image(PNG)], name="draw", read_only=True)
    lock = tool(lambda: {"lock": threading.Lock()}, name="lock", read_only=True)
    cache, context = Cache(), Context()
    assert call(draw, [cache], context).content == call(draw, [cache], context).content == ("a picture", Image(PNG))
    assert [is_cached(lock, cache, context) for _ in range(2)] == [False, False]


def test_entries_and_bytes_of_a_run_are_bounded_and_the_longest_unused_goes(search, is_cached):
    cache, context = Cache(entries=3), Context()
    hits = [is_cached(search, cache, context, query=query) for query in "abcabcadca"]
    assert hits == [False] * 3 + [True] * 4 + [False, True, True]
    cache = Cache(max_bytes=700)
    for query in ("x" * 30, "y" * 30, "z" * 30):
        is_cached(search, cache, context, query=query)
    assert not is_cached(search, cache, context, query="v" * 2000)  # too large: it replaces nothing
    hits = [is_cached(search, cache, context, query=query) for query in ("z" * 30, "y" * 30, "x" * 30)]
    assert hits == [True, True, False]
