"""The folder in which a package is made before anybody sees it, and what becomes of one whose maker was killed."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@contextmanager
def aside_of(folder: Path) -> Generator[Path]:
    """Make a hidden folder beside `folder`; what is left of it at the end is removed.

    Its maker holds a lock on it, which ends with the process, however that ends: so the next one knows which of
    those that it finds are nobody's, and removes them.
    """
    _sweep(folder)
    aside = folder.with_name(f".{folder.name}.{os.urandom(4).hex()}.part")
    aside.mkdir()
    lock = _lock(aside)
    try:
        yield aside
    finally:
        if aside.exists():
            shutil.rmtree(aside, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _sweep(folder: Path) -> None:
    for left in folder.parent.glob(f".{folder.name}.{'[0-9a-f]' * 8}.part"):
        if left.is_symlink() or not left.is_dir():
            continue
        lock = _lock(left)
        if lock is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder; None if somebody else has, or where folders cannot be locked."""
    try:
        import fcntl  # not on Windows
    except ImportError:
        return None
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
        else:
            return descriptor
    return None
