from __future__ import annotations

import ast
import asyncio
import json
import subprocess
import sys

import pytest

import tools_runtime.plugins
from tools_core import Context, Result, ToolCall, tool
from tools_runtime import Executor, hookimpl
from tools_runtime.plugins import AuditLog, Cache, LoopDetector, OutputBudget, RateLimit, Retry


def all_of(path):
    budget = OutputBudget(1000)
    rate = RateLimit({"*": "100000/s"}, max_concurrency={"*": 500})
    return budget, [AuditLog(path), budget, LoopDetector(), Cache(), Retry(first=0.001), rate]


def test_the_names_are_complete_and_sorted():
    assert tools_runtime.plugins.__all__ == sorted(tools_runtime.plugins.__all__) == dir(tools_runtime.plugins)
    for name in tools_runtime.plugins.__all__:
        assert getattr(tools_runtime.plugins, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tools_runtime.plugins.Nothing  # noqa: B018


def test_the_package_alone_imports_no_plugin():
    script = (
        "import sys, tools_runtime.plugins; print([n for n in sys.modules if n.startswith('tools_runtime.plugins.')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert ast.literal_eval(done.stdout) == []


def test_all_of_them_together_in_every_way_of_running(run, calls, tmp_path):
    count = iter(range(100))

    @tool(read_only=True)
    def fetch(key: str) -> str:
        return Result.error("busy", type="unavailable") if next(count) == 0 else key * 500

    budget, hooks = all_of(tmp_path / "log")
    first = run([fetch, budget.tool], calls("fetch", {"key": "abcd"}), hooks)[0]
    second = run([fetch, budget.tool], calls("fetch", {"key": "abcd"}), hooks)[0]
    assert first.metadata["attempts"] == 2 and first.metadata["cut"]["of"] == 2000
    assert second.metadata["cached"] and second.metadata["cut"]["handle"] != first.metadata["cut"]["handle"]
    assert next(count) == 2
    ends = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()][1::2]
    assert [end["metadata"].get("cached") for end in ends] == [None, True]


def test_what_is_made_again_waits_for_its_turn_again_and_holds_no_slot_meanwhile():
    order: list[str] = []

    @tool(read_only=True)
    async def fetch(key: str) -> Result:
        order.append(key)
        await asyncio.sleep(0.01)
        return Result.error("busy", metadata={"retry_after": 0.2}) if len(order) == 1 else Result.ok(key)

    hooks = [Cache(), Retry(), RateLimit(max_concurrency={"fetch": 1})]
    executor = Executor([fetch], runtime="async", hooks=hooks, plugins=False)
    pairs = executor.execute([ToolCall(key, "fetch", {"key": key}) for key in "abc"])
    assert [result.output for _, result in pairs] == ["a", "b", "c"]
    assert order == ["a", "b", "c", "a"]


def test_what_is_denied_is_not_answered_from_the_cache():
    denied = False

    class Policy:
        @hookimpl
        def around_tool_call(self):
            if denied:
                return Result.error("no", type="denied")
            yield

    @tool(read_only=True)
    def fetch() -> str:
        return "secret"

    executor = Executor([fetch], hooks=[Cache()], policy=Policy(), plugins=False)
    assert executor.call(ToolCall(None, "fetch")).output == "secret"
    denied = True
    assert executor.call(ToolCall(None, "fetch")).error_type == "denied"


def test_a_hook_that_breaks_beside_them_loses_no_result(run, calls, tmp_path, caplog):
    class Broken:
        def __init__(self, late):
            self.late = late

        @hookimpl
        def around_tool_call(self):
            if self.late:
                yield
            raise RuntimeError("broken")

    @tool(read_only=True)
    def fetch() -> str:
        return "here"

    for late, expected in ((True, None), (False, "unavailable")):
        budget, hooks = all_of(tmp_path / "log")
        for place in (0, len(hooks)):
            with_broken = [*hooks[:place], Broken(late), *hooks[place:]]
            [result] = run([fetch, budget.tool], calls("fetch", {}), with_broken)
            assert result.error_type == expected


def test_a_thousand_calls_through_all_of_them_need_no_threads(calls, threads, tmp_path):
    @tool
    async def talk(number: int) -> str:
        await asyncio.sleep(0.01)
        threads.look()
        return f"{number} " * 400

    budget, hooks = all_of(tmp_path / "log")
    executor = Executor([talk, budget.tool], runtime="async", hooks=hooks, plugins=False)
    wanted = calls("talk", *({"number": number} for number in range(1000)))
    pairs = asyncio.run(executor.aexecute(wanted, Context()))
    assert all(result.output.startswith(f"{number} ") for number, (_, result) in enumerate(pairs))
    assert threads.most <= 2
