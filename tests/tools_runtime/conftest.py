"""Fixtures of the tests of the executor."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tools_core import ToolCall
from tools_runtime import AutoRuntime, Executor, hookimpl, set_default_runtime


def _drain(executor, calls, context, driver):
    async def iterated():
        return [pair async for pair in executor.aiterate(calls, context)]

    if driver == "execute":
        return executor.execute(calls, context)
    return asyncio.run(iterated())


@pytest.fixture(params=["execute", "aiterate"])
def run(request):
    """`run(executor, calls, context)`, from synchronous code and from a coroutine."""
    return lambda executor, calls, context=None: _drain(executor, calls, context, request.param)


@pytest.fixture
def calls():
    """`calls("a", "b")`: a call of each tool, with ids c0, c1, ..."""
    return lambda *names: [ToolCall(f"c{number}", name, {}) for number, name in enumerate(names)]


@pytest.fixture
def make():
    """`make([tool], hooks=...)`: an executor without installed plugins."""
    return lambda tools, **options: Executor(tools, plugins=False, **{"default_timeout": 60.0, **options})


class Recorder:
    """Collects the events of calls."""

    def __init__(self):
        self.events = []
        self._changed = threading.Condition()

    @hookimpl
    def on_event(self, event):
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    @property
    def kinds(self):
        return [event.kind for event in self.events]

    def wait_for(self, kind, count=1):
        with self._changed:
            assert self._changed.wait_for(lambda: self.kinds.count(kind) >= count, 20), self.kinds


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(autouse=True)
def default_runtime_stays():
    """The default runtime is a setting of the process."""
    yield
    set_default_runtime(AutoRuntime)
