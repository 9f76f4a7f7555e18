"""The system calls that a sandboxed command is refused, and under which arguments."""

from __future__ import annotations

from typing import NamedTuple

HIGHEST = 469  # newer calls are unknown here and answered "not implemented", which libraries are prepared for
X86_64, AARCH64 = "x86_64", "aarch64"

# Each call with its number on x86_64, and that on aarch64.
_TABLE = """
io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, open_tree 428 428, move_mount 429 429,
fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, clone3 435 435, openat2 437 437,
pidfd_getfd 438 438, process_madvise 440 440, mount_setattr 442 442, quotactl_fd 443 443, process_mrelease 448 448,
fchmodat2 452 452, open_tree_attr 467 467, ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271,
kcmp 312 272, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, setns 308 268, bpf 321 280,
perf_event_open 298 241, userfaultfd 323 282, keyctl 250 219, add_key 248 217, request_key 249 218,
kexec_load 246 104, kexec_file_load 320 294, init_module 175 105, finit_module 313 273, delete_module 176 106,
reboot 169 142, swapon 167 224, swapoff 168 225, settimeofday 164 170, clock_settime 227 112, clock_adjtime 305 266,
adjtimex 159 171, acct 163 89, quotactl 179 60, open_by_handle_at 304 265, name_to_handle_at 303 264,
fanotify_init 300 262, syslog 103 116, sethostname 170 161, setdomainname 171 162, vhangup 153 58,
lookup_dcookie 212 18, nfsservctl 180 42, migrate_pages 256 238, move_pages 279 239, prlimit64 302 261,
setpriority 141 140, ioprio_set 251 30, personality 135 92, sched_setaffinity 203 122, sched_setscheduler 144 119,
sched_setparam 142 118, sched_setattr 314 274, shmget 29 194, shmctl 31 195, shmat 30 196, semget 64 190,
semctl 66 191, semtimedop 220 192, semop 65 193, msgget 68 186, msgctl 71 187, msgrcv 70 188, msgsnd 69 189,
mq_open 240 180, mq_unlink 241 181, clone 56 220, unshare 272 97, ioctl 16 29, socket 41 198, socketpair 53 199,
connect 42 203, bind 49 200, listen 50 201, fchmod 91 52, fchmodat 268 53, openat 257 56, mknodat 259 33,
truncate 76 45, iopl 172 -, ioperm 173 -, uselib 134 -, create_module 174 -, _sysctl 156 -, get_kernel_syms 177 -,
query_module 178 -, chmod 90 -, open 2 -, creat 85 -, mknod 133 -
"""


