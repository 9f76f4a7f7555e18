"""Workers begin when they are needed, and end when they are not: nothing is left of a runtime."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_core import Context, ToolCall
from tools_runtime import Executor
from tools_runtime._process import ProcessRuntime

HEAD = """
import os, signal, sys, threading, time
sys.path.insert(0, {workshop!r})
import hostile_tools as tools
from tools_core import Context, ToolCall, tool
from tools_runtime._process import ProcessRuntime

def run(runtime, tool, **arguments):
    return runtime.run_tool(tool, ToolCall("c", tool.name, arguments), Context(timeout=30))
"""


@pytest.fixture
def host(tools, tmp_path, processes):
    """Starts a program that has runtimes."""
    started = []

    def start(text, *options):
        path = tmp_path / "host.py"
        path.write_text(HEAD.format(workshop=os.path.dirname(tools.__file__)) + text)
        started.append(
            subprocess.Popen(
                [sys.executable, *(options or (path,))],
                stdout=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
                env={**os.environ, **processes.environment},
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_nothing_runs_before_the_first_call_and_after_the_end(tools, make, run, processes):
    runtime = make(2)
    assert processes.all() == []
    assert run(tools.echo, {"value": 1}, on=runtime).output == 1
    assert len(processes.all()) == 2
    runtime.close()
    assert processes.all() == []
    assert run(tools.echo, {"value": 2}, on=runtime).output == 2


def test_no_descriptor_or_thread_is_left(tools, make, run):
    descriptors, threads = sorted(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(3):
        runtime = make(2)
        for tool, arguments in ((tools.echo, {"value": 1}), (tools.segfault, {}), (tools.spin, {})):
            run(tool, arguments, on=runtime, timeout=0.3)
        runtime.close()
    assert sorted(os.listdir("/proc/self/fd")) == descriptors
    assert threading.active_count() <= threads  # an idle one that other tests left may have ended


def test_a_runtime_that_nobody_has_any_more_ends(tools, processes):
    runtime = ProcessRuntime(1, environment=processes.environment)
    runtime.run_tool(tools.echo, ToolCall("1", "echo", {"value": 1}), None)
    del runtime
    assert processes.eventually(lambda: not processes.all())


def test_a_call_that_goes_on_when_the_runtime_is_closed_is_interrupted(tools, make, processes, tmp_path):
    runtime, note = make(1), tmp_path / "note"
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(runtime.run_tool, tools.unmoved, ToolCall("1", "unmoved", {"note": str(note)}), None)
        assert processes.eventually(note.exists)
        runtime.close()
        assert call.result(5).error_type == "interrupted"


def test_a_worker_is_a_session_of_its_own_with_nothing_of_the_hosts(tools, run):
    found = run(tools.whoami).output
    assert found["session"] == found["pid"] != os.getpid()
    assert len(found["descriptors"]) == 4
    assert run(tools.streams).output == {"stdin": "", "stdout_is_stderr": True}
    assert run(tools.child_process).output == "hello\n"


def test_a_worker_is_replaced_after_its_calls(tools, make, run):
    runtime = make(1, max_calls=3)
    pids = [run(tools.whoami, on=runtime).output["pid"] for _ in range(9)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 3]


def test_a_worker_that_has_grown_is_replaced(tools, make, run):
    runtime = make(1, max_rss=200 << 20)
    first = run(tools.grow, {"size": 1 << 20}, on=runtime).output
    assert run(tools.grow, {"size": 300 << 20}, on=runtime).output == first
    assert run(tools.grow, {"size": 1 << 20}, on=runtime).output != first


def test_a_worker_that_has_nothing_to_do_ends(tools, make, run, processes):
    runtime = make(1, idle=0.2)
    worker = run(tools.whoami, on=runtime).output["pid"]
    assert processes.eventually(lambda: not processes.is_alive(worker))
    assert run(tools.echo, {"value": 1}, on=runtime).output == 1


def test_modules_are_there_before_they_are_asked_for(tools, make, run):
    assert run(tools.imported, {"name": "wave"}, on=make(1)).output is False
    assert run(tools.imported, {"name": "wave"}, on=make(1, preload=["wave"])).output is True
    result = run(tools.echo, {"value": 1}, on=make(1, preload=["no_such_module"]))
    assert (result.error_type, "no_such_module" in result.error_message) == ("unavailable", True)
    with pytest.raises(TypeError, match=r"preload=\['wave'\]"):
        ProcessRuntime(preload="wave")


def test_workers_get_variables_of_their_own(tools, make, run):
    assert run(tools.environment, {"name": "SPECIAL"}, on=make(1, environment={"SPECIAL": "yes"})).output == "yes"


@pytest.mark.parametrize("option", ["memory", "cpu", "max_calls", "max_rss", "idle"])
def test_an_option_out_of_range_is_refused(option):
    with pytest.raises(ValueError, match=f"{option} must be above 0"):
        ProcessRuntime(**{option: 0})


def test_a_system_that_cannot_fork_is_refused(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(OSError, match="ThreadRuntime"):
        ProcessRuntime()


def test_many_threads_share_the_workers(tools, make, processes):
    runtime = make(3)
    with ThreadPoolExecutor(16) as pool:
        results = pool.map(
            lambda number: runtime.run_tool(tools.echo, ToolCall("c", "echo", {"value": number}), None).output,
            range(2000),
        )
        assert list(results) == list(range(2000))
    assert len(processes.all()) <= 4


@pytest.mark.slow
def test_two_thousand_mixed_calls_leave_everything_as_it_was(tools, make, processes, tmp_path):
    runtime = make(3, max_calls=100)
    numbers = random.Random(1)
    kinds = [
        (tools.echo, lambda: {"value": numbers.random()}, 20), (tools.bug, lambda: {"name": "LookupError"}, 20),
        (tools.segfault, dict, 20), (tools.exit_now, lambda: {"status": 1}, 20), (tools.spin, dict, 0.05),
        (tools.until_told, dict, 0.05), (tools.come_back_twice, dict, 20),
        (tools.enormous, lambda: {"size": 100_000}, 20),
    ]  # fmt: skip

    def call(number):
        tool, arguments, limit = numbers.choices(kinds, [60, 10, 1, 1, 1, 1, 5, 10])[0]
        return runtime.run_tool(tool, ToolCall(str(number), tool.name, arguments()), Context(timeout=limit))

    def held():
        return len(os.listdir("/proc/self/fd")), threading.active_count(), len(processes.children())

    call(0)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(call, range(200)))
        before = held()
        assert len(list(pool.map(call, range(1800)))) == 1800
        descriptors, threads, children = held()
    assert threads <= max(before[1], 6 + 2)  # others of this process may have ended meanwhile
    assert children <= before[2]
    assert descriptors <= before[0] + 6  # two for each worker that is asked for ahead of need
    assert processes.eventually(lambda: len(processes.all()) <= 4)


def test_the_death_of_the_host_ends_everything(host, processes, tmp_path):
    process = host(
        f"""
