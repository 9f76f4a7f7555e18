"""Which processes belong to a job, and who is hit when some of them are to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tools_shell import Resources
from tools_shell._supervisor import _descendants
from tools_shell._supervisor._descendants import descendants, groups_of, is_zombie, kill, line_of, place, send, stat
from tools_shell._supervisor._job import _Job

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")

LINE = "sh -c 'sh -c \"sleep 900 & echo ready; wait\"; :'; :"  # each is the only child of the one before
ODD_NAMES = [") Z 1 1 1", "a b", "(", "))", "\n"]


@pytest.fixture
def start(lifeline):
    """Start a script in a session of its own, whose processes hold the lifeline; returns when it says `ready`."""
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


def test_who_is_killed_takes_along_those_of_its_group_that_nobody_has_seen(start, lifeline):
    leader = start("/bin/sh", "-c", f"exec 9> '{lifeline.path}'; sleep 900 & echo ready; wait").pid
    kill({leader}, {leader}, os.getpid())
    assert lifeline.holders_are_gone()


def test_of_a_group_with_one_that_is_spared_only_the_others_are_killed(start, lifeline):
    process = start(
        "/bin/sh", "-c", f"(exec 9> '{lifeline.path}'; echo ready; exec sleep 900) & wait; read line; exit 7"
    )
    found = descendants(process.pid)
    kill(found, {process.pid, *found}, os.getpid())
    assert lifeline.holders_are_gone()
    process.communicate("\n")
    assert process.returncode == 7


def test_a_number_that_has_passed_to_a_process_of_another_parent_is_spared(start):
    process = start("/bin/sh", "-c", "echo ready; read line; exit 7")
    send(signal.SIGKILL, [process.pid], {1 << 30})
    process.communicate("\n")
    assert process.returncode == 7


def test_a_process_that_is_in_no_group_that_can_be_named_adds_none():
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    if not any(stat(pid)[2:3] == [b"0"] for pid in pids):
        pytest.skip("every process here is in a group")
    assert all(group > 1 for group in groups_of(pids))


@pytest.mark.parametrize("name", ODD_NAMES)
def test_whatever_a_process_calls_itself_its_parent_and_its_state_are_known(start, name):
    code = "import sys; open('/proc/self/comm', 'w').write(sys.argv[1]); print('ready', flush=True); input()"
    pid = start(sys.executable, "-c", code, name).pid
    assert Path(f"/proc/{pid}/comm").read_text() == f"{name}\n"
    assert int(stat(pid)[1]) == os.getpid()
    assert not is_zombie(pid)


THREAD = """
import subprocess, threading
def run():
    subprocess.Popen(["sleep", "900"])
    print("ready", flush=True)
    input()
threading.Thread(target=run).start()
"""


def test_the_children_of_all_threads_are_found_with_a_list_of_children_and_without(start):
    process = start(sys.executable, "-c", THREAD)
    (child,) = descendants(process.pid)
    assert _descendants._table()(process.pid) == [child]
    assert process.pid in _descendants._table()(os.getpid())


def test_parents_come_first_and_a_line_is_as_long_as_it_is_asked_for(start):
    first = start("/bin/sh", "-c", LINE).pid
    found = {first: os.getpid(), **descendants(first)}
    line = list(found)
    assert len(line) == 4
    assert [found[pid] for pid in line[1:]] == line[:-1]
    for length in range(5):
        assert line_of(first, length, found) == set(line[:length])
    assert line_of(first, 9, found) == set(line)
    assert line_of(1 << 30, 2, found) == set()


WITHOUT_FIRST_THREAD = """
import ctypes, threading
def run():
    while open("/proc/self/stat").read().rpartition(")")[2].split()[0] != "Z":
        pass
    print("ready", flush=True)
    input()
threading.Thread(target=run).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_whose_first_thread_has_ended_is_alive(start):
    process = start(sys.executable, "-c", WITHOUT_FIRST_THREAD)
    assert stat(process.pid)[:1] == [b"Z"]
    assert not is_zombie(process.pid)
    assert int(stat(place(process.pid))[21]) > 0


def test_a_process_that_is_no_more_has_no_state_and_no_signal_is_sent(start):
    process = start("/bin/sh", "-c", "echo ready; read line")
    process.communicate("\n")
    assert (stat(process.pid), is_zombie(process.pid), groups_of([process.pid])) == ([], False, set())
    send(signal.SIGKILL, [process.pid], {os.getpid()})


# A server whose users are not shown each other's processes, nor their own that let nobody look into them (hidepid).
HIDDEN = """
import ctypes, os, select, signal, sys
from tools_shell._supervisor._descendants import descendants, kill
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x20000) or libc.mount(None, b"/", None, 0x44000, None):  # NEWNS; REC, PRIVATE
    sys.exit("no namespace of mounts")
if libc.mount(b"proc", b"/proc", b"proc", 0, b"hidepid=2"):
    sys.exit("no /proc of our own")
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
libc.prctl(4, 1, 0, 0, 0)  # DUMPABLE, as a process that was started by that user
done, told = os.pipe()
pid = os.fork()
if pid == 0:
    libc.prctl(4, 0, 0, 0, 0)
    os.setsid()
    os.write(told, b"x")
    signal.pause()
os.read(done, 1)
assert not os.path.exists(f"/proc/{pid}/stat")
found = descendants(os.getpid())
kill(found, found, os.getpid())
poll = select.poll()
poll.register(os.pidfd_open(pid), select.POLLIN)
print(bool(poll.poll(10_000)))
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can mount another /proc")
def test_a_process_that_the_system_does_not_show_is_killed_too():
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, check=False, timeout=60)
    if done.stderr.startswith("no "):
        pytest.skip(f"this machine gives root {done.stderr.strip()}")
    assert done.stdout == "True\n", done.stderr


def test_what_no_signal_ends_is_looked_at_less_and_less_often():
    request = {"host": os.getpid(), "wrappers": 0, "resources": asdict(Resources())}
    job = _Job(-1, -1, request)
    job._is_killing = True
    hanging, other = 1 << 29, 1 << 28  # no process has such a number, so none hears a signal
    rounds = [job._step({hanging: os.getpid()}) for _ in range(10)]
    assert rounds == [2, 4, 8, 16, 32, 64, 128, 200, 200, 200]
    assert job._step({hanging: os.getpid(), other: os.getpid()}) == 2  # it may be one that forks
    os.close(job._host)
