"""Every plugin is run in every way of running calls."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tools_core import ToolCall
from tools_runtime import Executor

WAYS = [(runtime, way) for runtime in ("inline", "thread", "async") for way in ("execute", "aexecute")]


@pytest.fixture(params=WAYS, ids=["-".join(way) for way in WAYS])
def run(request):
    """Makes calls and returns their results, in one of the ways."""
    runtime, way = request.param

    def run(tools, calls, hooks, context=None, **options):
        executor = Executor(tools, runtime=runtime, hooks=hooks, plugins=False, **options)
        if way == "execute":
            return [result for _, result in executor.execute(calls, context)]
        return [result for _, result in asyncio.run(executor.aexecute(calls, context))]

    run.runtime = runtime
    return run


@pytest.fixture
def calls():
    """Calls of a tool, numbered, each with its arguments."""

    def calls(name, *arguments):
        return [ToolCall(f"call-{number}", name, given) for number, given in enumerate(arguments)]

    return calls


@pytest.fixture
def threads():
    """The most threads that there were beyond those at the beginning, as far as somebody looked."""

    class Threads:
        def __init__(self):
            self._before = threading.active_count()
            self.most = 0

        def look(self):
            self.most = max(self.most, threading.active_count() - self._before)

    return Threads()


@pytest.fixture
def until():
    """Waits in an event loop for something to become true, in whatever thread, but not for ever."""

    async def until(is_true):
        async with asyncio.timeout(20):
            while not is_true():  # noqa: ASYNC110  (no event of this loop tells)
                await asyncio.sleep(0.001)

    return until
