"""What the tests of the executor share."""

from __future__ import annotations

import asyncio
import threading
from time import monotonic

import pytest

from tools_core import ToolCall


def _until(condition, seconds=20.0):
    """Wait until something is true, but not for ever."""
    end = monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert monotonic() < end, "it did not come to pass"
        pause.wait(0.002)


def _drain(executor, calls, context, driver):
    """Make calls in one of the four ways; the pairs, in the order in which they came."""

    async def iterated():
        return [pair async for pair in executor.aiterate(calls, context)]

    if driver == "execute":
        return executor.execute(calls, context)
    if driver == "iterate":
        return list(executor.iterate(calls, context))
    return asyncio.run(executor.aexecute(calls, context) if driver == "aexecute" else iterated())


@pytest.fixture
def until():
    return _until


@pytest.fixture
def drain():
    return _drain


@pytest.fixture(params=["execute", "iterate", "aexecute", "aiterate"])
def run(request):
    """`run(executor, calls, context)`, by each driver."""
    return lambda executor, calls, context=None: _drain(executor, calls, context, request.param)


@pytest.fixture
def calls():
    """`calls("a", "b")`: a call of each tool, with ids c0, c1, ..."""
    return lambda *names: [ToolCall(f"c{number}", name, {}) for number, name in enumerate(names)]


@pytest.fixture(autouse=True)
def runtime_stays_inline():
    """The default runtime is a setting of the process."""
    from tools_runtime import InlineRuntime, set_default_runtime

    yield
    set_default_runtime(InlineRuntime)
