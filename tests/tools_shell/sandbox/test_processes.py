from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

OTHERS = {
    "trace": "call('ptrace', 16, BYSTANDER, None, None)",
    "read its memory": "open(f'/proc/{BYSTANDER}/mem', 'rb')",
    "read its memory by a call": "system('process_vm_readv', BYSTANDER, None, 0, None, 0, 0)",
    "read its environment": "open(f'/proc/{BYSTANDER}/environ').read()",
    "list its folder": "os.listdir(f'/proc/{BYSTANDER}/cwd/')",
    "read a link to its file": "os.readlink(f'/proc/{BYSTANDER}/fd/0')",
    "take its files": "system('pidfd_getfd', os.pidfd_open(BYSTANDER), 0, 0)",
    "compare with it": "system('kcmp', BYSTANDER, BYSTANDER, 1, 0, 0)",
    "limit it": "call('prlimit', BYSTANDER, 7, (ctypes.c_ulong * 2)(8, 8), None)",
    "pin it": "os.sched_setaffinity(BYSTANDER, {0})",
    "reschedule it": "os.sched_setscheduler(BYSTANDER, os.SCHED_BATCH, os.sched_param(0))",
    "slow it down": "os.setpriority(os.PRIO_PROCESS, BYSTANDER, 19)",
    "stop it by a descriptor": "signal.pidfd_send_signal(os.pidfd_open(BYSTANDER), signal.SIGCONT)",
    "end it": "os.kill(BYSTANDER, signal.SIGTERM)",
}


def facts(pid):
    return (
        Path(f"/proc/{pid}/limits").read_text(),
        os.getpriority(os.PRIO_PROCESS, pid),
        os.sched_getaffinity(pid),
        os.sched_getscheduler(pid),
    )


def answers(bystander):
    bystander.stdin.write(b"y")
    bystander.stdin.flush()
    return bystander.stdout.read(1) == b"y"


def test_processes_outside_are_neither_read_nor_touched(place, sandbox_level):
    before = facts(place.bystander.pid)
    assert place.refuses(sandbox_level, OTHERS)
    assert facts(place.bystander.pid) == before
    assert answers(place.bystander)


def test_the_same_succeeds_without_a_sandbox(place):
    outcomes = place.attack("none", OTHERS)
    assert {name: how for name, how in outcomes.items() if how != "done"}.keys() <= {"read its memory by a call"}
    place.bystander.wait(60)


def test_the_environment_of_the_host_is_unreadable(place, sandbox_level):
    started_it = {os.getpid(), os.getppid()} - {1}  # a sandbox may have its own first process
    read = {str(pid): f"open('/proc/{pid}/environ').read()" for pid in started_it}
    assert place.refuses(sandbox_level, read)
    assert (
        "canary"
        not in place.run(sandbox_level, "/bin/sh", "-c", "cat /proc/*/environ", host={"SECRET": "canary"}).stdout
    )


def pending(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("ShdPnd:")[2].split()[0], 16)


def test_a_signal_to_all_processes_stays_in_the_sandbox(place, sandbox_level):
    # Processes ignore this signal unless they ask for it: a sandbox that fails must not harm the machine.
    place.run(sandbox_level, place.python, "-c", "import os, signal; os.kill(-1, signal.SIGURG)")
    assert pending(place.bystander.pid) == 0
    os.kill(place.bystander.pid, signal.SIGURG)
    assert pending(place.bystander.pid) == 1 << (signal.SIGURG - 1)


def test_commands_have_no_capabilities_and_cannot_gain_any(place, sandbox_level):
    ran = place.run(sandbox_level, "/bin/cat", "/proc/self/status")
    status = dict(line.split(":\t", 1) for line in ran.stdout.splitlines())
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert status["Uid"].split() == [str(place.user)] * 4


SHARED = {"shmget": (64,), "semget": (1,), "msgget": ()}


def test_memory_that_others_share_is_out_of_reach(place, sandbox_level):
    libc, key = ctypes.CDLL(None), 0x41534B00 + os.getpid()
    numbers = {name: getattr(libc, name)(key, *size, 0o1777) for name, size in SHARED.items()}
    attacks = {name: f"call({name!r}, {', '.join(map(str, (key, *size, 0)))})" for name, size in SHARED.items()}
    try:
        assert set(place.attack("none", attacks).values()) == {"done"}
        assert place.refuses(sandbox_level, attacks)
    finally:
        libc.shmctl(numbers["shmget"], 0, None)
        libc.semctl(numbers["semget"], 0, 0)
        libc.msgctl(numbers["msgget"], 0, None)


@pytest.fixture
def terminals(place):
    pairs = [os.openpty() for _ in range(2)]
    for _, end in pairs:
        if place.user != os.geteuid():
            os.fchown(end, place.user, place.user)
    yield [end for _, end in pairs]
    for descriptor in (descriptor for pair in pairs for descriptor in pair):
        os.close(descriptor)


def test_a_command_cannot_type_into_the_terminal(place, sandbox_level, terminals):
    for code in (0x5412, 0x541C):
        for high in (0, 1 << 32):
            attack = {"type": f"call('ioctl', 0, ctypes.c_ulong({code | high}), b'x')"}
            assert place.attack(sandbox_level, attack, terminal=True, stdin=terminals[0]) == {"type": "refused EPERM"}


def test_its_own_terminal_can_be_opened_by_its_name_but_no_other(place, sandbox_level, terminals):
    mine, other = terminals
    assert place.refuses(sandbox_level, {"other": f"open({os.ttyname(other)!r}, 'rb')"}, terminal=True, stdin=mine)
    assert (
        place.run(sandbox_level, "/bin/sh", "-c", "test -t 0 && : < /proc/self/fd/0", terminal=True, stdin=mine).code
        == 0
    )
