"""Calls on a real Ray cluster of two nodes."""

import asyncio
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from tools_core import Context, ToolCall
from tools_runtime import Executor
from tools_testing import RuntimeConformance

pytestmark = pytest.mark.slow


class TestRay(RuntimeConformance):
    shares_memory = False

    @pytest.fixture(autouse=True)
    def _runtime(self, runtime):
        self.runtime = runtime

    def dispatch(self, tool, arguments, context):
        return self.runtime.dispatch_tool_call(
            ToolCall(context and context.call_id, tool.name, arguments), {tool.name: tool}, context
        )


def runs(path):
    return Path(path).read_text().split() if Path(path).exists() else []


def test_a_call_goes_where_the_resources_are(make, cluster):
    nodes = {name: make(name).output for name in ("whoami", "elsewhere")}
    first, second = cluster.head_node.node_id, next(iter(cluster.worker_nodes)).node_id
    assert nodes == {"whoami": first, "elsewhere": second}


def test_what_no_node_offers_is_unavailable_after_the_time_to_wait(make):
    from tools_runtime._ray import RayRuntime

    using = RayRuntime(resources={"add": {"num_gpus": 3}}, queue_timeout=1.0)
    result = make("add", {"a": 1}, using=using)
    assert (result.error_type, result.metadata["queue_timeout"]) == ("unavailable", 1.0)
    assert "no node of the cluster offers 1 CPU, 3 GPU" in result.error_message


def test_a_call_that_gets_no_place_ends_as_timed_out_and_was_never_begun(runtime, tools, make, tmp_path, kit):
    from tools_runtime._ray import RayRuntime

    path, late = str(tmp_path / "pids"), str(tmp_path / "late")
    taken = [ToolCall(str(n), "sleeps", {"path": path, "seconds": 600}) for n in range(3)]  # all places there are
    context, executor = Context(), Executor([tools.sleeps], runtime=runtime, plugins=False, default_timeout=None)
    holder = threading.Thread(target=executor.execute, args=(taken, context))
    holder.start()
    kit.wait_for(lambda: len(runs(path)) == 3)
    began = time.monotonic()
    other = RayRuntime(queue_timeout=1.0)
    result = make("sleeps", {"path": late, "seconds": 0}, Context(timeout=1.0), using=other)
    assert time.monotonic() - began < 1.0 + 2.0
    assert (result.error_type, dict(result.metadata)) == ("timeout_error", {"queue_timeout": 1.0})
    assert re.search(r"waited 1(\.\d+)? s for a place .* was not begun: every node .* is taken", result.error_message)
    began = time.monotonic()
    result = make("sleeps", {"path": late, "seconds": 0}, Context(timeout=1.0), using=RayRuntime())
    assert 12.0 <= time.monotonic() - began < 12.0 + 2.0
    assert (result.error_type, dict(result.metadata)) == ("timeout_error", {"queue_timeout": 12.0})
    context.cancel()
    holder.join(30)
    assert make("add", {"a": 1}).output == 2
    assert runs(late) == []


def test_the_wait_for_a_place_is_counted_anew_when_a_call_ends(tools, tmp_path):
    from tools_runtime._ray import RayRuntime

    calls = [ToolCall(str(n), "sleeps", {"path": str(tmp_path / "pids"), "seconds": 1.0}) for n in range(12)]
    using = RayRuntime(queue_timeout=2.5)  # the last ones wait for 3 s
    pairs = Executor([tools.sleeps], runtime=using, plugins=False).execute(calls)
    assert [result.output for _, result in pairs] == ["slept"] * 12


def test_the_limit_does_not_count_the_wait_for_a_place(runtime, tools, tmp_path):
    calls = [ToolCall(str(n), "sleeps", {"path": str(tmp_path / "pids"), "seconds": 0.7}) for n in range(9)]
    pairs = Executor([tools.sleeps], runtime=runtime, plugins=False).execute(calls, Context(timeout=1.5))
    assert [result.output for _, result in pairs] == ["slept"] * 9


@pytest.mark.parametrize("name", ["holds", "swallows"])
def test_at_its_limit_a_tool_that_cannot_be_stopped_is_ended(make, name):
    result = make(name, context=Context(timeout=1.0))
    assert re.fullmatch(r"did not end within its limit of (1|0\.99\d) s and was ended", result.error_message)
    assert (result.error_type, result.metadata["killed"]) == ("timeout_error", True)
    assert result.metadata["timeout"] == pytest.approx(1.0, abs=0.1)
    assert make("add", {"a": 1}).output == 2