def _numbers(column: int) -> dict[str, int]:
    rows = [row.split() for row in _TABLE.split(",")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


NUMBERS = {X86_64: _numbers(1), AARCH64: _numbers(2)}

# Not there at all: libraries fall back to calls whose arguments can be judged, which those behind a pointer cannot.
ABSENT = ("clone3", "openat2")

_OTHER_PROCESSES = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_getfd"),
)
_MOUNTS = (
    *("mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig"),
    *("fsmount", "fspick", "mount_setattr", "setns", "open_by_handle_at", "name_to_handle_at"),
)
_KERNEL = (
    *("bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("keyctl", "add_key", "request_key", "fanotify_init", "syslog", "lookup_dcookie", "nfsservctl"),
)
_MACHINE = (
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "query_module"),
    *("get_kernel_syms", "_sysctl", "uselib", "iopl", "ioperm", "reboot", "swapon", "swapoff", "acct", "quotactl"),
    *("quotactl_fd", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname"),
    "vhangup",
)
NEVER = (*_OTHER_PROCESSES, *_MOUNTS, *_KERNEL, *_MACHINE)

# Objects found by a number or name that all processes share, unless a namespace separates them.
SHARED_MEMORY = (
    *("shmget", "shmctl", "shmat", "semget", "semctl", "semtimedop", "semop", "msgget", "msgctl", "msgrcv", "msgsnd"),
    *("mq_open", "mq_unlink"),
)
SOCKETS = ("socket", "connect", "bind", "listen")

WORD = 0xFFFFFFFF  # all bits of the half that is looked at


class Test(NamedTuple):
    """Return whether an argument's lower half, under `mask`, is `value`; or, with `equal` False, whether it is not."""

    argument: int
    value: int
    mask: int = WORD
    equal: bool = True


class Rule(NamedTuple):
    """A call is refused when all tests of any one of the alternatives hold."""

    name: str
    alternatives: tuple[tuple[Test, ...], ...]


def _any_of(argument: int, *values: int) -> tuple[tuple[Test, ...], ...]:
    return tuple((Test(argument, value),) for value in values)


def _none_of(argument: int, *values: int, mask: int = WORD) -> tuple[Test, ...]:
    return tuple(Test(argument, value, mask, equal=False) for value in values)


def _has(argument: int, bits: int) -> Test:
    return Test(argument, 0, bits, equal=False)


# Namespaces: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; for unshare NEWTIME, too.
_NAMESPACES, _NEW_TIME = 0x7E020000, 0x80
_SET_ID = 0o6000
_MADE = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE: without them the mode is what a register happened to hold
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # put words into the mouth of whoever types at the terminal
_FILE_TYPE, _REGULAR, _FIFO = 0o170000, 0o100000, 0o010000

ALWAYS = (
    Rule("clone", ((_has(0, _NAMESPACES),),)),
    Rule("unshare", ((_has(0, _NAMESPACES | _NEW_TIME),),)),
    Rule("ioctl", _any_of(1, _TIOCSTI, _TIOCLINUX)),
    Rule("personality", (_none_of(0, 0, WORD),)),
    *(Rule(name, ((_has(1, _SET_ID),),)) for name in ("chmod", "fchmod", "creat")),
    *(Rule(name, ((_has(2, _SET_ID),),)) for name in ("fchmodat", "fchmodat2")),
    *(
        Rule(name, ((_has(mode, _SET_ID),), _none_of(mode, 0, _REGULAR, _FIFO, mask=_FILE_TYPE)))
        for name, mode in (("mknod", 1), ("mknodat", 2))
    ),
)


def opening(*, truncation: bool) -> tuple[Rule, ...]:
    """Files are never made with set-id bits; with `truncation` none is emptied that is opened for reading."""
    rules = []
    for name, flags in (("open", 1), ("openat", 2)):
        refused: list[tuple[Test, ...]] = [(_has(flags, _MADE), _has(flags + 1, _SET_ID))]
        if truncation:
            refused.append((*_none_of(flags, 1, 2, mask=3), _has(flags, 0o1000)))  # O_WRONLY, O_RDWR; O_TRUNC
        rules.append(Rule(name, tuple(refused)))
    return tuple(rules)


# Without a PID namespace these reach processes outside: a limit of 1 s of CPU time would end the host.
OTHERS = (
    *(
        Rule(name, (_none_of(0, 0),))
        for name in (
            *("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
            *("migrate_pages", "move_pages"),
        )
    ),
    Rule("setpriority", ((Test(0, 2),), _none_of(1, 0))),  # PRIO_USER: all of the user's
    Rule("ioprio_set", ((Test(0, 3),), _none_of(1, 0))),
)

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _TYPE = 1, 5, 0xF

# A pair of datagram sockets can still send to any path; the two ends of a stream reach only each other.
PAIRS = Rule("socketpair", (_none_of(0, _UNIX), _none_of(1, _STREAM, _SEQPACKET, mask=_TYPE)))


def families(*, unix: bool) -> Rule:
    """Sockets of the internet, of the list of network interfaces, and with `unix` those of this machine."""
    known = (_INET, _INET6, _NETLINK, *((_UNIX,) if unix else ()))
    return Rule("socket", (_none_of(0, *known), (Test(0, _NETLINK), *_none_of(2, 0))))
