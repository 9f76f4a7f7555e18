from __future__ import annotations

import importlib
import json

from tools_core import Context, Result, tool
from tools_runtime import Executor, ProcessRuntime
from tools_runtime.plugins import AuditLog, Cache, LoopDetector, OutputBudget, RateLimit, Retry


def all_of(path):
    budget = OutputBudget(1000)
    rate = RateLimit({"*": "100000/s"}, max_concurrency={"*": 500})
    return budget, [AuditLog(path), budget, LoopDetector(), Cache(), Retry(first=0.001), rate]


def test_all_of_them_together_in_every_way_of_running(run, calls, tmp_path):
    count = iter(range(100))

    @tool(read_only=True)
    def fetch(key: str) -> str:
        return Result.error("busy", type="unavailable") if next(count) == 0 else key * 500

    (_budget, hooks), context = all_of(tmp_path / "log"), Context()
    first, second = (run([fetch], calls("fetch", {"key": "abcd"}), hooks, context)[0] for _ in range(2))
    assert first.metadata["attempts"] == 2 and first.metadata["cut"]["of"] == 2000
    assert second.metadata["cached"] and second.metadata["cut"]["handle"] != first.metadata["cut"]["handle"]
    assert next(count) == 2
    logged = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["event"], line["attempt"]) for line in logged] == [
        ("start", 0), ("retry", 2), ("end", 2), ("start", 0), ("end", 0),
    ]  # fmt: skip


CRASHING = """
import os, signal
from tools_core import tool

@tool(idempotent=True)
def fetch(path: str) -> str:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "here"
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_idempotent_call_is_retried_after_a_crash(tmp_path, monkeypatch):
    (tmp_path / "crashing.py").write_text(CRASHING)
    monkeypatch.syspath_prepend(str(tmp_path))
    fetch = importlib.import_module("crashing").fetch
    _budget, hooks = all_of(tmp_path / "log")
    with ProcessRuntime(1) as runtime:
        executor = Executor([fetch], runtime=runtime, hooks=hooks, default_timeout=60, plugins=False)
        result = executor.call_tool("fetch", {"path": str(tmp_path / "once")})
    assert (result.output, result.metadata) == ("here", {"attempts": 2})