def test_at_its_limit_the_process_is_gone(make, tmp_path, kit):
    path = str(tmp_path / "pids")
    assert make("sleeps", {"path": path, "seconds": 600}, Context(timeout=0.5)).error_type == "timeout_error"
    kit.wait_for(lambda: not kit.is_running(int(runs(path)[0])))


def test_a_coroutine_ends_at_its_limit_by_itself(make):
    result = make("sleepy", context=Context(timeout=0.5))
    assert "was cancelled" in result.error_message


def test_a_worker_that_is_killed_is_an_error_and_its_call_is_not_made_again(make, tmp_path, kit):
    path = str(tmp_path / "pids")
    outcome = []
    caller = threading.Thread(target=lambda: outcome.append(make("sleeps", {"path": path, "seconds": 600})))
    caller.start()
    os.kill(int(kit.wait_for(lambda: runs(path))[0]), signal.SIGKILL)
    caller.join(30)
    (result,) = outcome
    assert result.error_message == "the worker process was lost before it answered; the call may have had effects"
    assert dict(result.metadata) == {"crash": "worker lost"}
    assert len(runs(path)) == 1


@pytest.mark.parametrize(("name", "times"), [("once_killed", 2), ("unsafe", 1), ("always_killed", 3)])
def test_only_what_does_no_harm_twice_is_made_again(make, tmp_path, name, times):
    path = str(tmp_path / "pids")
    result = make(name, {"path": path})
    assert len(runs(path)) == times
    assert result.metadata.get("attempts", 1) == times
    assert result.is_ok is (name == "once_killed")


@pytest.mark.parametrize("how", ["exit", "system exit", "segfault"])
def test_a_tool_that_ends_its_process_is_an_error(make, how):
    result = make("ends", {"how": how})
    assert (result.is_error, "crash" in result.metadata) == (True, True)


def test_calls_beside_one_that_dies_are_unharmed(runtime, tools):
    calls = [ToolCall(str(n), *(("ends", {"how": "exit"}) if n == 5 else ("add", {"a": n}))) for n in range(12)]
    pairs = Executor([tools.add, tools.ends], runtime=runtime, plugins=False).execute(calls)
    assert [result.output for _, result in pairs] == [None if n == 5 else n + 1 for n in range(12)]


def test_progress_arrives_while_the_call_runs(make, tmp_path):
    gate, reports = tmp_path / "gate", []

    def hear(*report):
        reports.append(report)
        gate.touch()

    context = Context(on_progress=hear, state={"traceparent": "00-ab-cd-01"})
    result = make("reports", {"gate": str(gate)}, context)
    assert (reports, result.output) == ([(1, 3, "one"), (2, 3, "two")], "00-ab-cd-01")


def test_an_item_of_the_state_that_cannot_be_sent_says_so(make):
    context = Context(state={"lock": threading.Lock(), "user": "ada"}, timeout=30)
    assert make("looks", {"key": "user"}, context).output == "ada"
    assert "'lock' could not be sent" in make("looks", {"key": "lock"}, context).error_message


def test_a_mistake_in_a_tool_is_raised_with_the_traceback_of_the_worker(make):
    with pytest.raises(NameError, match="undefined_name") as caught:
        make("bug", error_policy="strict_bugs")
    assert "ray_tools_of_tests.py" in str(caught.value.__cause__)


def test_arguments_that_are_no_json_are_refused(make):
    assert make("add", {"a": b"1"}).error_type == "validation_error"


def test_a_context_that_is_cancelled_ends_the_call(make, tmp_path, kit):
    path, context, outcome = str(tmp_path / "pids"), Context(), []

    def call():
        outcome.append(make("clings", {"path": path}, context, default_timeout=None))

    caller = threading.Thread(target=call)
    caller.start()
    pid = int(kit.wait_for(lambda: runs(path))[0])
    context.cancel()
    caller.join(30)
    assert outcome[0].error_type == "cancelled"
    kit.wait_for(lambda: not kit.is_running(pid))


def test_a_coroutine_that_is_cancelled_ends_its_call(runtime, tools, tmp_path, kit):
    path = str(tmp_path / "pids")

    async def main():
        executor = Executor([tools.clings], runtime=runtime, plugins=False, default_timeout=None)
        task = asyncio.create_task(executor.aexecute([ToolCall("1", "clings", {"path": path})]))
        while not runs(path):  # noqa: ASYNC110  (it is another process that writes)
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    kit.wait_for(lambda: not kit.is_running(int(runs(path)[0])))


