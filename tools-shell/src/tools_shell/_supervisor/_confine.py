"""The rights that the first process of a sandboxed job gives up before it becomes the command."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from typing import Any

from tools_shell._supervisor import _landlock, _seccomp
from tools_shell._supervisor._system import capset, gain_nothing

# `pts` is not among them: it holds the terminals in which the user types.
_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))

_VERSION_3 = 0x20080522  # of what capset takes


def confine(policy: dict[str, Any]) -> None:
    """Do what `policy` says, for good; OSError when the kernel does not go along with all of it.

    It comes from `Isolation.wrap`. The standard streams have to be in place: a terminal among them stays usable.
    """
    if policy["level"] == "landlock":
        _confine_self(policy)
    else:
        _prepare_bubblewrap(policy)


def _confine_self(policy: dict[str, Any]) -> None:
    network = policy["network"]
    gain_nothing()  # so that root, too, has no more capabilities than it keeps, whatever it executes
    capset(struct.pack("<Ii", _VERSION_3, 0), bytes(24))  # effective, permitted and inheritable, in two halves
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
    """Prepare what bwrap reads: its arguments, which a command line would show to all users, and the filter."""
    _provide(policy["filter"], _seccomp.program(network=policy["network"], own_namespaces=True))
    _provide(policy["arguments"], b"".join(os.fsencode(word) + b"\0" for word in policy["options"]))
    if policy["ignore"]:
        _provide(policy["arguments"] + 1, policy["ignore"].encode())
    if policy["scopes"]:
        gain_nothing()
        _landlock.restrict_scopes()


def _provide(number: int, data: bytes) -> None:
    """Let a descriptor of this number yield `data` and end; a pipe, since limits on files do not apply to it."""
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
