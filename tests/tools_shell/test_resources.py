"""The resources of a job are bounded, and the bound that it hit is named."""

from __future__ import annotations

import os
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools_shell import Bash, Python, Resources, Sandbox


@pytest.fixture
def limited(root, level):
    if level == "none":
        pytest.skip("level none has no limits")

    def make(**resources):
        return Bash(str(root), sandbox=Sandbox(level=level, resources=Resources(**resources)))

    return make


def test_a_result_without_limits_reports_their_absence(root):
    limited = Bash(str(root), sandbox=Sandbox(level="none", resources=Resources(file_size=1)))
    assert "limits" in limited.call(command="true").metadata["not_isolated"]
    assert "limits" not in Bash(str(root), sandbox="contained").call(command="true").metadata["not_isolated"]


def python(code):
    return f"{sys.executable} -c {shlex.quote(code)}"


# The first thread of a program may end before the others.
WITHOUT_FIRST_THREAD = """
import ctypes, threading, time
def run():
    while True:
        threading.Thread(target=time.sleep, args=(900,)).start()
        time.sleep(0.001)
threading.Thread(target=run).start()
ctypes.CDLL(None).pthread_exit(None)
"""
UNWAITED = """
import os
for _ in range(40):
    done, told = os.pipe()
    if os.fork() == 0:
        sum(range(2_000_000))
        os._exit(0)
    os.close(told)
    os.read(done, 1)
input()
"""


@pytest.mark.parametrize(
    ("resources", "script", "name"),
    [
        pytest.param(
            {"memory": 256 << 20},
            f"{sys.executable} -c 'x = b\"x\" * (1 << 30); import time; time.sleep(900)'",
            "memory limit 256 MB",
            id="one large process",
        ),
        pytest.param(
            {"memory": 256 << 20},
            f"{sys.executable} -c 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); "
            'x = b"x" * (1 << 30); time.sleep(900)\'',
            "memory limit 256 MB",
            id="one that does not let itself be seen",  # PR_SET_DUMPABLE, which keeps out all but root
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"memory": 300_000_000},
            f"for n in 1 2 3 4 5; do {sys.executable} -c 'x = b\"x\" * 100_000_000; input()' <> pipe & done; wait",
            "memory limit 300 MB",
            id="many small processes",
            marks=pytest.mark.slow,
        ),
        pytest.param({"cpu": 0.5}, "while :; do :; done", "CPU limit 0.5 s", id="one busy process"),
        pytest.param(
            {"cpu": 0.5},
            "for n in 1 2 3; do (while :; do :; done) & done; wait",
            "CPU limit 0.5 s",
            id="many busy ones",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"cpu": 0.5},
            "while :; do timeout 0.1 sh -c 'while :; do :; done'; done",
            "CPU limit 0.5 s",
            id="busy ones that have ended",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"cpu": 0.5},
            "for n in $(seq 40); do "
            f"(({sys.executable} -c 'sum(range(2_000_000))'; echo > pipe) &); read line < pipe; done",
            "CPU limit 0.5 s",
            id="busy orphans",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"cpu": 0.5},
            python(UNWAITED) + " <> pipe",
            "CPU limit 0.5 s",
            id="busy ones that are not taken",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"processes": 30},
            python(WITHOUT_FIRST_THREAD),
            "process limit 30",
            id="threads without the first",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"processes": 30}, "for n in $(seq 100); do sleep 900 & done; wait", "process limit 30", id="processes"
        ),
        pytest.param(
            {"processes": 30},
            f"{sys.executable} -c 'import threading, time\nfor _ in range(60):\n"
            "  threading.Thread(target=time.sleep, args=(900,)).start()'",
            "process limit 30",
            id="threads",
            marks=pytest.mark.slow,
        ),
        pytest.param({"processes": 100}, "bomb() { bomb | bomb & }; bomb; sleep 900", "process limit 100", id="bomb"),
    ],
)
def test_a_job_that_exceeds_a_limit_is_killed_with_the_reason(limited, root, lifeline, resources, script, name):
    os.mkfifo(root / "pipe")
    result = limited(**resources).call(command=f"exec 9> {lifeline.path}; echo so far; {script}", timeout=60)
    assert result.error_type == "limit_exceeded"
    assert f": {name}; use less" in result.error
    assert result.metadata["output"].startswith("so far\n")
    assert lifeline.holders_are_gone()


def test_a_file_that_grows_too_large_is_named(limited):
    result = limited(file_size=10_000).call(command="head -c 1000000 /dev/zero > file")
    if result.ok:  # a program that ignores the signal reports the failed write itself
        assert "File too large" in result.output["output"]
    else:
        assert "file size limit 10 kB" in result.error


