"""Process workers under an executor, which watches limits and callers."""

import pytest
from runtime_conformance import RuntimeConformance

from tools_core import Context, ToolCall
from tools_runtime import Executor, ProcessRuntime


@pytest.fixture
def executor(tools, make):
    with Executor(
        [tools.echo, tools.spin, tools.segfault, tools.whoami], runtime=make(2), plugins=False, default_timeout=None
    ) as new_executor:
        yield new_executor


@pytest.mark.slow
def test_a_call_is_killed_at_its_limit(executor, processes, tmp_path):
    note = tmp_path / "note"
    executor.call_tool("echo", {"value": 1})
    result = executor.call_tool("spin", {"note": str(note)}, Context(timeout=2))
    assert result.error_type == "timeout_error"
    assert "killed" in result.error
    assert not processes.is_alive(int(note.read_text()))


def test_an_executor_starts_no_more_workers_than_the_runtime_has(executor):
    calls = [ToolCall(str(number), "whoami") for number in range(20)]
    assert len({result.output["pid"] for _, result in executor.execute(calls)}) <= 2


class TestConformance(RuntimeConformance):
    is_local = False

    @classmethod
    def setup_class(cls):
        cls.runtime = ProcessRuntime(2)

    @classmethod
    def teardown_class(cls):
        cls.runtime.close()

    def executor(self, tools, hooks):
        return Executor(tools, runtime=self.runtime, hooks=hooks, plugins=False, default_timeout=None)
