"""Workers start on demand and end with their runtime, also if the host crashes."""

import gc
import os
import signal
import subprocess
import sys
import threading

import pytest

from tools_core import Context, ToolCall
from tools_runtime import ProcessRuntime

HEAD = """
import os, sys, threading, time
sys.path.insert(0, {workshop!r})
import process_tools as tools
from tools_core import Context, ToolCall, tool
from tools_runtime import ProcessRuntime

def run(runtime, tool, **arguments):
    begun = runtime.begin(tool, ToolCall("c", tool.name, arguments), Context())
    return begun() if callable(begun) else begun
"""


@pytest.fixture
def host(tools, tmp_path, processes):
    """Starts a program that has runtimes."""
    started = []

    def start(text, *options):
        path = tmp_path / "host.py"
        path.write_text(HEAD.format(workshop=os.path.dirname(tools.__file__)) + text)
        command = [sys.executable, *(options or (str(path),))]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def output(process):
    return process.communicate(timeout=60)[0]


def test_processes_run_between_the_first_call_and_the_end(tools, runtime, run, processes):
    assert processes.all() == []
    assert run(tools.echo, {"value": 1}).output == 1
    assert len(processes.all()) == 3  # the fork server, the supervisor and the worker
    runtime.close()
    assert processes.all() == []
    assert run(tools.echo, {"value": 2}).output == 2


def test_no_descriptor_or_thread_is_left(tools, make, run, begin):
    counts = []
    for _ in range(3):
        runtime = make(2)
        assert run(tools.echo, {"value": 1}, on=runtime).ok
        assert not run(tools.segfault, on=runtime).ok
        context, future = begin(tools.spin, on=runtime)
        context.cancel()
        assert future.result(20).error_type == "cancelled"
        runtime.close()
        counts.append((len(os.listdir("/proc/self/fd")), threading.active_count()))
    descriptors, threads = zip(*counts, strict=True)
    assert len(set(descriptors)) == 1
    assert threads[2] <= threads[0]  # idle threads of earlier tests may end meanwhile


@pytest.mark.slow
def test_a_runtime_without_references_ends(tools, processes):
    runtime = ProcessRuntime(1)
    runtime.begin(tools.echo, ToolCall("1", "echo", {"value": 1}), Context())()
    del runtime
    gc.collect()
    assert processes.all() == []


def test_a_worker_is_reused_and_apart_from_the_host(tools, run):
    identity = run(tools.whoami).output
    assert identity["session"] == identity["pid"] != os.getpid()
    assert run(tools.whoami).output == identity


def test_calls_run_at_the_same_time(tools, make, begin, processes, tmp_path):
    runtime = make(3)
    notes = [tmp_path / str(number) for number in range(3)]
    calls = [begin(tools.spin, {"note": str(note)}, on=runtime) for note in notes]
    assert processes.eventually(lambda: all(note.exists() for note in notes))
    for context, future in calls:
        context.cancel()
        future.result(20)


def test_the_death_of_the_host_ends_everything(host, processes, tmp_path):
    process = host(
        f"""
if __name__ == "__main__":
    runtime = ProcessRuntime(3)
    print(run(runtime, tools.start_daemon, note={str(tmp_path / "pid")!r}).output, flush=True)
    run(runtime, tools.spin, note={str(tmp_path / "note")!r})
"""
    )
    assert process.stdout.readline() == "started\n"
    assert processes.eventually((tmp_path / "note").exists)
    process.kill()
    assert processes.eventually(lambda: not processes.all())


def test_the_end_of_the_host_ends_everything_without_close(host, processes):
    process = host('if __name__ == "__main__":\n    print(run(ProcessRuntime(), tools.echo, value=1).output)\n')
    assert output(process) == "1\n"
    assert processes.eventually(lambda: not processes.all())


def test_a_process_runtime_emits_no_warnings(host, capfd):
    text = 'if __name__ == "__main__":\n    print(run(ProcessRuntime(), tools.echo, value=1).content)\n'
    assert output(host(text, "-X", "dev", "host.py")) == "1\n"
    assert capfd.readouterr().err == ""


def test_modules_of_the_current_folder_are_not_imported_instead_of_the_librarys(host, tmp_path):
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "selectors.py").write_text("open('imported', 'w').close()\n")
    text = """
if __name__ == "__main__":
    os.chdir("repository")
    print(run(ProcessRuntime(), tools.echo, value=1))
"""
    assert output(host(text)) == "1\n"
    assert not (tmp_path / "repository" / "imported").exists()


# Tools of the program itself

MAIN = """
@tool
def main(number: int) -> str:
    "Has the name of a function that the fork server has."
    return f"{number} in {__name__}"

if __name__ == "__main__":
    print(run(ProcessRuntime(), main, number=1).content)
"""


@pytest.mark.parametrize("options", [(), ("-m", "host")], ids=["path", "module"])
def test_tools_of_the_program_itself_work(options, host):
    assert output(host(MAIN, *options)) == "1 in __mp_main__\n"


def test_a_program_without_a_guard_may_use_tools_in_modules(host):
    assert output(host('print("began", run(ProcessRuntime(), tools.echo, value=1).content)\n')) == "began 1\n"


@pytest.mark.parametrize("options", [(), ("-m", "host")], ids=["path", "module"])
def test_a_program_without_a_guard_never_runs_a_second_time(options, host):
    lines = output(
        host("print('began')\n" + MAIN.replace('if __name__ == "__main__":\n    ', ""), *options)
    ).splitlines()
    assert lines[0] == "began"
    assert 'its program has no `if __name__ == "__main__":`' in lines[1]
    assert len(lines) == 2


def test_a_program_that_ends_while_it_is_imported_is_reported(host):
    text = MAIN.replace("if __name__", "if __name__ != '__main__':\n    sys.exit(5)\n\nif __name__")
    assert "cannot prepare the call: SystemExit: 5" in output(host(text))


def test_a_tool_of_the_program_can_call_another_one_in_a_process(host):
    text = MAIN.replace(
        "if __name__",
        "@tool\ndef outer() -> str:\n"
        '    "Call the other."\n'
        "    with ProcessRuntime(1) as runtime:\n        return run(runtime, main, number=1).content\n\nif __name__",
    ).replace("main, number=1).content)", "outer).content)")
    assert output(host(text)) == "1 in __mp_main__\n"


def test_a_tool_of_a_program_without_a_file_is_refused(tools, processes):
    text = HEAD.format(workshop=os.path.dirname(tools.__file__)) + MAIN
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True)
    assert "a program without a file, such as a notebook" in done.stdout
    assert 'runtime="thread"' in done.stdout


# Forks of the host


@pytest.mark.slow
def test_a_fork_of_the_host_starts_separate_workers(host):
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
    assert output(process) == "5 True\n"


def test_a_fork_of_the_host_keeps_no_worker_alive(host, processes):
    process = host(
        """
if __name__ == "__main__":
    runtime = ProcessRuntime(1)
    worker = run(runtime, tools.whoami).output["pid"]
    child = os.fork()
    if child == 0:
        os.close(1)
        time.sleep(600)
    print(child, worker, flush=True)
    time.sleep(600)
"""
    )
    child, worker = map(int, process.stdout.readline().split())
    process.kill()
    assert processes.eventually(lambda: not processes.is_alive(worker))
    os.kill(child, signal.SIGKILL)
