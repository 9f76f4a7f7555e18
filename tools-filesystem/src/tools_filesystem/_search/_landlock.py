"""Starting a program that can read nothing but what it is given, however paths are swapped under it (Linux 5.13).

A Landlock domain holds for one thread and what that thread starts. So a thread is made that enters one, starts the
program, and ends.
"""

from __future__ import annotations

import functools
import os
import stat
import struct
import sys
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _T = TypeVar("_T")

# The same on every architecture that Python is built for.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_NO_NEW_PRIVS = 38


def start_confined(start: Callable[[], _T], readable: Iterable[int]) -> _T:
    """Call `start` where files can be opened for reading only below the descriptors `readable`.

    OSError where the system has no Landlock. Only reading is confined: other code that this thread may happen to run,
    such as a finalizer, is not to be kept from tidying up.
    """
    ruleset = _ruleset(readable)
    done: list[_T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            _enter(ruleset)
            done.append(start())
        except BaseException as error:  # noqa: BLE001  (it is raised again, in the thread that waits)
            failed.append(error)

    try:
        thread = threading.Thread(target=run, name="confined start")
        thread.start()
        thread.join()
    finally:
        os.close(ruleset)
    if failed:
        raise failed[0]
    return done[0]


@functools.cache
def can_confine() -> bool:
    """Return whether this system has Landlock, and nothing forbids it."""
    try:
        os.close(_ruleset(()))
    except (OSError, ImportError):  # a Python may be built without ctypes
        return False
    return True


def _ruleset(readable: Iterable[int]) -> int:
    import ctypes  # 5 ms, and only where it is used

    if sys.platform != "linux":
        raise OSError("this system has no Landlock")
    libc = ctypes.CDLL(None, use_errno=True)
    handled = struct.pack("Q", _READ_FILE | _READ_DIR)
    ruleset: int = _checked(libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0))
    try:
        for descriptor in readable:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            rule = struct.pack("=Qi", _READ_FILE | (_READ_DIR if is_folder else 0), descriptor)
            _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _enter(ruleset: int) -> None:
    import ctypes  # loaded already

    libc = ctypes.CDLL(None, use_errno=True)
    none = ctypes.c_ulong(0)
    _checked(libc.prctl(_NO_NEW_PRIVS, ctypes.c_ulong(1), none, none, none))
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0))


def _checked(value: int) -> int:
    import ctypes  # loaded already

    if value < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return value
