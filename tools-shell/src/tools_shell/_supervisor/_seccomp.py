"""The seccomp filter: a BPF program, assembled for each architecture.

It refuses the calls that namespaces, Landlock and missing capabilities do not cover.
"""

from __future__ import annotations

import errno
import platform
import struct
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # audit numbers of architectures
_LOAD, _AND, _RETURN, _JUMP = 0x20, 0x54, 0x06, 0x05
_IF_EQUAL, _IF_GREATER = 0x15, 0x25
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
HIGHEST = 469  # newer calls fail with ENOSYS, for which libraries have fallbacks


def _table(text: str) -> dict[str, tuple[int, ...]]:
    """Parse system calls with their numbers on x86_64 and aarch64."""
    rows = (row.split() for row in text.split(","))
    return {name: tuple(map(int, numbers)) for name, *numbers in rows}


# ENOSYS: libraries fall back to calls whose arguments a filter can read, unlike arguments behind a pointer.
_ABSENT = _table("clone3 435 435, openat2 437 437")
# Other processes, mounts, and kernel features that bypass the filter or affect all processes of the user.
NEVER = _table("""
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,
    process_mrelease 448 448, kcmp 312 272, pidfd_getfd 438 438, bpf 321 280, perf_event_open 298 241,
    userfaultfd 323 282, io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, keyctl 250 219,
    add_key 248 217, request_key 249 218, fanotify_init 300 262, syslog 103 116, setns 308 268, mount 165 40,
    umount2 166 39, move_mount 429 429, open_tree 428 428, fsopen 430 430, fsconfig 431 431, fsmount 432 432,
    fspick 433 433, mount_setattr 442 442, open_tree_attr 467 467, open_by_handle_at 304 265
""")
# Objects in a name space that all processes share, unless the job has its own.
_SHARED_MEMORY = _table("""
    shmget 29 194, shmctl 31 195, shmat 30 196, semget 64 190, semctl 66 191, semtimedop 220 192, semop 65 193,
    msgget 68 186, msgctl 71 187, msgrcv 70 188, msgsnd 69 189, mq_open 240 180, mq_unlink 241 181
""")
_SOCKETS = _table("socket 41 198, connect 42 203, bind 49 200, listen 50 201")
# Without a PID namespace these reach processes outside: a CPU limit of 1 s would end the host.
_OF_A_PROCESS = _table("""
    prlimit64 302 261, sched_setaffinity 203 122, sched_setscheduler 144 119, sched_setparam 142 118,
    sched_setattr 314 274, migrate_pages 256 238, move_pages 279 239
""")
_TRUNCATE = _table("truncate 76 45")
_OTHERS = _table("""
    clone 56 220, unshare 272 97, ioctl 16 29, socketpair 53 199, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452,
    openat 257 56, mknodat 259 33, setpriority 141 140, ioprio_set 251 30,
    chmod 90, open 2, creat 85, mknod 133
""")
_CALLS = _ABSENT | NEVER | _SHARED_MEMORY | _SOCKETS | _OF_A_PROCESS | _TRUNCATE | _OTHERS
NUMBERS = {
    machine: {name: numbers[at] for name, numbers in _CALLS.items() if at < len(numbers)}
    for at, machine in enumerate(_ARCHITECTURES)
}

_WORD = 0xFFFFFFFF  # all bits of the lower half


class _Test(NamedTuple):
    """Test whether the lower half of an argument, masked, equals `value`, or differs if `equal` is False."""

    argument: int
    value: int
    mask: int = _WORD
    equal: bool = True


# A call is refused if all tests of any alternative hold.
_Rule: TypeAlias = tuple[str, list[list[_Test]]]


def _none_of(argument: int, *values: int, mask: int = _WORD) -> list[_Test]:
    return [_Test(argument, value, mask, equal=False) for value in values]


def _has(argument: int, bits: int) -> _Test:
    return _Test(argument, 0, bits, equal=False)


# Namespaces: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; for unshare NEWTIME, too.
_NAMESPACES, _NEW_TIME = 0x7E020000, 0x80
_SET_ID = 0o6000
_MODES = {"chmod": 1, "fchmod": 1, "creat": 1, "mknod": 1, "fchmodat": 2, "fchmodat2": 2, "mknodat": 2}
_CREATES = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE: without these the mode argument is undefined
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # would inject input into the terminal
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _TYPE = 1, 5, 0xF

