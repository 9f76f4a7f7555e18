"""Toolsets in other processes."""

from __future__ import annotations

import importlib

import pytest

from tools_core import ToolCall
from tools_runtime import Executor, ProcessRuntime

DESK = """
import os
from tools_core import Toolset


class Desk(Toolset):
    def __init__(self) -> None:
        self.opened = []

    def setup(self) -> None:
        self.opened.append(os.getpid())

    def work(self) -> list[int]:
        "Tell where it was set up, and where it works."
        return [*self.opened, os.getpid()]


class AsyncDesk(Desk):
    async def setup(self) -> None:
        self.opened.append(os.getpid())
"""


@pytest.mark.parametrize("kind", ["Desk", "AsyncDesk"])
def test_a_toolset_that_was_set_up_here_is_set_up_in_a_worker_too(tmp_path, monkeypatch, kind):
    (tmp_path / f"desk_of_{kind}.py").write_text(DESK)
    monkeypatch.syspath_prepend(str(tmp_path))
    toolset = getattr(importlib.import_module(f"desk_of_{kind}"), kind)()
    (tool,) = toolset.tools
    call = ToolCall("1", tool.name)
    here = Executor([tool], plugins=False).call(call).output
    with ProcessRuntime(1) as runtime, Executor([tool], runtime=runtime, plugins=False) as executor:
        first, second = (executor.call(call).output for _ in range(2))
    toolset.close()
    assert here == [here[-1]] * 2
    assert first == second == [here[-1], first[-1], first[-1]]
    assert first[-1] != here[-1]