if __name__ == "__main__":
    runtime = ProcessRuntime(3)
    threading.Thread(target=run, args=(runtime, tools.spin), daemon=True).start()
    print(run(runtime, tools.escape, note={str(tmp_path / "pid")!r}, then=0).output, flush=True)
    time.sleep(600)
"""
    )
    assert process.stdout.readline() == "left\n"
    assert len(processes.all()) >= 4
    process.kill()
    assert processes.eventually(lambda: not processes.all())


def test_the_end_of_the_host_ends_everything_without_close(host, processes):
    process = host('if __name__ == "__main__":\n    print(run(ProcessRuntime(), tools.echo, value=1).output)\n')
    assert process.communicate(timeout=30)[0] == "1\n"
    assert processes.all() == []


def test_a_host_that_is_warned_of_everything_is_warned_of_nothing_here(host, capfd):
    text = 'if __name__ == "__main__":\n    print(run(ProcessRuntime(), tools.echo, value=1).content)\n'
    assert host(text, "-X", "dev", "host.py").communicate(timeout=30)[0] == "1\n"
    assert capfd.readouterr().err == ""


MAIN = """
@tool
def local(number: int) -> str:
    \"\"\"Defined in the program.\"\"\"
    return f"{number} in {__name__}"

if __name__ == "__main__":
    print(run(ProcessRuntime(), local, number=1).content)
