"""Whether an existing file may be replaced as a whole: only by who knows what is lost."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._edit._occurrences import line_numbers
from tools_filesystem._ledger import Stamp
from tools_filesystem._read._version import LARGEST, version_of
from tools_filesystem._step import open_in

if TYPE_CHECKING:
    from tools_filesystem._ledger import Ledger

_COUNTED = 64 << 20  # bytes in which lines are counted for a message


def check_known(folder: int, name: str, path: str, found: os.stat_result, ledger: Ledger) -> None:
    """Raise `conflict` unless all of the file was shown to this session, and it is as it was then."""
    stamp = Stamp.of(found)
    if ledger.covers(stamp):
        return
    then = ledger.last_seen(stamp)
    if then is None:
        problem = f"{path!r} exists ({found.st_size} bytes), and this session has not read it in its present form"
        fix = "read it with read_file first"
    elif then != stamp:
        problem = f"{path!r} has changed since it was read: {_difference(then, stamp)}"
        fix = "read it again"
    else:
        problem = f"only a part of {path!r} was read: {_gap(folder, name, ledger.shown_of(stamp), found.st_size)}"
        fix = "read the rest"
    raise ToolError(f"{problem}. To replace it, {fix}, or pass overwrite=true; edit_file changes a part", "conflict")


def check_version(folder: int, name: str, path: str, version: str) -> None:
    """Raise `conflict` unless `version` is that of the file's present content."""
    descriptor = open_in(folder, name)
    try:
        found = os.fstat(descriptor)
        present = version_of(descriptor)
    finally:
        os.close(descriptor)
    if present is None:
        message = f"{path!r} is larger than {LARGEST} bytes and has no version; leave version out"
        raise ToolError(message, "conflict")
    if present != version:
        now = f"it has {found.st_size} bytes now, {_when(found.st_mtime_ns)}"
        raise ToolError(f"{path!r} is not what version {version!r} was: {now}. Read it again", "conflict")


def _difference(then: Stamp, now: Stamp) -> str:
    if then.size != now.size:
        return f"it had {then.size} bytes and has {now.size} now, {_when(now.mtime_ns)}"
    return f"it still has {now.size} bytes, but was {_when(max(now.mtime_ns, now.ctime_ns))}"


def _gap(folder: int, name: str, shown: list[tuple[int, int]], size: int) -> str:
    """The first part that was not shown, in lines where these can be counted at little cost."""
    start = shown[0][1] if shown and shown[0][0] == 0 else 0
    following = [begin for begin, _ in shown if begin > start]
    end = following[0] if following else size
    seen = sum(last - first for first, last in shown)
    text = f"{seen} of {size} bytes; the first that were not are bytes {start} to {end - 1}"
    if end > _COUNTED:
        return text
    descriptor = open_in(folder, name)
    try:
        first, last = line_numbers(descriptor, [start, end - 1])
    finally:
        os.close(descriptor)
    return f"{text}, in line {first}" if first == last else f"{text}, in lines {first} to {last}"


def _when(nanoseconds: int) -> str:
    return time.strftime("modified %Y-%m-%d at %H:%M:%S UTC", time.gmtime(nanoseconds // 10**9))
