"""The state of protected files, as a guard compares it before and after a command."""

from __future__ import annotations

import os
import stat
import time
from typing import TypeAlias

from tools_core.files import CONTROL_FILES, fold_name
from tools_shell._git._config import read_config

State: TypeAlias = tuple[int, ...]

_MAX_FILES = 200  # of a protected folder


def now() -> int:
    """Return the time of the clock that files are stamped with, in nanoseconds."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_REALTIME_COARSE", time.CLOCK_REALTIME))


def state_of(path: str) -> State:
    status = os.lstat(path)
    return status.st_dev, status.st_ino, status.st_ctime_ns  # commands can set the modification time


def has_other_name(hook: os.DirEntry[str]) -> bool:
    """Return whether a hook can be changed by another name: it has more links, or is one."""
    status = hook.stat(follow_symlinks=False)
    is_shared = stat.S_ISREG(status.st_mode) and status.st_nlink > 1
    return not hook.name.endswith(".sample") and (is_shared or stat.S_ISLNK(status.st_mode))


def pointer_of(path: str) -> bytes:
    """Return the content of a file `.git`; OSError for something else."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        read = read_config(folder, os.path.basename(path))
    except ValueError:
        return b""
    finally:
        os.close(folder)
    return read[0] if read is not None else b""


def files_of(place: str) -> list[str]:
    """Return the files of a protected place that programs run or trust: the place itself unless it has files."""
    if not os.path.isdir(place) or os.path.islink(place):
        return [place]
    name = fold_name(os.path.basename(place))
    if name in CONTROL_FILES:
        return [path for part in CONTROL_FILES[name] if os.path.lexists(path := f"{place}/{part}")]
    files: list[str] = []
    for folder, _, names in os.walk(place):
        files += [f"{folder}/{name}" for name in sorted(names)]
        if len(files) > _MAX_FILES:
            break
    return files or [place]
