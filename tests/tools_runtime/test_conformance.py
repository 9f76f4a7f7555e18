"""Runtimes of this process pass the kit, from synchronous code and from coroutines."""

from __future__ import annotations

import asyncio

import pytest

from tools_core import ToolCall
from tools_runtime import AsyncRuntime, Executor, InlineRuntime, Runtime, ThreadRuntime
from tools_testing import RuntimeConformance


class Executed(RuntimeConformance):
    runtime: object = InlineRuntime

    def dispatch(self, tool, arguments, context):
        return self.dispatch_all([(tool, arguments)], context)[0]

    def dispatch_all(self, calls, context):
        tools = {tool.name: tool for tool, _ in calls}
        with Executor(list(tools.values()), runtime=self.runtime, plugins=False) as executor:
            made = [ToolCall(None if context is None else context.call_id, tool.name, given) for tool, given in calls]
            return [result for _, result in self.run(executor, made, context)]

    def run(self, executor, calls, context):
        return executor.execute(calls, context)


class Awaited(Executed):
    def run(self, executor, calls, context):
        return asyncio.run(executor.aexecute(calls, context))


class Ours(Runtime):
    def dispatch_tool_call(self, call, tools, context):
        return tools[call.name].call(call.given, context)


RUNTIMES = {
    "Worker": InlineRuntime(worker_thread=True),
    "Thread": ThreadRuntime,
    "OneThread": ThreadRuntime(1),
    "Async": AsyncRuntime,
    "OneTask": AsyncRuntime(1),
}


class TestThread(Executed):
    runtime = ThreadRuntime


class TestThreadAwaited(Awaited):
    runtime = ThreadRuntime


class TestOneThread(Executed):
    runtime = RUNTIMES["OneThread"]


class TestOneThreadAwaited(Awaited):
    runtime = RUNTIMES["OneThread"]


class TestAsync(Executed):
    runtime = AsyncRuntime


class TestAsyncAwaited(Awaited):
    runtime = AsyncRuntime


class TestOneTask(Executed):
    runtime = RUNTIMES["OneTask"]


class TestOneTaskAwaited(Awaited):
    runtime = RUNTIMES["OneTask"]


class TestInlineWithAWorker(Executed):
    runtime = RUNTIMES["Worker"]


class TestInlineWithAWorkerAwaited(Awaited):
    runtime = RUNTIMES["Worker"]


class Cooperative:
    """Nothing leaves a synchronous tool behind here: those tests wait for a tool that waits to be left behind."""

    def test_a_deadline_that_passes_is_a_timeout_error(self):
        pytest.skip("this runtime cannot leave a synchronous tool behind")

    test_the_time_limit_of_a_tool_holds_without_a_context = test_a_deadline_that_passes_is_a_timeout_error
    test_a_tool_that_was_left_behind_is_told_to_stop = test_a_deadline_that_passes_is_a_timeout_error


class TestInline(Cooperative, Executed):
    runtime = InlineRuntime


class TestInlineAwaited(Cooperative, Awaited):
    runtime = InlineRuntime
