"""Calls on a cluster of two nodes. The last tests take nodes away: their order counts."""

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from runtime_conformance import RuntimeConformance

from tools_core import Context, tool
from tools_runtime import Executor, hookimpl

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")]
DEADLOCK = 120.0  # seconds


def pids_in(path):
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def eventually(claim):
    until = time.monotonic() + DEADLOCK
    while not claim():
        assert time.monotonic() < until
        threading.Event().wait(0.02)
    return True


@contextmanager
def once_noted(path, action):
    """Do something as soon as a tool has noted its process."""

    def run():
        eventually(lambda: pids_in(path))
        action()

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()


class TestConformance(RuntimeConformance):
    is_local = False

    @pytest.fixture(autouse=True)
    def on_cluster(self, runtime):
        self.runtime = runtime

    def executor(self, tools, hooks):
        return Executor(tools, runtime=self.runtime, hooks=hooks, plugins=False, default_timeout=60)


def run_python(text):
    program = [sys.executable, "-W", "error", "-c", text]
    return subprocess.run(program, capture_output=True, text=True, check=True, timeout=DEADLOCK).stdout.strip()


def test_the_runtime_name_ray_loads_ray_with_the_first_call(cluster):
    text = 'import sys; from tools_runtime import Executor; e = Executor(runtime="ray"); print("ray" in sys.modules, '
    assert run_python(f'{text}type(e.runtime_of("x")).__name__)') == "False RayRuntime"


@pytest.mark.parametrize("address", [None, "127.0.0.1:9"])
def test_a_call_without_a_cluster_is_unavailable(cluster, monkeypatch, address):
    monkeypatch.delenv("RAY_ADDRESS")
    text = (
        "from tools_ray import RayRuntime; from tools_runtime import Executor; from tools_of_ray_tests import node\n"
        f"print(Executor([node], runtime=RayRuntime({address!r})).call_tool('node', {{}}).error_type)"
    )
    assert run_python(text) == "unavailable"


def test_an_address_of_the_ray_client_is_refused(cluster):
    from tools_ray import RayRuntime

    with pytest.raises(ValueError, match="host:port"):
        RayRuntime("ray://localhost:10001")


def test_a_tool_keeps_the_schema_that_it_was_given(call):
    assert call("capped", {"number": 100}).output == 200
    assert call("capped", {"number": 101}).error_type == "validation_error"


def test_a_tool_of_the_program_itself_travels_by_value(cluster):
    text = """
from tools_core import tool
from tools_runtime import Executor

def again(number: int) -> int:
    return 2 * number

@tool(name="twice")
def double(number: int) -> int:
    "Double a number."
    return again(number)

print(Executor([double], runtime="ray", default_timeout=60).call_tool("twice", {"number": 4}).output)
"""
    assert run_python(text) == "8"


def test_a_tool_of_a_function_travels_by_value(call):
    factor = 3

    @tool(read_only=True)
    def triple(number: int) -> int:
        """Triple a number."""
        return factor * number

    assert call(triple, {"number": 2}).output == 6
    assert call(triple, {"number": "two"}).error_type == "validation_error"


def test_a_tool_that_differs_on_the_node_is_refused(call, tools):
    result = call(tools.Varies())
    assert result.error_type == "unavailable"
    assert "install the same version" in result.error


def test_a_tool_that_cannot_be_pickled_is_refused(call, tools):
    result = call(tools.Locked())
    assert result.error_type == "unavailable"
    assert "cannot be sent to the cluster" in result.error


def test_a_tool_gets_the_context(call, tmp_path):
    state = {"user": "ada", "lock": threading.Lock()}
    context = Context(workspace=tmp_path, run_id="run_1", state=state, timeout=50)
    output = call("surroundings", context=context).output
    assert "cannot be sent to another process" in output.pop("problem")
    assert output == {"workspace": str(tmp_path), "run": "run_1", "has_time": True, "user": "ada"}


def test_an_exception_has_the_traceback_of_the_worker(call):
    error = call("fails").exception
    assert isinstance(error, LookupError)
    assert "in fails" in str(error.__cause__)


def test_an_output_that_cannot_be_pickled_is_an_error(call):
    assert "Return plain data" in call("returns_lock").error


def test_a_stateful_tool_runs_in_this_process(call):
    assert call("process").output == os.getpid()


def test_a_lost_worker_is_a_crash_without_a_retry(call, tmp_path):
    result = call("dies", {"path": str(tmp_path / "pid")})
    assert (result.error_type, result.metadata["crash"]) == ("execution_error", "worker lost")
    assert len(pids_in(tmp_path / "pid")) == 1
    assert call("exits").metadata["crash"] == "exit 3"


class Again:
    @hookimpl
    def around_tool_call(self, call, tool, context):
        result = yield
        return (yield) if "crash" in result.metadata else result


def test_a_hook_can_make_a_call_again_on_another_worker(call, tmp_path):
    assert call("dies_once", {"path": str(tmp_path / "pid")}, hooks=[Again()]).output == "done"
    assert len(set(pids_in(tmp_path / "pid"))) == 2


def test_a_worker_is_killed_when_the_caller_cancels(call, tmp_path):
    path, context = tmp_path / "pid", Context()
    with once_noted(path, context.cancel):
        result = call("sleeps", {"path": str(path)}, context)
    assert result.error_type == "cancelled"
    assert eventually(lambda: not is_alive(*pids_in(path)))


def test_a_worker_is_killed_at_the_limit_of_its_call(call, tmp_path):
    path = tmp_path / "pid"
    result = call("sleeps", {"path": str(path)}, Context(timeout=5))
    assert result.error_type == "timeout_error"
    assert "was killed" in result.error
    assert eventually(lambda: not any(map(is_alive, pids_in(path))))


def test_a_call_that_no_node_has_room_for_ends_at_its_limit(call, cluster):
    from tools_ray import RayRuntime

    assert call("node", using=RayRuntime(resources={"third": 1}), default_timeout=1).error_type == "timeout_error"


def test_closing_the_runtime_ends_its_calls(call, tmp_path):
    from tools_ray import RayRuntime

    path, runtime = tmp_path / "pid", RayRuntime()
    with once_noted(path, runtime.close):
        assert call("sleeps", {"path": str(path)}, using=runtime).error_type == "interrupted"
    assert eventually(lambda: not is_alive(*pids_in(path)))
    assert call("node").ok  # of the other runtime


def test_the_loss_of_a_node_is_a_crash(call, cluster, tmp_path):
    from tools_ray import RayRuntime

    path, there = tmp_path / "pid", RayRuntime(resources={"second": 1})
    assert call("node", using=there).output != call("node", using=RayRuntime(resources={"first": 1})).output
    with once_noted(path, lambda: cluster.remove_node(cluster.second, allow_graceful=False)):
        result = call("sleeps", {"path": str(path)}, using=there)
    assert result.metadata["crash"] in ("node lost", "worker lost")
    assert call("node").ok


def test_the_loss_of_the_head_ends_calls_and_the_connection(call, cluster, tmp_path):
    import ray

    path = tmp_path / "pid"
    with once_noted(path, cluster.head_node.kill_gcs_server):
        result = call("sleeps", {"path": str(path)})
    assert (result.error_type, result.metadata["crash"]) == ("unavailable", "head lost")
    assert call("node").error_type == "unavailable"
    assert eventually(lambda: not ray.is_initialized())
