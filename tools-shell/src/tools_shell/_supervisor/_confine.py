"""Dropping rights in the first process of a sandboxed job, before it executes the command."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from typing import Any

from tools_shell._supervisor import _landlock, _seccomp
from tools_shell._supervisor._system import capset, forbid_new_privileges

# Not `pts`, which contains the user's terminals.
_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))

_VERSION_3 = 0x20080522  # of the capset structures


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
    capset(struct.pack("<Ii", _VERSION_3, 0), bytes(24))  # effective, permitted and inheritable sets, 32 bits each
    _landlock.restrict(
        readable=(*policy["readable"], "/proc"),
        writable=policy["writable"],
        devices=(*_DEVICES, *_terminals()),
        network=network,
    )
    truncation = _landlock.abi() < _landlock.TRUNCATION
    _seccomp.install(_seccomp.program(network=network, truncation=truncation))


def _terminals() -> list[str]:
    return [f"/proc/self/fd/{number}" for number in range(3) if os.isatty(number)]


def _prepare_bubblewrap(policy: dict[str, Any]) -> None:
    """Prepare the filter and the arguments for bwrap, which a command line would show to all users."""
    _fill_pipe(policy["filter"], _seccomp.program(network=policy["network"], own_namespaces=True))
    _fill_pipe(policy["arguments"], b"".join(os.fsencode(word) + b"\0" for word in policy["options"]))
    if policy["ignore"]:
        _fill_pipe(policy["arguments"] + 1, policy["ignore"].encode())
    if policy["network"] and _landlock.abi() >= _landlock.SCOPES:  # it shares the abstract sockets of all processes
        forbid_new_privileges()
        _landlock.restrict_scopes()


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
