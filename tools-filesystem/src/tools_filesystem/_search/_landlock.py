"""Start a program that can read only given folders, even if paths are swapped meanwhile (Landlock, Linux 5.13).

A Landlock domain applies to one thread and its child processes, so a new thread enters the domain, starts the
program, and ends.
"""

from __future__ import annotations

import os
import stat
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from tools_filesystem._paths._kernel import call_libc
from tools_filesystem._paths._resolve import closing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _T = TypeVar("_T")

# The same on every architecture that Python is built for.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_NO_NEW_PRIVS = 38


def start_confined(start: Callable[[], _T], readable: Iterable[str]) -> _T:
    """Call `start` where files can be opened for reading only at or below `readable`, as far as that exists.

    Without Landlock it is called unconfined. Only reading is confined, so that a finalizer that happens
    to run in the thread can still clean up.
    """
    try:
        handled = struct.pack("Q", _READ_FILE | _READ_DIR)
        ruleset = call_libc("syscall", _CREATE_RULESET, handled, len(handled), 0)
    except OSError:
        return start()
    try:
        for path in readable:
            with suppress(FileNotFoundError), closing(os.open(path, os.O_PATH)) as place:
                is_folder = stat.S_ISDIR(os.fstat(place).st_mode)
                rule = struct.pack("=Qi", _READ_FILE | (_READ_DIR if is_folder else 0), place)
                call_libc("syscall", _ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)

        def run() -> _T:
            call_libc("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)
            call_libc("syscall", _RESTRICT_SELF, ruleset, 0)
            return start()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(run).result()
    finally:
        os.close(ruleset)