def test_an_interrupt_ends_the_call(make, tmp_path, kit):
    path = str(tmp_path / "pids")

    def interrupt():
        kit.wait_for(lambda: runs(path))
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        make("sleeps", {"path": path, "seconds": 600})
    other.join()
    kit.wait_for(lambda: not kit.is_running(int(runs(path)[0])))


def test_large_results_of_many_calls_come_from_another_node(make, runtime, tools):
    executor = Executor([tools.elsewhere_large], runtime=runtime, plugins=False)
    pairs = executor.execute([ToolCall(str(n), "elsewhere_large", {"size": 300_000 + n}) for n in range(20)])
    assert [len(result.output) for _, result in pairs] == [300_000 + n for n in range(20)]


def test_many_calls_of_which_some_die_and_some_are_cancelled_each_end_by_themselves(runtime, tools):
    async def main():
        calls = [ToolCall(str(n), "add", {"a": n}) for n in range(60)]
        calls[20] = ToolCall("20", "ends", {"how": "exit"})
        executor = Executor([tools.add, tools.ends], runtime=runtime, plugins=False)
        given_up = asyncio.create_task(executor.aexecute(calls))
        kept = asyncio.create_task(executor.aexecute(calls))
        for _ in range(5):  # until they are on their way
            await asyncio.sleep(0)
        given_up.cancel()
        pairs = await kept
        assert [result.output for _, result in pairs] == [None if n == 20 else n + 1 for n in range(60)]
        with pytest.raises(asyncio.CancelledError):
            await given_up
        return (await executor.acall(ToolCall("61", "add", {"a": 1}))).output

    errors = []

    async def watched():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        return await main()

    assert (asyncio.run(watched()), errors) == (2, [])


def test_an_answer_that_comes_when_its_loop_is_closed_is_for_nobody(runtime, tools, make, tmp_path, kit, caplog):
    path = str(tmp_path / "pids")

    async def main():
        executor = Executor([tools.sleeps], runtime=runtime, plugins=False)
        task = asyncio.create_task(executor.aexecute([ToolCall("1", "sleeps", {"path": path, "seconds": 600})]))
        while not runs(path):  # noqa: ASYNC110  (it is another process that writes)
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())  # the worker is killed; Ray tells so when the loop is closed, or about to be
    kit.wait_for(lambda: not kit.is_running(int(runs(path)[0])))
    assert make("add", {"a": 1}).output == 2
    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []


def test_descriptors_and_threads_stay_the_same_over_many_calls(runtime, tools):
    executor = Executor([tools.add], runtime=runtime, plugins=False)

    def calls():
        pairs = executor.execute([ToolCall(str(n), "add", {"a": n}) for n in range(250)])
        assert [result.output for _, result in pairs] == list(range(1, 251))
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    calls()
    before, after = calls(), calls()
    assert after[0] <= before[0] + 5
    assert after[1] <= before[1] + 2


def test_the_loss_of_a_node_is_an_error_and_what_is_safe_is_made_again(cluster, tools, runtime, tmp_path, kit):
    import ray

    from tools_runtime._ray import RayRuntime

    lost = cluster.add_node(num_cpus=2, object_store_memory=80 * 1024 * 1024, resources={"third": 4})
    kit.wait_for(lambda: ray.cluster_resources().get("third"))
    everywhere = cluster.add_node(num_cpus=1, object_store_memory=80 * 1024 * 1024, resources={"spare": 1})
    using = RayRuntime(resources={"*": {"num_cpus": 0.5, "resources": {"third": 1}}})
    paths = {name: str(tmp_path / name) for name in ("patient", "patient_unsafe")}
    outcome = {}

    def call(name):
        executor = Executor([getattr(tools, name)], runtime=using, plugins=False, default_timeout=90)
        outcome[name] = executor.call(ToolCall("1", name, {"path": paths[name]}))

    callers = [threading.Thread(target=call, args=(name,)) for name in paths]
    for caller in callers:
        caller.start()
    kit.wait_for(lambda: all(runs(path) for path in paths.values()))
    other = cluster.add_node(num_cpus=2, object_store_memory=80 * 1024 * 1024, resources={"third": 4})
    cluster.remove_node(lost, allow_graceful=False)
    for caller in callers:
        caller.join(60)
    assert outcome["patient"].output == other.node_id
    assert outcome["patient"].metadata["attempts"] == 2
    assert "lost before it answered" in outcome["patient_unsafe"].error_message
    assert [len(runs(path)) for path in paths.values()] == [2, 1]
    for node in (other, everywhere):
        cluster.remove_node(node, allow_graceful=False)
