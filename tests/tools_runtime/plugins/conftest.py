"""Fixtures for the tests of the plugins."""

from __future__ import annotations

import asyncio

import pytest

from tools_core import Context, ToolCall
from tools_runtime import Executor


@pytest.fixture(params=["inline", "thread", "async"])
def run(request):
    """`run(tools, calls, hooks)`: the results, in each of the runtimes; "async" from a coroutine."""

    def run(tools, calls, hooks, context=None):
        executor = Executor(tools, runtime=request.param, hooks=hooks, plugins=False)
        if request.param == "async":
            return [result for _, result in asyncio.run(executor.aexecute(calls, context))]
        return [result for _, result in executor.execute(calls, context)]

    return run


@pytest.fixture
def call():
    """`call(tool, hooks, context, **arguments)`: the result of one call."""

    def call(tool, hooks, context=None, **arguments):
        return Executor([tool], hooks=hooks, plugins=False).call(ToolCall(None, tool.name, arguments), context=context)

    return call


@pytest.fixture
def calls():
    """Calls of a tool, numbered, each with its arguments."""

    def calls(name, *arguments):
        return [ToolCall(f"call-{number}", name, values) for number, values in enumerate(arguments)]

    return calls


@pytest.fixture
def by_user():
    """The key that shares by user, and a context of a user."""

    def key(context):
        return context.state["user"]

    return key, lambda user: Context(state={"user": user})