_ALWAYS: list[_Rule] = [
    ("clone", [[_has(0, _NAMESPACES)]]),
    ("unshare", [[_has(0, _NAMESPACES | _NEW_TIME)]]),
    ("ioctl", [[_Test(1, _TIOCSTI)], [_Test(1, _TIOCLINUX)]]),
    *((name, [[_has(argument, _SET_ID)]]) for name, argument in _MODES.items()),
]
_OUTSIDE: list[_Rule] = [
    *((name, [_none_of(0, 0)]) for name in _OF_A_PROCESS),
    ("setpriority", [[_Test(0, 2)], _none_of(1, 0)]),  # PRIO_USER: all processes of the user
    ("ioprio_set", [[_Test(0, 3)], _none_of(1, 0)]),
    # A datagram socket pair can still send to any path; stream sockets reach only each other.
    ("socketpair", [_none_of(0, _UNIX), _none_of(1, _STREAM, _SEQPACKET, mask=_TYPE)]),
]


def _opening(*, truncation: bool) -> Iterable[_Rule]:
    """Refuse to create files with set-id bits and, with `truncation`, to truncate files that are opened for reading."""
    for name, flags in (("open", 1), ("openat", 2)):
        emptying = [[*_none_of(flags, 1, 2, mask=3), _has(flags, 0o1000)]]  # O_WRONLY, O_RDWR; O_TRUNC
        yield name, [[_has(flags, _CREATES), _has(flags + 1, _SET_ID)], *(emptying if truncation else [])]


def _families(*, unix: bool) -> _Rule:
    """Allow internet and netlink-route sockets and, with `unix`, Unix sockets."""
    families = (_INET, _INET6, _NETLINK, *((_UNIX,) if unix else ()))
    return "socket", [_none_of(0, *families), [_Test(0, _NETLINK), *_none_of(2, 0)]]


def program(*, network: bool, own_namespaces: bool = False, truncation: bool = False, arch: str | None = None) -> bytes:
    """Return the filter as BPF instructions; OSError for an unknown architecture.

    With `own_namespaces` the command has its own PID, IPC and network namespaces, so that calls which reach others by
    number need not be refused. With `truncation` files can be truncated only by opening them for writing, for kernels
    whose Landlock does not cover truncation.
    """
    machine = arch or platform.machine()
    if machine not in NUMBERS:
        raise OSError(errno.ENOSYS, f"no system call filter for {machine}; there are {', '.join(NUMBERS)}")
    numbers = NUMBERS[machine]
    names = [*NEVER, *(_TRUNCATE if truncation else ())]
    rules = [*_ALWAYS, *_opening(truncation=truncation)]
    if not own_namespaces:
        names += [*_SHARED_MEMORY, *(() if network else _SOCKETS)]  # Landlock covers TCP, not datagrams
        rules += _OUTSIDE
    if own_namespaces or network:
        # No Unix sockets where Landlock does not cover them: by path they reach the container engine, the SSH
        # agent or the desktop.
        rules.append(_families(unix=own_namespaces))
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_IF_EQUAL, _ARCHITECTURES[machine], then=1),
        _step(_RETURN, _KILL),  # 32-bit programs use other call numbers
        _step(_LOAD, _NUMBER),
        *_answer_if(_IF_GREATER, [HIGHEST], errno.ENOSYS),  # so are those of the x32 ABI
        *_answer_if(_IF_EQUAL, [numbers[name] for name in _ABSENT], errno.ENOSYS),
        *_answer_if(_IF_EQUAL, [numbers[name] for name in names], errno.EPERM),
    ]
    for name, alternatives in rules:
        if name in numbers:
            body = _body(alternatives)
            code += [_step(_IF_EQUAL, numbers[name], otherwise=len(body)), *body]
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _step(operation: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", operation, then, otherwise, value)


def _answer_if(test: int, values: list[int], error: int) -> list[bytes]:
    """Return `error` if the call number passes the test with any of the values."""
    tests = [_step(test, value, then=len(values) - place) for place, value in enumerate(values)]
    return [*tests, _step(_JUMP, 1), _step(_RETURN, _ERROR | error)]


def _body(alternatives: list[list[_Test]]) -> list[bytes]:
    """Return the instructions that decide one call; each path ends the program."""
    code = []
    for alternative in alternatives:
        block = [_step(_RETURN, _ERROR | errno.EPERM)]
        for test in reversed(alternative):  # backwards, because a failed test jumps over the following ones
            # Only the lower half: the kernel ignores the upper half of these arguments.
            load = [_step(_LOAD, _ARGUMENTS + 8 * test.argument), _step(_AND, test.mask)]
            failed = {"otherwise": len(block)} if test.equal else {"then": len(block)}
            block = [*load, _step(_IF_EQUAL, test.value, **failed), *block]
        code += block
    return [*code, _step(_RETURN, _ALLOW)]
