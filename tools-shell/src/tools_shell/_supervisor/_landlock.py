"""Landlock: restrict a process and its children to named files."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from typing import TYPE_CHECKING

from tools_shell._supervisor._system import system_call

if TYPE_CHECKING:
    from collections.abc import Iterable

# Equal on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
# The number of rights for files, by ABI: 2 adds moving between folders, 3 truncating, 5 ioctl on devices.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV  # the other rights apply to folders only
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICE = _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV

NETWORK, TRUNCATION, SCOPES = 4, 3, 6  # the first ABI with TCP, with truncation, and with signals and abstract sockets
_TCP = 0b11  # bind, connect
_ABSTRACT_SOCKETS, _SIGNALS = 0b01, 0b10


def abi() -> int:
    """Return the version of the kernel's Landlock ABI; 0 if it is missing or disabled."""
    try:
        return system_call(_CREATE_RULESET, 0, 0, _VERSION)
    except OSError as error:
        if error.errno not in {errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}:  # a container's filter raises EPERM
            raise
        return 0


def restrict(*, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str], network: bool) -> None:
    """Restrict this process to files at and below these paths; OSError if the kernel refuses.

    Readable files can be executed. Missing paths grant nothing, and neither do writable paths that are links.
    From ABI 6, signals and abstract sockets reach no process outside; from ABI 4, there is no TCP without `network`.
    """
    version = abi()
    handled = (1 << _RIGHTS.get(version, 16)) - 1
    tcp = _TCP if version >= NETWORK and not network else 0
    ruleset = _create(version, handled, tcp)
    try:
        for path in readable:
            _allow(ruleset, path, handled & _READ)
        for path in writable:
            # Another command with write access may have replaced it by a link.
            _allow(ruleset, path, handled & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV), os.O_NOFOLLOW)
        for path in devices:
            _allow(ruleset, path, handled & _DEVICE)
        system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def restrict_scopes() -> None:
    """Block signals and abstract sockets to processes outside; OSError before ABI 6."""
    ruleset = _create(abi(), 0, 0)
    try:
        system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _create(version: int, files: int, tcp: int) -> int:
    scopes = _ABSTRACT_SOCKETS | _SIGNALS if version >= SCOPES else 0
    attributes = struct.pack("<QQQ", files, tcp, scopes)
    size = 24 if version >= SCOPES else 16 if version >= NETWORK else 8
    given = ctypes.create_string_buffer(attributes, len(attributes))
    return system_call(_CREATE_RULESET, ctypes.addressof(given), size, 0)


def _allow(ruleset: int, path: str, rights: int, how: int = 0) -> None:
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC | how)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # not reachable anyway
    try:
        if not stat.S_ISDIR(os.fstat(target).st_mode):
            rights &= _OF_FILES
        given = ctypes.create_string_buffer(struct.pack("<Qi", rights, target), 12)
        system_call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.addressof(given), 0)
    finally:
        os.close(target)
