"""What listeners hear of a call."""

from __future__ import annotations

import asyncio
import importlib

import pytest

from tools_core import Result, ToolCall, tool
from tools_runtime import Executor, ProcessRuntime, Runtime, hookimpl
from tools_runtime.plugins import Retry

TOOLS = """
import os, signal
from tools_core import tool


@tool(idempotent=True)
def leave(status: int) -> None:
    "End the process that works."
    os._exit(status)


@tool
def die() -> None:
    "Kill the process that works."
    os.kill(os.getpid(), signal.SIGKILL)


@tool
def refuse() -> str:
    "Fail in the ordinary way."
    raise ValueError("no")
"""


class Ear:
    def __init__(self):
        self.heard = []

    @hookimpl
    def on_event(self, event):
        self.heard.append(event)

    @property
    def kinds(self):
        return [event.kind for event in self.heard]


@pytest.fixture
def ear():
    return Ear()


@pytest.fixture
def tools(tmp_path, monkeypatch):
    name = f"tools_of_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(TOOLS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module(name)


@pytest.fixture
def executor(ear, tools):
    all_of_them = [tools.leave, tools.die, tools.refuse]
    with ProcessRuntime(1) as runtime, Executor(all_of_them, runtime=runtime, hooks=[ear], plugins=False) as made:
        yield made


# A lost worker


@pytest.mark.parametrize(
    ("name", "arguments", "crash"), [("leave", {"status": 3}, "exit 3"), ("leave", {"status": 0}, "exit 0"),
                                     ("die", {}, "SIGKILL")]
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_of_a_lost_worker_listeners_hear_before_the_end(ear, executor, name, arguments, crash, is_async):
    call = ToolCall("1", name, arguments)
    result = asyncio.run(executor.acall(call)) if is_async else executor.call(call)
    assert result.metadata["crash"] == crash
    assert ear.kinds == ["start", "crash", "end"]
    crashed, ended = ear.heard[1:]
    assert crashed.call is call and crashed.result is ended.result is result
    assert dict(crashed.detail) == {"error": result.error_message}
    assert "worker process" in crashed.detail["error"]


def test_a_tool_that_fails_loses_no_worker(ear, executor):
    assert executor.call(ToolCall("1", "refuse")).is_error
    assert ear.kinds == ["start", "end"]


def test_each_attempt_that_lost_its_worker_is_told_and_what_was_made_of_it_at_the_end(ear, tools):
    hooks = [ear, Retry(attempts=2, first=0.0, types=["execution_error"])]
    with ProcessRuntime(1) as runtime, Executor([tools.leave], runtime=runtime, hooks=hooks, plugins=False) as executor:
        result = executor.call(ToolCall("1", "leave", {"status": 3}))
    assert ear.kinds == ["start", "crash", "retry", "crash", "end"]
    assert ear.heard[-1].result is result


def test_of_a_lost_worker_listeners_hear_in_a_batch_and_of_that_call_alone(ear, executor):
    calls = [ToolCall("1", "refuse"), ToolCall("2", "die"), ToolCall("3", "refuse")]
    executor.execute(calls)
    assert [event.call.id for event in ear.heard if event.kind == "crash"] == ["2"]
    of_second = [event.kind for event in ear.heard if event.call.id == "2"]
    assert of_second == ["start", "crash", "end"]


def test_without_listeners_a_lost_worker_is_a_result_as_ever(tools):
    with ProcessRuntime(1) as runtime, Executor([tools.die], runtime=runtime, plugins=False) as executor:
        assert executor.call(ToolCall("1", "die")).metadata["crash"] == "SIGKILL"


# Where it runs


@tool
def work() -> str:
    """Work."""
    return "done"


class Elsewhere(Runtime):
    def dispatch_tool_call(self, call, tools, context):
        return Result.ok(context.runtime)


@pytest.mark.parametrize(
    ("runtime", "name"),
    [("inline", "inline"), ("thread", "thread"), ("async", "async"), (Elsewhere, "Elsewhere")],
    ids=["inline", "thread", "async", "of somebody's own"],
)
@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_at_the_start_listeners_hear_the_name_of_the_runtime(ear, runtime, name, is_async):
    executor = Executor([work], runtime=runtime, hooks=[ear], plugins=False)
    call = ToolCall("1", "work")
    result = asyncio.run(executor.acall(call)) if is_async else executor.call(call)
    assert result.output == (name if runtime is Elsewhere else "done")
    assert [(event.kind, dict(event.detail)) for event in ear.heard] == [("start", {"runtime": name}), ("end", {})]


def test_hooks_and_tools_are_told_where_a_call_runs(ear):
    told = []

    class Asks:
        @hookimpl
        def before_tool_call(self, call, context):
            told.append(context.runtime)

    executor = Executor([work], runtime={"work": "thread"}, hooks=[Asks()], plugins=False)
    executor.call(ToolCall("1", "work"))
    executor.call(ToolCall("2", "nothing"))
    assert told == ["thread", "inline"]
