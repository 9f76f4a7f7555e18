"""The processes of a job, and the processes that a signal to some of them reaches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools_core.linux import process_fields
from tools_shell._supervisor import _descendants
from tools_shell._supervisor._descendants import chain_of, descendants, groups_of, is_zombie, kill, send

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")

LINE = "sh -c 'sh -c \"sleep 900 & echo ready; wait\"; :'; :"  # each is the only child of the one before
ODD_NAMES = [") Z 1 1 1", "a b", "(", "))", "\n"]


@pytest.fixture
def start(lifeline):
    """Start a script in a new session, whose processes hold the lifeline; returns when it says `ready`."""
    started = []

    def run(*arguments):
        process = subprocess.Popen(
            [*arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield run
    for process in started:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def test_killing_a_process_kills_unseen_processes_of_its_group(start, lifeline):
    kill({start("/bin/sh", "-c", f"exec 9> '{lifeline.path}'; sleep 900 & echo ready; wait").pid})
    assert lifeline.holders_are_gone()


def test_a_process_without_a_visible_group_adds_no_group():
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    if not any(process_fields(pid)[2:3] == [b"0"] for pid in pids):
        pytest.skip("every process here is in a group")
    assert all(group > 1 for group in groups_of(pids))


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_odd_process_name_does_not_hide_its_parent_or_state(start, name):
    code = "import sys; open('/proc/self/comm', 'w').write(sys.argv[1]); print('ready', flush=True); input()"
    pid = start(sys.executable, "-c", code, name).pid
    assert Path(f"/proc/{pid}/comm").read_text() == f"{name}\n"
    assert int(process_fields(pid)[1]) == os.getpid()
    assert not is_zombie(pid)


THREAD = """
import subprocess, threading
def run():
    subprocess.Popen(["sleep", "900"])
    print("ready", flush=True)
    input()
threading.Thread(target=run).start()
"""


def test_children_of_all_threads_are_listed_with_and_without_kernel_support(start):
    process = start(sys.executable, "-c", THREAD)
    (child,) = descendants(process.pid)
    assert _descendants._table()(process.pid) == [child]
    assert process.pid in _descendants._table()(os.getpid())


def test_parents_precede_their_children_and_a_chain_has_the_requested_length(start):
    first = start("/bin/sh", "-c", LINE).pid
    parents = {first: os.getpid(), **descendants(first)}
    line = list(parents)
    assert len(line) == 4
    assert [parents[pid] for pid in line[1:]] == line[:-1]
    for length in range(5):
        assert chain_of(first, length, parents) == set(line[:length])
    assert chain_of(first, 9, parents) == set(line)
    assert chain_of(1 << 30, 2, parents) == set()


def test_an_ended_process_has_no_state_and_gets_no_signal(start):
    process = start("/bin/sh", "-c", "echo ready; read line")
    process.communicate("\n")
    assert (process_fields(process.pid), is_zombie(process.pid), groups_of([process.pid])) == ([], False, set())
    send(signal.SIGKILL, [process.pid])
