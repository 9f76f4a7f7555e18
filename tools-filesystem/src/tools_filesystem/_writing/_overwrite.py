"""Replacing an existing file: only with knowledge of what is lost, and only while it is unchanged."""

from __future__ import annotations

import stat
import time
from typing import TYPE_CHECKING

from tools_core import ToolError
from tools_filesystem._ledger import Stamp

if TYPE_CHECKING:
    import os

    from tools_filesystem._ledger import Ledger


def check_known(path: str, found: os.stat_result, ledger: Ledger) -> None:
    """Raise `conflict` unless all of the file was shown to this session, and it is as it was then."""
    stamp = Stamp.of(found)
    if ledger.covers(stamp):
        return
    then = ledger.last_seen(stamp)
    if then is None:
        problem = f"{path!r} exists ({found.st_size} bytes), and was not read in its present form"
    elif then != stamp:
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(stamp.mtime_ns // 10**9))
        problem = f"{path!r} has changed since it was read: {then.size} bytes then, {stamp.size} now, modified {when}"
    else:
        seen = sum(last - first for first, last in ledger.shown_of(stamp))
        problem = f"only {seen} of {stamp.size} bytes of {path!r} were read"
    fix = "Read all of it with read_file first, or pass overwrite=true; edit_file changes a part"
    raise ToolError(f"{problem}. {fix}", "conflict")


def check_permitted(found: os.stat_result, path: str, instead: str) -> None:
    """Raise `denied` for a file without write permission, which its owner has protected on purpose."""
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISREG(found.st_mode) and not mode & 0o222:
        raise ToolError(f"{path!r} is read-only (mode {mode:04o}); {instead}", "denied")
