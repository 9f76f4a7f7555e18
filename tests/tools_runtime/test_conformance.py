"""The runtimes of this package, and two of users, behave alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from runtime_conformance import RuntimeConformance

from tools_runtime import AsyncRuntime, Executor, InlineRuntime, Runtime, ThreadRuntime


class TestThreads(RuntimeConformance):
    def executor(self, tools, hooks):
        return Executor(tools, runtime=ThreadRuntime(), hooks=hooks, plugins=False)


class TestCoroutines(RuntimeConformance):
    def executor(self, tools, hooks):
        return Executor(tools, runtime=AsyncRuntime(), hooks=hooks, plugins=False)


class TestInline(RuntimeConformance):
    stops_functions = False

    def executor(self, tools, hooks):
        return Executor(tools, runtime=InlineRuntime(), hooks=hooks, plugins=False)


class Forwarding(Runtime):
    async def dispatch_tool_call(self, call, tools, context):
        if call.name not in tools:
            return super().dispatch_tool_call(call, tools, context)
        return await tools[call.name].acall(call.raw_arguments, context)


class TestDispatch(RuntimeConformance):
    stops_functions = False

    def executor(self, tools, hooks):
        return Executor(tools, runtime=Forwarding(), hooks=hooks, plugins=False)


class Pooled(Runtime):
    max_concurrency = None

    def __init__(self):
        self.pool = ThreadPoolExecutor(4)

    def begin(self, tool, call, context):
        return self.pool.submit(tool.call, call.raw_arguments, context)


class TestBegin(RuntimeConformance):
    def executor(self, tools, hooks):
        return Executor(tools, runtime=Pooled(), hooks=hooks, plugins=False)
