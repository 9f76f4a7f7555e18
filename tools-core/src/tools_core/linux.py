"""Make Linux system calls that Python has no function for, read /proc, and restrict a process with Landlock.

The module can be imported on every system. If the system or the C library does not have a call, the function raises
OSError with the code ENOSYS.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from contextlib import suppress
from enum import IntFlag
from types import TracebackType
from typing import Self

_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
RENAME_NOREPLACE = 1
RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH = 0x02, 0x04, 0x08

# The ABI versions of Landlock that added rules for truncating files, for TCP, and for signals and abstract sockets.
LANDLOCK_TRUNCATE, LANDLOCK_TCP, LANDLOCK_SCOPES = 3, 4, 6

# These numbers are the same on every architecture that Python is built for.
_OPENAT2, _LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 437, 444, 445, 446

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 36, 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522


def openat2(path: str, flags: int, *, dir_fd: int, resolve: int) -> int:
    """Open a path like `os.open`, and restrict how it is resolved: `RESOLVE_BENEATH` refuses paths out of `dir_fd`."""
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, resolve)
    while True:
        try:
            return _call("syscall", _OPENAT2, dir_fd, os.fsencode(path), how, len(how))
        except OSError as error:
            # EAGAIN: after a concurrent rename, the kernel could not tell whether `..` stayed inside.
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                raise


def renameat2(source: str, destination: str, flags: int, *, src_dir_fd: int, dst_dir_fd: int) -> None:
    """Rename like `os.rename`, with flags: `RENAME_NOREPLACE` does not replace a file."""
    _call("renameat2", src_dir_fd, os.fsencode(source), dst_dir_fd, os.fsencode(destination), flags)


def unshare(flags: int) -> None:
    """Move this process into new namespaces, such as `CLONE_NEWUSER | CLONE_NEWNET`; it must have one thread."""
    _call("unshare", flags)


def setns(descriptor: int, kind: int) -> None:
    """Move this process into the namespace of an open file, such as `/proc/PID/ns/net` with `CLONE_NEWNET`."""
    _call("setns", descriptor, kind)


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_at_parent_exit(number: int) -> None:
    """Let the kernel send this process a signal when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def set_dumpable(*, dumpable: bool) -> None:
    """Set whether the user's other processes can read the memory and environment of this one; root always can."""
    _prctl(_PR_SET_DUMPABLE, int(dumpable))


def forbid_new_privileges() -> None:
    """Keep this thread, its children and the programs they execute from gaining privileges, such as by set-uid bits."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up all capabilities of this process, which as root include the right to ignore file permissions."""
    # The effective, permitted and inheritable sets are two times 32 bits each.
    _call("capset", struct.pack("Ii", _CAPABILITY_VERSION_3, 0), bytes(24))


def install_seccomp_filter(program: bytes) -> None:
    """Check all further system calls of this thread and its children with a BPF program; see seccomp(2).

    It requires `forbid_new_privileges`.
    """
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(instructions))
    _call("prctl", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0)


def prefer_for_oom_killer() -> None:
    """Let the kernel end this process and its children first when the machine runs out of memory."""
    # Some security modules forbid writing to /proc.
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(b"1000")


def process_fields(process: int | str) -> list[bytes]:
    """Return the fields of /proc/PID/stat from the state on (proc_pid_stat(5)); an empty list if it has exited."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()  # the name before may contain any character, `)` included
    except OSError:
        return []


def landlock_abi() -> int:
    """Return the version of the kernel's Landlock ABI; 0 if Landlock is missing or disabled."""
    try:
        return _call("syscall", _LANDLOCK_CREATE_RULESET, 0, 0, 1)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):  # a container's filter raises EPERM
            raise
        return 0


class Access(IntFlag):
    """Rights to files and folders that Landlock can restrict; see landlock(7)."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15

    NONE = 0
    READ = READ_FILE | READ_DIR
    ALL = (1 << 16) - 1


_FILE_ACCESS = Access.EXECUTE | Access.WRITE_FILE | Access.READ_FILE | Access.TRUNCATE | Access.IOCTL_DEV
_ACCESS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NO_TCP = 0b11  # neither bind nor connect
_NO_ABSTRACT_SOCKETS_NO_SIGNALS = 0b11


class Landlock:
    """Rules that restrict a thread, its children and the programs they execute, from `enforce` on.

    ```python
    with Landlock(Access.READ) as rules:
        rules.allow("/usr", Access.READ)
        rules.enforce()  # no file outside /usr can be opened for reading
    ```

    Args:
        access: Rights that are denied without a rule, as far as the kernel can restrict them.
        tcp: Whether TCP stays possible. To forbid it needs ABI 4.
        scoped: Whether signals and abstract sockets reach no process without these rules. It needs ABI 6.

    Raises:
        OSError: The kernel has no Landlock, or can restrict nothing of this.
    """

    def __init__(self, access: Access = Access.NONE, *, tcp: bool = True, scoped: bool = False) -> None:
        abi = landlock_abi()
        self.access = access & _ACCESS_BY_ABI.get(abi, Access.ALL)
        no_tcp = 0 if tcp or abi < LANDLOCK_TCP else _NO_TCP
        scopes = _NO_ABSTRACT_SOCKETS_NO_SIGNALS if scoped and abi >= LANDLOCK_SCOPES else 0
        size = 24 if abi >= LANDLOCK_SCOPES else 16 if abi >= LANDLOCK_TCP else 8
        attributes = struct.pack("QQQ", self.access, no_tcp, scopes)
        self._ruleset = _call("syscall", _LANDLOCK_CREATE_RULESET, attributes, size, 0)

    def allow(self, path: str, access: Access, *, follow: bool = True) -> None:
        """Allow `access` to a file, or to a folder and everything below it.

        Nothing is allowed if the path does not exist or cannot be reached. Without `follow`, a symbolic link itself is
        meant, which grants no access to its target.
        """
        try:
            target = os.open(path, os.O_PATH | (0 if follow else os.O_NOFOLLOW))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return
        try:
            access &= self.access if stat.S_ISDIR(os.fstat(target).st_mode) else self.access & _FILE_ACCESS
            _call("syscall", _LANDLOCK_ADD_RULE, self._ruleset, 1, struct.pack("=Qi", access, target), 0)
        finally:
            os.close(target)

    def enforce(self) -> None:
        """Apply the rules to this thread and its future children; this cannot be undone."""
        forbid_new_privileges()
        _call("syscall", _LANDLOCK_RESTRICT_SELF, self._ruleset, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._ruleset)


def _prctl(option: int, value: int) -> None:
    _call("prctl", option, value, 0, 0, 0)


def _call(name: str, *arguments: int | bytes) -> int:
    """Call a function of the C library; OSError if it fails or does not exist."""
    function = getattr(_libc, name, None) if sys.platform == "linux" else None
    if function is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    words = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result: int = function(*words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
