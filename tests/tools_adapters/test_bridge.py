"""The parts that all adapters share, without any framework."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

import tools_adapters
from tools_adapters._bridge import Bridge, block_of_url, foreign_tool, text_of
from tools_core import Context, File, Image, Registry, Result, ToolCall, ToolError, Toolset, tool
from tools_runtime import Executor

ADAPTERS = sorted(name for name in dir(tools_adapters) if name.startswith("to_"))


@tool
def where(context: Context) -> list[object]:
    """Tell where a call runs."""
    context.progress(1, 2, "half")
    return [context.run_id, context.call_id, str(context.workspace), dict(context.state)]


@tool(requires_approval=True)
def remove(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"


class Notes(Toolset):
    def add(self, text: str) -> str:
        """Add a note."""
        return text


class Recorder:
    """An executor."""

    def __init__(self):
        self.seen = []

    def call(self, call, *, context=None):
        self.seen.append((call, context.run_id))
        return Result.ok("executed")

    async def acall(self, call, *, context=None):
        return self.call(call, context=context)


def test_importing_the_package_imports_no_framework():
    code = f"import sys, tools_adapters; print(*sys.modules); tools_adapters.{ADAPTERS[0]}"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"agents", "agno", "crewai", "haystack", "langchain_core", "pydantic_ai", "smolagents"}.isdisjoint(loaded)


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_missing_framework_is_an_error_that_names_the_extra(name):
    extra = name.removeprefix("to_").replace("_", "-")
    with pytest.raises(ImportError, match=rf"pip install 'tools-adapters\[{extra}\]'"):
        getattr(tools_adapters, name)([where])
    with pytest.raises(AttributeError, match="to_nothing"):
        _ = tools_adapters.to_nothing


def test_tools_come_from_whatever_holds_some():
    registry = Registry()
    registry.register(where)

    def plain() -> int:
        return 1

    given = [registry, {"here": where}, where, plain, [where, Notes()], Notes(), Notes]
    names = [[each.name for each in Bridge(tools).tools] for tools in given]
    assert names == [["where"], ["here"], ["where"], ["plain"], ["where", "notes_add"], ["notes_add"], ["notes_add"]]
    with pytest.raises(ValueError, match="has that name"):
        Bridge([where, tool(plain, name="where")])


def test_an_executor_gets_the_call_as_the_model_wrote_it():
    executor = Recorder()
    (made,) = Bridge({"here": where}, executor=executor).tools
    assert made.call('{"broken": ', call_id="c", run_id="r").output == "executed"
    assert executor.seen == [(ToolCall("c", "here", '{"broken": '), "r")]


def test_a_call_has_the_run_of_the_framework_and_the_rest_of_the_given_context(tmp_path):
    mine, theirs = [], []
    given = Context(workspace=tmp_path, state={"user": 1}, run_id="mine", on_progress=lambda *facts: mine.append(facts))
    (made,) = Bridge(where, context=given).tools
    result = made.call("{}", call_id="c", run_id="r", on_progress=lambda *facts: theirs.append(facts))
    assert result.output == ["r", "c", str(tmp_path), {"user": 1}]
    assert mine == theirs == [(1, 2, "half")]
    assert asyncio.run(made.acall({})).output[0] == "mine"


def test_two_conversions_without_a_context_are_two_runs():
    runs = {made.call({}).output[0] for made in (*Bridge(where).tools, *Bridge(where).tools)}
    assert len(runs) == 2


def test_cancelling_the_given_context_and_its_deadline_end_a_call():
    entered = threading.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        entered.set()
        await asyncio.sleep(600)

    given = Context()
    (made,) = Bridge(wait, context=given).tools
    results = []
    thread = threading.Thread(target=lambda: results.append(made.call({})))
    thread.start()
    assert entered.wait(30)
    given.cancel()
    thread.join(30)
    assert results[0].error_type == "cancelled"
    assert Bridge(wait, context=Context(timeout=0.01)).tools[0].call({}).error_type == "timeout_error"


def test_approval_is_asked_for_once_the_arguments_fit():
    (made,) = Bridge(remove).tools
    assert made.needs_approval
    wrong, waiting = made.call({}), asyncio.run(made.acall({"path": "a"}))
    assert (wrong.error_type, made.request_in(wrong)) == ("validation_error", None)
    assert made.request_in(waiting)["arguments"] == {"path": "a"}
    assert made.call({"path": "a"}, approved=True).output == "removed a"


def test_a_function_or_an_executor_decides_in_place_of_the_framework():
    denied = Bridge(remove, approve=lambda request: False).tools[0]
    assert (denied.needs_approval, denied.call({"path": "a"}).error_type) == (False, "denied")
    executed = Bridge(remove, executor=Recorder()).tools[0]
    assert (executed.needs_approval, asyncio.run(executed.acall({"path": "a"})).output) == (False, "executed")
    with pytest.raises(TypeError, match="to the executor"):
        Bridge(remove, executor=Recorder(), approve="all")


def test_a_framework_without_files_reads_text():
    png, words = Image(b"\x89PNG\r\n\x1a\n"), File(b"words", "text/plain")
    assert text_of(Result.ok(["see", png, words])) == f"see\n{png}\n[file, text/plain]\nwords"
    assert text_of(Result.error("no", type="denied"), error="Error: ") == "Error: no"
    assert text_of(Result.error("", type="denied")) == "denied"


def test_a_data_url_becomes_a_block():
    assert block_of_url("data:image/png;base64,iVBORw0KGgo=") == Image(b"\x89PNG\r\n\x1a\n")
    assert block_of_url("data:application/pdf;base64,JVBERi0=").kind == "file"
    assert [block_of_url(url) for url in ("https://example.org/a.png", "data:,a", None)] == [None] * 3


def test_a_foreign_tool_validates_and_its_failures_are_results():
    async def body(arguments, context):
        if arguments["n"] > 5:
            raise ToolError("too big", "limit_exceeded")
        return [arguments, context.call_id]

    schema = {"properties": {"n": {"type": "integer"}, "context": {"type": "string"}}, "required": ["n"]}
    made = foreign_tool("9.times", "Count.", schema, body)
    assert (made.name, made.description) == ("_9_times", "Count.")
    assert made.call(ToolCall("c", "_9_times", {"n": "3", "context": "x"})).output == [{"n": 3, "context": "x"}, "c"]
    assert (made.call(n=9).error_type, made.call().error) == ("limit_exceeded", "n is required: an integer")


def test_an_executor_runs_a_foreign_tool_in_this_process():
    calls = []
    made = foreign_tool("count", "", {}, lambda arguments, context: calls.append(1) or len(calls))
    with Executor([made], runtime="process") as executor:
        assert [executor.call("count").output for _ in range(2)] == [1, 2]
