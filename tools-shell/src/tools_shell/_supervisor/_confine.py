"""Dropping rights in the first process of a sandboxed job, before it executes the command."""

from __future__ import annotations

import errno
import fcntl
import os
from typing import Any

from tools_core.linux import (
    LANDLOCK_SCOPES,
    LANDLOCK_TRUNCATE,
    Access,
    Landlock,
    drop_capabilities,
    forbid_new_privileges,
    install_seccomp_filter,
    landlock_abi,
)
from tools_shell._supervisor import _seccomp

# Not `pts`, which contains the user's terminals.
_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))

_READABLE = Access.EXECUTE | Access.READ
_WRITABLE = Access.ALL & ~(Access.MAKE_CHAR | Access.MAKE_BLOCK | Access.IOCTL_DEV)
_DEVICE = Access.READ_FILE | Access.WRITE_FILE | Access.TRUNCATE | Access.IOCTL_DEV


def confine(policy: dict[str, Any]) -> None:
    """Apply `policy` irrevocably; OSError if the kernel refuses any part of it.

    The standard streams must be in place already, so that a terminal among them stays usable.
    """
    if policy["level"] == "landlock":
        _confine_self(policy)
    else:
        _prepare_bubblewrap(policy)


def _confine_self(policy: dict[str, Any]) -> None:
    network = policy["network"]
    forbid_new_privileges()  # so that root does not regain capabilities by executing a program
    drop_capabilities()
    with Landlock(Access.ALL, tcp=network, scoped=True) as rules:
        for path in (*policy["readable"], "/proc"):
            rules.allow(path, _READABLE)
        for path in policy["writable"]:
            # Another command with write access may have replaced it by a link.
            rules.allow(path, _WRITABLE, follow=False)
        for path in (*_DEVICES, *_terminals()):
            rules.allow(path, _DEVICE)
        rules.enforce()
    install_seccomp_filter(_seccomp.program(network=network, truncation=landlock_abi() < LANDLOCK_TRUNCATE))


def _terminals() -> list[str]:
    return [f"/proc/self/fd/{number}" for number in range(3) if os.isatty(number)]


def _prepare_bubblewrap(policy: dict[str, Any]) -> None:
    """Prepare the filter and the arguments for bwrap, which a command line would show to all users."""
    _fill_pipe(policy["filter"], _seccomp.program(network=policy["network"], own_namespaces=True))
    _fill_pipe(policy["arguments"], b"".join(os.fsencode(word) + b"\0" for word in policy["options"]))
    if policy["network"] and landlock_abi() >= LANDLOCK_SCOPES:  # it shares the abstract sockets of all processes
        with Landlock(scoped=True) as rules:
            rules.enforce()


def _fill_pipe(number: int, data: bytes) -> None:
    """Make descriptor `number` a pipe that contains `data`; limits on file sizes do not apply to pipes."""
    ours, theirs = os.pipe()
    try:
        if len(data) > fcntl.fcntl(theirs, fcntl.F_GETPIPE_SZ):
            _enlarge(theirs, len(data))
        os.write(theirs, data)
    finally:
        os.close(theirs)
    if ours == number:
        os.set_inheritable(ours, True)
    else:
        os.dup2(ours, number, inheritable=True)
        os.close(ours)


def _enlarge(pipe: int, size: int) -> None:
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)
    except OSError as error:
        raise OSError(errno.E2BIG, "the environment is too large for a sandbox") from error
