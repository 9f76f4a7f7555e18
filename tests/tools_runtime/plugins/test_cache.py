from __future__ import annotations

import asyncio
import threading

import pytest

from tools_core import Context, Halt, Image, Result, Tool, ToolCall, tool
from tools_runtime import Executor, hookimpl
from tools_runtime.plugins import Cache, Retry

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


@pytest.fixture
def search():
    """A tool that only reads, and counts its calls."""

    def search(query: str = "a", limit: int = 10) -> list[str]:
        made.append(query)
        return [query] * limit

    made: list[str] = []
    found = tool(search, read_only=True)
    found.made = made
    return found


def test_the_same_call_is_made_once_and_says_so(run, calls, search):
    cache = Cache()
    [first] = run([search], calls("search", {"query": "x", "limit": 2}), [cache])
    [second] = run([search], calls("search", {"limit": 2, "query": "x"}), [cache])
    assert (first.output, second.output) == (["x", "x"], ["x", "x"])
    assert first.metadata == {} and second.metadata["cached"] is True and second.metadata["age"] >= 0
    assert search.made == ["x"]


def test_json_text_and_an_object_are_the_same_arguments(search):
    executor = Executor([search], hooks=[Cache()])
    executor.call(ToolCall(None, "search", '{"query": "x", "limit": 1}'))
    assert executor.call(ToolCall(None, "search", {"limit": 1, "query": "x"})).metadata["cached"]


def test_other_arguments_tools_and_workspaces_are_other_calls(search, tmp_path):
    cache = Cache()
    other = search.renamed("find")
    executor = Executor([search, other], hooks=[cache])
    for call, context in [
        (ToolCall(None, "search", {"query": "x"}), None),
        (ToolCall(None, "search", {"query": "y"}), None),
        (ToolCall(None, "search", {"query": "x", "limit": 1}), None),
        (ToolCall(None, "find", {"query": "x"}), None),
        (ToolCall(None, "search", {"query": "x"}), Context(workspace=tmp_path)),
    ]:
        assert "cached" not in executor.call(call, context).metadata
    assert len(search.made) == 5


def test_two_tools_of_one_definition_do_not_share_results():
    class ReadTool(Tool):
        """Read."""

        read_only = True

        def __init__(self, root):
            self.root = root

        def execute(self, path: str) -> str:
            return f"{self.root}/{path}"

    cache, call = Cache(), ToolCall(None, "read", {"path": "x"})
    results = [Executor([ReadTool(root)], hooks=[cache]).call(call) for root in ("/a", "/b")]
    assert [result.output for result in results] == ["/a/x", "/b/x"]


def test_a_tool_that_sees_the_context_is_cached_for_equal_state_only():
    @tool(read_only=True)
    def whoami(context: Context) -> str:
        made.append(1)
        return context.state.get("user", "nobody")

    made: list[int] = []
    executor, call = Executor([whoami], hooks=[Cache()]), ToolCall(None, "whoami")
    states = [{"user": "ann"}, {"user": "bob"}, {"user": "ann"}, {}, {}, {"user": "ann", "traceparent": "00-1"}]
    answers = [executor.call(call, Context(state=state)) for state in states]
    assert [answer.output for answer in answers] == ["ann", "bob", "ann", "nobody", "nobody", "ann"]
    assert len(made) == 3


@pytest.mark.parametrize(
    "options",
    [{}, {"read_only": False}, {"idempotent": True}, {"read_only": True, "open_world": True}],
    ids=["nothing-said", "writes", "idempotent", "open-world"],
)
def test_what_does_more_than_read_here_is_made_each_time(run, calls, options):
    def fetch() -> int:
        made.append(1)
        return len(made)

    made: list[int] = []
    cache = Cache()
    for _ in range(2):
        run([tool(fetch, **options)], calls("fetch", {}), [cache])
    assert len(made) == 2


def test_a_call_that_acts_when_its_arguments_are_repaired_is_not_answered_from_the_cache():
    made = []

    class Act(Tool):
        """Acts, or only says what it would do."""

        def execute(self, dry_run: bool = False) -> str:
            made.append(dry_run)
            return "done"

        def annotations_for(self, arguments):
            return {"read_only": bool(arguments.get("dry_run"))}

    executor = Executor([Act()], hooks=[Cache()], plugins=False)
    for _ in range(2):
        executor.call(ToolCall(None, "act", {"dry_run": "false"}))
    assert made == [False, False]


def test_an_open_world_is_cached_where_that_is_asked_for():
    @tool(read_only=True, open_world=True)
    def fetch() -> int:
        made.append(1)
        return len(made)

    made: list[int] = []
    executor = Executor([fetch], hooks=[Cache(open_world=True)])
    assert [executor.call(ToolCall(None, "fetch")).output for _ in range(2)] == [1, 1]


