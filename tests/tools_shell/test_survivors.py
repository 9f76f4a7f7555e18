"""Nothing outlives its limit, its owner or its supervisor, at every level that promises so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from tools_shell import Bash

RUNGS = ["contained", "landlock", "bubblewrap"]

# Each holds the lifeline open in whatever it starts.
HOPPER = """
import os, time
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(0.001)
"""
ESCAPES = {
    "own session": "setsid sleep 900 & wait",
    "double fork": "(setsid sh -c 'sleep 900 & wait' &) ; sleep 900",
    "daemon without its streams": "(setsid sleep 900 < /dev/null > /dev/null 2>&1 &) ; sleep 900",
    "without an environment": "(setsid env -i sleep 900 > /dev/null 2>&1 &) ; sleep 900",
    "nohup": "nohup sleep 900 > /dev/null 2>&1 & sleep 900",
    "ignores the request": "trap '' TERM INT HUP; (trap '' TERM; setsid sleep 900) & while :; do wait; done",
    "stops itself": "(setsid sh -c 'kill -STOP $$; sleep 900' &) ; kill -STOP $$",
    "hops from session to session": f"{sys.executable} hopper.py & sleep 900",
    "many at once": "for n in $(seq 200); do setsid sleep 900 & done; wait",
    "separate groups": "set -m; for n in $(seq 20); do sleep 900 & done; wait",
}


@pytest.fixture
def level(request, level):
    if level not in RUNGS:
        pytest.skip("level none promises less")
    return level


@pytest.fixture
def hopper(root):
    (root / "hopper.py").write_text(HOPPER)


@pytest.mark.slow
def test_all_processes_of_a_call_end_at_its_time_limit(bash, hopper, all_at_once):
    results = all_at_once(bash, ESCAPES, timeout=3)
    assert {name: result.error_type for name, result in results.items()} == dict.fromkeys(ESCAPES, "timeout_error")
    assert [name for name, result in results.items() if "survivors" in result.metadata] == []


@pytest.mark.parametrize(
    "script",
    [
        "(setsid sleep 900 > /dev/null 2>&1 &)",
        "(setsid env -i sleep 900 > /dev/null 2>&1 &)",
        f"{sys.executable} hopper.py > /dev/null 2>&1 &",
    ],
)
def test_when_a_script_ends_all_its_remaining_processes_end(bash, lifeline, hopper, script):
    result = bash.call(command=f"exec 9> {lifeline.path}; {script}\necho done")
    assert result.output["output"] == "done\n"
    assert "background" in result.output
    assert lifeline.holders_are_gone()


def test_commands_cannot_gain_privileges_and_escape_our_signals(bash):
    assert bash.call(command="grep NoNewPrivs /proc/self/status").output["output"].split()[1] == "1"


HOST = """
import sys
from tools_shell import Bash
Bash(sys.argv[1], sandbox=sys.argv[2]).call(command=sys.argv[3])
"""


def host(root, level, script):
    return subprocess.Popen([sys.executable, "-c", HOST, root, level, script], stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("script", ["sleep 900", *ESCAPES.values()], ids=["plain", *ESCAPES])
def test_all_processes_of_a_call_end_when_the_host_is_killed(root, level, lifeline, hopper, script):
    with host(root, level, f"exec 9> {lifeline.path}; echo begun >&9; {script}") as process:
        lifeline.wait_for(b"begun\n")
        process.kill()
    assert lifeline.holders_are_gone()


def server_of(root):
    """The process that starts the supervisors of this one."""
    parent = "cut -d ' ' -f 4 /proc/$PPID/stat"
    return int(Bash(str(root), sandbox="contained").call(command=parent).output["output"])


@pytest.fixture
def supervisor_of_the_job(root, children_of):
    """Find the supervisor of this test's only job: earlier sessions may still run, and other jobs may be ending."""

    def supervisors():
        return set(children_of(server))

    def find():
        while len(new := supervisors() - before) != 1:
            pass
        return new.pop()

    server = server_of(root)
    before = supervisors()
    return find


def test_when_its_supervisor_is_killed_all_of_it_ends_and_the_call_returns(
    root, level, lifeline, supervisor_of_the_job
):
    results = []
    tool = Bash(str(root), sandbox=level)
    unmarked = "(setsid env -i /bin/sh -c 'echo begun >&9; sleep 900' &)"
    script = f"exec 9> {lifeline.path}; (setsid sleep 900 &) ; {unmarked}; sleep 900"
    caller = threading.Thread(target=lambda: results.append(tool.call(command=script)))
    caller.start()
    lifeline.wait_for(b"begun\n")
    os.kill(supervisor_of_the_job(), signal.SIGKILL)
    caller.join()
    assert results[0].output["signal"] == "SIGKILL"
    assert lifeline.holders_are_gone()


def test_a_ctrl_c_for_the_host_reaches_neither_the_server_nor_a_supervisor(root):
    # A terminal sends it to a process group, and no group is part of two sessions.
    status = Bash(str(root), sandbox="contained").call(command="cat /proc/$PPID/stat").output["output"]
    supervisor, (_, server, _, session, *_) = int(status.split()[0]), status.rpartition(")")[2].split()
    assert int(session) == supervisor
    assert os.getsid(int(server)) == int(server)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may see the folder of the server")
def test_the_server_keeps_no_folder_busy(root):
    assert os.readlink(f"/proc/{server_of(root)}/cwd") == "/"


@pytest.mark.skipif(os.getuid() == 0, reason="root may look into every process")
@pytest.mark.parametrize("level", ["contained"], indirect=True)
@pytest.mark.parametrize("secret", ["environ", "mem", "fd/0", "cwd/."])
def test_a_job_cannot_read_the_memory_of_its_supervisor(bash, secret):
    for process in ("$PPID", "$(cut -d ' ' -f 4 /proc/$PPID/stat)"):
        output = bash.call(command=f"head -c 1 /proc/{process}/{secret}").output
        assert "Permission denied" in output["output"]


@pytest.mark.slow
def test_jobs_survive_a_killed_server_and_later_calls_start_another(root, level):
    tool = Bash(str(root), sandbox=level)
    script = "echo begun > begun; until test -e go; do sleep 0.01; done; echo done"
    os.mkfifo(root / "begun")
    results = []
    caller = threading.Thread(target=lambda: results.append(tool.call(command=script)))
    caller.start()
    assert (root / "begun").read_text() == "begun\n"
    os.kill(server_of(root), signal.SIGKILL)
    assert tool.call(command="echo next").output["output"] == "next\n"
    (root / "go").touch()
    caller.join()
    assert results[0].output["output"] == "done\n"


@pytest.mark.slow
@pytest.mark.parametrize("level", ["contained"], indirect=True)
def test_descriptors_threads_and_processes_do_not_grow_over_1000_calls(root, bash, children_of):
    def counts():
        return len(os.listdir("/proc/self/fd")), threading.active_count(), children_of(os.getpid())

    bash.call(command="true")
    before = counts()
    for number in range(1000):
        bash.call(command="(setsid sleep 900 > /dev/null 2>&1 &)" if number % 100 == 0 else "true | false")
    descriptors, threads, children = counts()
    assert (descriptors, children) == (before[0], before[2])
    assert threads <= before[1]
    assert len(children_of(server_of(root))) <= 2  # the last supervisor may be just leaving
