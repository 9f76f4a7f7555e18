"""What holds for every runtime holds for calls in processes, directly and under an executor."""

import pytest

from tools_core import ToolCall
from tools_runtime import Executor
from tools_runtime._process import ProcessRuntime
from tools_testing import RuntimeConformance


class TestProcess(RuntimeConformance):
    shares_memory = False

    @pytest.fixture(autouse=True)
    def runtime(self):
        with ProcessRuntime(2) as self.runtime:
            yield

    def dispatch(self, tool, arguments, context):
        return self.runtime.run_tool(tool, ToolCall("1", tool.name, arguments), context)


class TestExecutor(RuntimeConformance):
    shares_memory = False

    @pytest.fixture(autouse=True)
    def runtime(self):
        with ProcessRuntime(2) as self.runtime:
            yield

    def dispatch(self, tool, arguments, context):
        return self.dispatch_all([(tool, arguments)], context)[0]

    def dispatch_all(self, calls, context):
        executor = Executor({tool.name: tool for tool, _ in calls}, runtime=self.runtime, plugins=False)
        made = [
            ToolCall((context and context.call_id) or str(number), tool.name, arguments)
            for number, (tool, arguments) in enumerate(calls)
        ]
        return [result for _, result in executor.execute(made, context)]