def test_a_call_that_may_change_something_empties_the_cache(search):
    @tool
    def write() -> None:
        raise RuntimeError("half done")

    executor = Executor([search, write], hooks=[Cache()])
    read = ToolCall(None, "search", {})
    executor.call(read)
    executor.call(ToolCall(None, "write"))
    assert "cached" not in executor.call(read).metadata
    assert executor.call(read).metadata["cached"]


def test_what_was_read_before_a_change_is_not_kept_after_it():
    reading, changed = threading.Event(), threading.Event()

    @tool(read_only=True)
    def read() -> str:
        if not reading.is_set():
            reading.set()
            changed.wait(20)
            return "old"
        return "new"

    @tool
    def write() -> None:
        pass

    executor = Executor([read, write], runtime="thread", hooks=[Cache()])
    early: list[Result] = []
    reader = threading.Thread(target=lambda: early.append(executor.call(ToolCall(None, "read"))))
    reader.start()
    assert reading.wait(20)
    executor.call(ToolCall(None, "write"))
    changed.set()
    reader.join(20)
    assert early[0].output == "old"
    assert executor.call(ToolCall(None, "read")).output == "new"


@pytest.mark.parametrize("hooks", [[], [Retry(first=0)]], ids=["at its limit", "and made again"])
def test_nothing_is_kept_while_a_call_that_was_left_behind_may_change_something(hooks):
    value, may_go_on, has_written, writing = ["old"], threading.Event(), threading.Event(), threading.Event()

    @tool(read_only=True)
    def read() -> str:
        return value[0]

    @tool(idempotent=True, timeout=0.05)
    def write() -> None:
        if writing.is_set():  # by the second attempt
            return
        writing.set()
        assert may_go_on.wait(20)
        value[0] = "new"
        has_written.set()

    executor = Executor([read, write], runtime="thread", hooks=[Cache(), *hooks], plugins=False)
    assert executor.call(ToolCall(None, "write")).metadata["abandoned"]
    assert executor.call(ToolCall(None, "read")).output == "old"
    may_go_on.set()
    assert has_written.wait(20)
    assert executor.call(ToolCall(None, "read")).output == "new"


def test_errors_and_halts_are_not_kept(run, calls):
    @tool(read_only=True)
    def fetch(end: bool) -> str:
        made.append(end)
        if end:
            raise Halt("enough")
        raise RuntimeError("broken")

    made: list[bool] = []
    cache = Cache()
    for _ in range(2):
        run([fetch], calls("fetch", {"end": True}), [cache])
        run([fetch], calls("fetch", {"end": False}), [cache])
    assert len(made) == 4


def test_a_result_grows_old(search):
    executor, read = Executor([search], hooks=[Cache(seconds=1e-9)]), ToolCall(None, "search", {})
    executor.call(read)
    assert "cached" not in executor.call(read).metadata


@pytest.mark.parametrize("change", [{"id": 2}, {"id": {1}}], ids=["json", "no-json"])
def test_state_that_was_changed_in_place_is_other_state(change):
    @tool(read_only=True)
    def whose(context: Context) -> str:
        return str(context.state["user"]["id"])

    user: dict[str, object] = {"id": 1}
    executor = Executor([whose], hooks=[Cache()], plugins=False)
    context = Context(state={"user": user})
    assert [executor.call(ToolCall(None, "whose"), context).output for _ in range(2)] == ["1", "1"]
    user.update(change)
    assert executor.call(ToolCall(None, "whose"), context).output == str(change["id"])


def test_nobody_can_change_metadata_that_others_are_given():
    @tool(read_only=True)
    def count() -> Result:
        return Result.ok(1, metadata={"pages": [1]})

    executor = Executor([count], hooks=[Cache()], plugins=False)
    for _ in range(3):
        result = executor.call(ToolCall(None, "count"))
        assert result.metadata["pages"] == [1]
        result.metadata["pages"].append(2)


def test_nobody_can_change_what_others_are_given(search):
    executor, read = Executor([search], hooks=[Cache()]), ToolCall(None, "search", {"limit": 1})
    for _ in range(3):
        output = executor.call(read).output
        assert output == ["a"]
        output.append("mine")


def test_a_value_that_cannot_be_copied_is_not_kept_and_harms_nothing():
    @tool(read_only=True)
    def lock() -> object:
        return {"lock": threading.Lock()}

    executor, read = Executor([lock], hooks=[Cache()]), ToolCall(None, "lock")
    assert all(executor.call(read).is_ok and "cached" not in executor.call(read).metadata for _ in range(2))


