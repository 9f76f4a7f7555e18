"""`RuntimeConformance`: a sound runtime passes every test, and a broken one fails those about its defect."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_runtime import AsyncRuntime, Executor, InlineRuntime, Runtime, ThreadRuntime
from tools_testing import RuntimeConformance

SUITE = """
from tools_core import Context, Result
from tools_runtime import Executor, Runtime
from tools_testing import RuntimeConformance

class Broken(Runtime):
    def dispatch_tool_call(self, call, tools, context):
        {body}

class TestBroken(RuntimeConformance):
    stops_functions = stops_coroutines = False

    def executor(self, tools, hooks):
        return Executor(tools, runtime=Broken(), hooks=hooks, plugins=False)
"""


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


def test_the_kit_itself_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        RuntimeConformance()


BROKEN = {
    "ignores the context": (
        "return tools[call.name].call(call.raw_arguments)",
        {"test_the_tool_receives_the_context", "test_progress_reaches_the_caller"},
    ),
    "skips validation": (
        "return Result.ok(tools[call.name].execute(**call.arguments))",
        {"test_invalid_arguments_are_a_validation_error", "test_a_coroutine_is_awaited"},
    ),
    "forgets halts": (
        "return Result.ok(tools[call.name].call(call.raw_arguments, context).output)",
        {"test_a_halt_becomes_a_result_that_ends_the_conversation", "test_an_exception_becomes_an_error_with_its_name"},
    ),
}


@pytest.mark.parametrize(
    ("body", "tests"),
    [
        pytest.param(*case, id=name, marks=pytest.mark.slow if rank else ())
        for rank, (name, case) in enumerate(BROKEN.items())
    ],
)
def test_a_broken_runtime_fails_the_tests_about_its_defect(run_pytest, body, tests):
    process = run_pytest("-rf", "-k", " or ".join(tests), test_it=SUITE.replace("{body}", body))
    assert set(re.findall(r"^FAILED \S+::(\w+)\[", process.stdout, re.MULTILINE)) == tests


@pytest.mark.slow
def test_a_failed_test_shows_the_values_that_it_compared(run_pytest):
    process = run_pytest("-k", "order_of_the_calls", test_it=SUITE.replace("{body}", "return Result.ok('same')"))
    assert "At index 0 diff: 'same' != 1" in process.stdout