"""


@pytest.mark.parametrize("options", [(), ("-m", "host")], ids=["path", "module"])
def test_tools_of_the_program_itself_work(options, host):
    assert host(MAIN, *options).communicate(timeout=30)[0] == "1 in __mp_main__\n"


def test_tools_of_a_program_that_has_run_to_its_end_work_for_its_threads(host):
    text = MAIN.replace(
        "print(run(ProcessRuntime(), local, number=1).content)",
        "runtime, end = ProcessRuntime(), threading.main_thread().join\n"
        "    threading.Thread(target=lambda: print(end() or run(runtime, local, number=1).content)).start()",
    )
    assert host(text).communicate(timeout=30)[0] == "1 in __mp_main__\n"


def test_a_program_without_a_guard_is_told(host):
    text = MAIN.replace('if __name__ == "__main__":\n    ', "")
    out = host(text).communicate(timeout=60)[0]
    assert "1 in __mp_main__" in out


def test_a_program_that_ends_when_it_is_read_is_told(host):
    text = MAIN.replace('if __name__ == "__main__":', "def main():") + "    return 5\n\nsys.exit(main())\n"
    out = host(text).communicate(timeout=60)[0]
    assert "a worker process cannot load the tool: SystemExit: 5" in out


def test_a_tool_of_the_program_calls_another_one_in_a_process_of_its_own(host):
    text = MAIN.replace(
        "if __name__",
        "@tool\ndef outer() -> str:\n"
        '    """Call the other."""\n'
        "    with ProcessRuntime(1) as runtime:\n        return run(runtime, local, number=1).content\n\nif __name__",
    ).replace("local, number=1).content)", "outer).content)")
    assert host(text).communicate(timeout=60)[0] == "1 in __mp_main__\n"


@pytest.mark.parametrize("options", [("-c",), ()], ids=["command", "stdin"])
def test_a_tool_of_what_was_typed_in_is_refused(options, processes):
    text = HEAD.format(workshop=".").replace("import hostile_tools as tools", "") + MAIN
    done = subprocess.run(
        [sys.executable, *options, *([text] if options else ["-"])],
        input=text, capture_output=True, text=True, timeout=30, env={**os.environ, **processes.environment}, check=True,
    )  # fmt: skip
    assert "a program that is no file" in done.stdout


def test_a_fork_of_the_host_has_workers_of_its_own_and_leaves_the_parents_alone(host, processes):
    process = host(
        """
if __name__ == "__main__":
    runtime = ProcessRuntime(1)
    first = run(runtime, tools.whoami).output["pid"]
    child = os.fork()
    if child == 0:
        assert run(runtime, tools.whoami).output["pid"] != first
        runtime.close()
        os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), run(runtime, tools.whoami).output["pid"] == first)
"""
    )
    assert process.communicate(timeout=30)[0] == "5 True\n"


def test_a_fork_of_the_host_keeps_no_worker_alive(host, processes):
    process = host(
        """
if __name__ == "__main__":
    runtime = ProcessRuntime(1)
    run(runtime, tools.echo, value=1)
    child = os.fork()
    if child == 0:
        time.sleep(600)
    print(child, run(runtime, tools.whoami).output["pid"], flush=True)
    time.sleep(600)
"""
    )
    child, worker = map(int, process.stdout.readline().split())
    process.kill()
    assert processes.eventually(lambda: not processes.is_alive(worker))
    assert processes.is_alive(child)
    os.kill(child, signal.SIGKILL)


def test_an_interrupt_kills_the_worker_and_is_raised(host, processes, tmp_path):
    note = tmp_path / "note"
    process = host(
        f"""
if __name__ == "__main__":
    runtime = ProcessRuntime(1)
    try:
        run(runtime, tools.unmoved, note={str(note)!r})
    except KeyboardInterrupt:
        print("interrupted", run(runtime, tools.echo, value=1).output, flush=True)
    runtime.close()
"""
    )
    assert processes.eventually(note.exists)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted 1\n"
    assert time.monotonic() - began < 10


def test_a_call_that_was_interrupted_is_not_made_again(tools, make, tmp_path):
    note = tmp_path / "note"
    call = ToolCall("1", "interrupt", {"host": os.getpid(), "note": str(note)})
    executor = Executor([tools.interrupt], runtime=make(2), plugins=False)
    with pytest.raises(KeyboardInterrupt):
        executor.call(call)
    assert executor.call(call).error_type == "cancelled"
    assert note.read_text() == "made\n"


@pytest.mark.parametrize("at_once", [False, True])
def test_a_call_that_was_given_up_before_it_began_is_made_when_it_is_asked_for_again(
    tools, make, processes, tmp_path, at_once
):
    runtime, note, context = make(1), tmp_path / "note", Context()
    executor = Executor([tools.echo], runtime=runtime, plugins=False)
    call = ToolCall("1", "echo", {"value": 1})
    with ThreadPoolExecutor(2) as pool:
        first = ToolCall("c", "unmoved", {"note": str(note)})
        busy = pool.submit(runtime.run_tool, tools.unmoved, first, context)
        assert processes.eventually(note.exists)
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(executor.acall(call), 0.2))
        assert at_once or processes.eventually(lambda: runtime.leaked == 0)
        again = pool.submit(executor.call, call)
        context.cancel()
        assert busy.result().error_type == "cancelled"
        assert again.result().output == 1