def test_images_are_kept(search):
    @tool(read_only=True)
    def draw() -> list[object]:
        return ["a picture", Image(PNG)]

    executor, read = Executor([draw], hooks=[Cache()]), ToolCall(None, "draw")
    first, second = executor.call(read), executor.call(read)
    assert first.content == second.content == ("a picture", Image(PNG))


def test_entries_and_bytes_are_bounded_and_what_was_used_last_stays(search):
    cache = Cache(entries=3)
    executor = Executor([search], hooks=[cache])

    def is_cached(query):
        return executor.call(ToolCall(None, "search", {"query": query})).metadata.get("cached", False)

    assert [is_cached(query) for query in "abcabcadca"] == [False] * 3 + [True] * 4 + [False, True, True]
    small = Cache(max_bytes=1000)
    executor = Executor([search], hooks=[small])
    for number in range(50):
        executor.call(ToolCall(None, "search", {"query": f"{number:03}" * 10}))
    assert small._size <= 1000 and 1 <= len(small._kept) <= 3
    executor.call(ToolCall(None, "search", {"query": "x" * 2000}))
    assert executor.call(ToolCall(None, "search", {"query": "049" * 10})).metadata["cached"]  # it drove nothing out


def test_clear_forgets(search):
    cache = Cache()
    executor, read = Executor([search], hooks=[cache]), ToolCall(None, "search", {})
    executor.call(read)
    cache.clear()
    assert "cached" not in executor.call(read).metadata


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_of_equal_calls_at_once_one_is_made(runtime, calls):
    @tool(read_only=True)
    async def search(query: str) -> str:
        made.append(query)
        await asyncio.sleep(0.05)
        return query

    made: list[str] = []
    executor = Executor([search], runtime=runtime, hooks=[Cache()])
    wanted = calls("search", *[{"query": "x"}, {"query": "y"}] * 20)
    results = [result for _, result in executor.execute(wanted)]
    assert sorted(made) == ["x", "y"]
    assert [result.output for result in results] == ["x", "y"] * 20
    assert sum("cached" in result.metadata for result in results) == 38


@pytest.mark.parametrize("runtime", ["thread", "async"])
def test_those_who_waited_for_a_call_that_failed_make_their_own(runtime, calls):
    @tool(read_only=True)
    async def search() -> str:
        made.append(1)
        first = len(made) == 1
        await asyncio.sleep(0.05)
        if first:
            raise RuntimeError("broken")
        return "here"

    made: list[int] = []
    executor = Executor([search], runtime=runtime, hooks=[Cache()])
    results = [result for _, result in executor.execute(calls("search", {}, {}, {}))]
    assert sorted(result.is_ok for result in results) == [False, True, True]


def test_those_who_waited_for_a_call_that_was_cancelled_make_their_own(calls, until):
    @tool(read_only=True)
    async def search() -> str:
        made.append(1)
        if len(made) == 1:
            await asyncio.sleep(60)
        return "here"

    made: list[int] = []
    executor = Executor([search], runtime="async", default_timeout=None, hooks=[Cache()])

    async def main():
        first = asyncio.create_task(executor.aexecute(calls("search", {})))
        await until(lambda: made)
        second = asyncio.create_task(executor.aexecute(calls("search", {})))
        await asyncio.sleep(0)
        first.cancel()
        return await asyncio.wait_for(second, 10)

    [(_, result)] = asyncio.run(main())
    assert result.output == "here"


def test_a_thousand_equal_calls_wait_in_one_event_loop_without_threads(calls, threads):
    @tool(read_only=True)
    async def search() -> str:
        made.append(1)
        await asyncio.sleep(0.05)
        threads.look()
        return "here"

    made: list[int] = []
    executor = Executor([search], runtime="async", hooks=[Cache()])
    pairs = asyncio.run(executor.aexecute(calls("search", *[{}] * 1000)))
    assert {result.output for _, result in pairs} == {"here"}
    assert made == [1] and threads.most <= 2


def test_arguments_that_json_cannot_say_are_no_reason_to_fail(search):
    executor = Executor([search], hooks=[Cache()])
    for given in ({"query": object()}, {"query": {1: 2, "a": 3}}, "{broken", "[]"):
        assert executor.call(ToolCall(None, "search", given)).error_type == "validation_error"


def test_a_hook_that_breaks_inside_leaves_the_cache_working(search):
    class Broken:
        @hookimpl(trylast=True)
        def before_tool_call(self, call):
            if call.arguments["query"] == "boom":
                raise RuntimeError("broken")

    executor = Executor([search], hooks=[Cache(), Broken()])
    assert executor.call(ToolCall(None, "search", {"query": "boom"})).error_type == "unavailable"
    for expected in (None, True):
        assert executor.call(ToolCall(None, "search", {"query": "x"})).metadata.get("cached") is expected
