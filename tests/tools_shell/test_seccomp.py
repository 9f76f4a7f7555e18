from __future__ import annotations

import errno
import os
import platform
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_shell._supervisor._seccomp import HIGHEST, NEVER, NUMBERS, program

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
ALLOWED, KILLED = 0x7FFF0000, 0x80000000
SETTINGS = [{"network": False}, {"network": True}, {"network": False, "own_namespaces": True}]
WORDS = st.integers(0, (1 << 64) - 1)


def decide(code, audit, number, arguments=()):
    """Return what the kernel does with the program: an interpreter for the few instructions that there are."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<iIQ6Q", number if number < 1 << 31 else number - (1 << 32), audit, 0, *padded)
    steps, at, accumulator = list(struct.iter_unpack("<HBBI", code)), 0, 0
    while True:
        operation, then, otherwise, value = steps[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x05:
            at += value
        elif operation in {0x15, 0x25}:
            passed = accumulator == value if operation == 0x15 else accumulator > value
            at += then if passed else otherwise
        else:
            assert operation == 0x06
            return value


def outcome(machine, name, *arguments, network=False, **settings):
    """None when a call is allowed, else its error."""
    value = decide(
        program(network=network, arch=machine, **settings), AUDIT[machine], NUMBERS[machine][name], arguments
    )
    assert value == ALLOWED or value >> 16 == 5
    return None if value == ALLOWED else value & 0xFFFF


@pytest.fixture(params=AUDIT)
def machine(request):
    return request.param


@pytest.mark.parametrize("settings", SETTINGS)
def test_dangerous_system_calls_are_always_refused(machine, settings):
    for name in NEVER:
        assert outcome(machine, name, **settings) == errno.EPERM, name


@pytest.mark.parametrize("settings", SETTINGS)
def test_everyday_calls_are_allowed(machine, settings):
    everyday = {
        "x86_64": (0, 1, 3, 9, 39, 57, 59, 60, 62, 202, 231),
        "aarch64": (56, 57, 63, 64, 93, 129, 172, 221, 222),
    }
    for number in everyday[machine]:
        assert decide(program(**settings, arch=machine), AUDIT[machine], number) == ALLOWED, number


def test_calls_of_other_architectures_and_abis_and_times_get_nowhere(machine):
    code = program(network=True, own_namespaces=True, arch=machine)
    for audit in {I386, *AUDIT.values()} - {AUDIT[machine]}:
        assert decide(code, audit, 0) == KILLED
    for number in (HIGHEST + 1, 0x40000000, 0x40000000 | 101, 0xFFFFFFFF):
        assert decide(code, AUDIT[machine], number) == 0x50000 | errno.ENOSYS
    for name in ("clone3", "openat2"):
        assert outcome(machine, name) == errno.ENOSYS


def test_an_unknown_machine_has_no_filter():
    with pytest.raises(OSError, match="riscv64"):
        program(network=False, arch="riscv64")


@given(
    st.sampled_from(sorted(AUDIT)),
    st.sampled_from(SETTINGS),
    st.integers(0, HIGHEST),
    st.lists(WORDS, min_size=6, max_size=6),
)
def test_the_upper_half_of_an_argument_does_not_affect_the_decision(machine, settings, number, arguments):
    code = program(**settings, arch=machine)
    lower = [word & 0xFFFFFFFF for word in arguments]
    assert decide(code, AUDIT[machine], number, arguments) == decide(code, AUDIT[machine], number, lower)


@given(st.integers(0, 0o177777))
def test_set_id_bits_are_refused_wherever_a_mode_is_given(mode):
    is_refused = bool(mode & 0o6000)
    for name, before in {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1}.items():
        assert (outcome("x86_64", name, *[0] * before, mode) is not None) is is_refused
    for machine, name in (("x86_64", "fchmodat"), ("aarch64", "fchmodat"), ("aarch64", "fchmod")):
        assert (outcome(machine, name, *[0] * (1 if name == "fchmod" else 2), mode) is not None) is is_refused
    assert (outcome("x86_64", "mknod", 0, mode) is not None) is is_refused
    assert (outcome("aarch64", "mknodat", 0, 0, mode) is not None) is is_refused


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 0o7777), st.booleans())
def test_opening_refuses_set_id_bits_and_optionally_truncation_by_readers(flags, mode, truncation):
    makes = bool(flags & (os.O_CREAT | 0o20000000)) and bool(mode & 0o6000)
    empties = truncation and bool(flags & os.O_TRUNC) and flags & 3 not in {1, 2}
    for machine, name, before in (("x86_64", "open", 1), ("x86_64", "openat", 2), ("aarch64", "openat", 2)):
        refused = outcome(machine, name, *[0] * before, flags, mode, truncation=truncation) is not None
        assert refused is (makes or empties)


@given(st.integers(0, 0xFFFFFFFF))
def test_new_namespaces_are_refused_and_other_ways_to_fork_are_not(flags):
    for machine in AUDIT:
        assert (outcome(machine, "clone", flags) is not None) is bool(flags & 0x7E020000)
        assert (outcome(machine, "unshare", flags) is not None) is bool(flags & 0x7E020080)


@given(st.integers(0, 50), st.integers(0, 20))
def test_socket_families_depend_on_the_network_setting(family, protocol):
    internet = family in {2, 10} or (family, protocol) == (16, 0)
    for machine in AUDIT:
        assert outcome(machine, "socket", family, 1, protocol) == errno.EPERM
        assert (outcome(machine, "socket", family, 1, protocol, network=True) is None) is internet
        for network in (False, True):
            result = outcome(machine, "socket", family, 1, protocol, network=network, own_namespaces=True)
            assert (result is None) is (internet or family == 1)


@given(st.integers(0, 50), st.integers(0, 0xFFFFFFFF))
def test_a_socket_pair_cannot_reach_other_sockets(family, kind):
    for machine in AUDIT:
        is_allowed = family == 1 and kind & 0xF in {1, 5}
        assert (outcome(machine, "socketpair", family, kind) is None) is is_allowed
        assert outcome(machine, "socketpair", family, kind, own_namespaces=True) is None


@given(st.integers(0, 0xFFFFFFFF))
def test_without_namespaces_only_oneself_is_limited_or_scheduled(pid):
    names = ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "move_pages")
    for machine in AUDIT:
        for name in names:
            assert (outcome(machine, name, pid) is None) is (pid == 0)
            assert outcome(machine, name, pid, own_namespaces=True) is None
        assert (outcome(machine, "setpriority", 0, pid) is None) is (pid == 0)
        assert outcome(machine, "setpriority", 2, 0) == errno.EPERM
        assert outcome(machine, "ioprio_set", 3, 0) == errno.EPERM


@given(st.integers(0, 0xFFFFFFFF) | st.sampled_from([0x5412, 0x541C, 0x5413]))
def test_terminals_are_not_typed_into(request_code):
    for machine in AUDIT:
        assert (outcome(machine, "ioctl", 0, request_code) is not None) is (request_code in {0x5412, 0x541C})


IN_A_CHILD = """
import ctypes, mmap, os, sys
from tools_core.linux import forbid_new_privileges, install_seccomp_filter
from tools_shell._supervisor._seccomp import program
forbid_new_privileges()
"""
# As a 32-bit program calls: mov eax, 20 (getpid); int 0x80; ret
OLD_CALL = """
install_seccomp_filter(program(network=False))
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000cd80c3"))
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
print("called", ctypes.CFUNCTYPE(ctypes.c_int)(address)(), flush=True)
"""
TRUNCATING = """
install_seccomp_filter(program(network=False, truncation=True))
def attempt(action):
    try:
        action()
    except OSError as error:
        print(error.errno)
    else:
        print("done")
path = sys.argv[1]
attempt(lambda: os.truncate(path, 0))
attempt(lambda: os.open(path, os.O_RDONLY | os.O_TRUNC))
attempt(lambda: os.open(path, 3 | os.O_TRUNC))
print(os.path.getsize(path))
attempt(lambda: os.ftruncate(os.open(path, os.O_WRONLY), 2))
attempt(lambda: os.open(path, os.O_WRONLY | os.O_TRUNC))
print(os.path.getsize(path))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="filters are for Linux")
class TestInTheKernel:
    def run(self, code, *arguments):
        return subprocess.run(
            [sys.executable, "-c", IN_A_CHILD + code, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86 has the old calls")
    def test_a_32_bit_call_ends_the_program(self):
        assert self.run(OLD_CALL.replace("install_seccomp_filter", "len", 1)).stdout.startswith("called")
        completed = self.run(OLD_CALL)
        assert (completed.stdout, -completed.returncode) == ("", 31)  # SIGSYS

    def test_only_writers_can_truncate_files_if_landlock_does_not_check_truncation(self, tmp_path):
        (tmp_path / "file").write_text("text")
        assert self.run(TRUNCATING, str(tmp_path / "file")).stdout.split() == ["1", "1", "1", "4", "done", "done", "0"]