def test_a_file_never_grows_beyond_the_limit(limited, root):
    limited(file_size=10_000).call(command="head -c 1000000 /dev/zero > file")
    assert (root / "file").stat().st_size == 10_000


@pytest.mark.parametrize("session", [{}, {"session": "s"}])
def test_an_exit_code_alone_is_not_reported_as_a_limit(limited, session):
    result = limited(cpu=5).call(command="exit 152", **session)
    assert (result.ok, result.output["exit_code"]) == (True, 152)


def test_too_many_open_files_are_refused(limited):
    script = f"{sys.executable} -c 'files = [open(\"/dev/null\") for _ in range(100)]'"
    assert "Too many open files" in limited(open_files=50).call(command=script).output["output"]


def test_a_script_within_its_limits_runs_undisturbed(limited):
    tool = limited(cpu=30, memory=1 << 30, processes=200, file_size=1 << 20, open_files=100)
    script = "seq 100000 | sort -n | tail -1; for n in $(seq 20); do sleep 0.05 & done; wait; echo done"
    assert tool.call(command=script).output["output"] == "100000\ndone\n"


@pytest.mark.slow
def test_wrapper_processes_do_not_count_against_the_process_limit(limited):
    assert limited(processes=1).call(command="for ((n = 0; n < 300000; n++)); do :; done").ok
    assert limited(processes=2).call(command="sleep 0.3; echo done").output["output"] == "done\n"


def test_a_file_size_limit_does_not_limit_the_value_of_code(root, level):
    tool = Python(str(root), sandbox=Sandbox(level=level, resources=Resources(file_size=1)))
    output = tool.call(code="print('out')\n'x' * 10_000").output
    assert (output["value"], output["output"]) == (repr("x" * 10_000), "out\n")


SHARED = """
import os, time
memory = b"x" * (100 << 20)
for _ in range(5):
    if os.fork() == 0:
        time.sleep(0.3)
        os._exit(0)
for _ in range(5):
    os.wait()
"""


def test_memory_that_several_processes_share_counts_once(limited, root):
    (root / "shared.py").write_text(SHARED)
    tool = limited(memory=400 << 20)
    assert tool.call(command=f"{sys.executable} shared.py; echo done").output["output"] == "done\n"


@pytest.mark.parametrize("value", [0, -1, True, "1"])
def test_an_invalid_limit_is_refused_at_once(value):
    with pytest.raises(ValueError, match="memory must be a number above 0"):
        Resources(memory=value)


def test_the_kernel_kills_jobs_first_when_memory_runs_out(limited):
    script = "cat /proc/$$/oom_score_adj; (cat /proc/$BASHPID/oom_score_adj) & wait"
    tool = limited()
    with ThreadPoolExecutor(10) as threads:
        results = list(threads.map(lambda _: tool.call(command=script), range(40)))
    assert [result.output["output"] for result in results] == ["1000\n1000\n"] * 40


@pytest.mark.skipif(os.getuid() == 0, reason="the kernel does not limit the processes of root")
def test_the_kernel_keeps_the_number_of_processes_too(limited):
    assert int(limited(processes=50).call(command="ulimit -u").output["output"]) < 100_000


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1 << 63])
def test_a_limit_beyond_the_kernel_s_numbers_is_refused_when_it_is_set(value):
    with pytest.raises(ValueError, match="must be a number above 0"):
        Resources(memory=value)


def test_the_limits_of_each_process_hold(limited):
    tool = limited(open_files=60, file_size=1 << 20)
    assert tool.call(command="echo $(ulimit -n) $(ulimit -f)").output["output"].split() == ["60", "1024"]


def test_no_process_can_raise_its_limits_or_write_a_core_dump(limited):
    tool = limited(open_files=60, file_size=1 << 20)
    output = tool.call(command="echo $(ulimit -Hn) $(ulimit -Hf) $(ulimit -Hc)").output
    assert output["output"].split() == ["60", "1024", "0"]


@pytest.mark.skipif(os.getuid() != 0, reason="the kernel limits the processes of a user, and lets only root run first")
@pytest.mark.parametrize("level", ["contained"], indirect=True)
def test_the_supervisor_of_root_processes_has_a_higher_scheduling_priority(limited):
    fields = limited().call(command="cat /proc/$PPID/stat").output["output"].rpartition(")")[2].split()
    assert int(fields[38]) == os.SCHED_RR  # proc_pid_stat(5), field 41


HIDDEN_MEMORY = """
import os
file = os.memfd_create("x")
for _ in range(1000):
    os.write(file, bytes(1 << 20))
print("kept")
"""
