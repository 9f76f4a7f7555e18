"""Changes of several files of a package: all of them are made, or none."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tools_scaffold._aside import aside_of
from tools_scaffold._errors import ScaffoldError, shown

if TYPE_CHECKING:
    from pathlib import Path


class Change(NamedTuple):
    """What a file of a package holds, None if there is none yet, and what it shall hold."""

    path: str
    before: bytes | None
    after: bytes

    def difference(self) -> str:
        """The change as a unified difference."""
        from difflib import unified_diff  # 10 ms

        old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (self.before, self.after))
        source = f"a/{self.path}" if self.before is not None else "/dev/null"
        return "\n".join([*unified_diff(old, new, source, f"b/{self.path}", lineterm=""), ""])


def read(folder: Path, path: str) -> bytes | None:
    """What a file of a package holds, None if there is none; ScaffoldError if it is not the package's own."""
    target = folder / path
    try:
        if target.is_symlink() or not target.resolve().is_relative_to(folder.resolve()):
            raise ScaffoldError(f"{shown(path)} leads out of {shown(folder)} or is a link; nothing was changed")
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ScaffoldError(f"nothing was changed: {shown(target)}: {error.strerror or error}") from error


def apply(folder: Path, changes: list[Change]) -> None:
    """Make the changes, in their order; ScaffoldError if that fails, and then all is as it was."""
    try:
        with aside_of(folder / "ask-tools") as aside:
            _stage(folder, aside, changes)
            _make(folder, aside, changes)
    except OSError as error:
        raise ScaffoldError(f"nothing was changed: {shown(error.filename)}: {error.strerror or error}") from error


def _stage(folder: Path, aside: Path, changes: list[Change]) -> None:
    """Write all that is new aside, where a full disk does no harm, with the modes of what it replaces."""
    for number, change in enumerate(changes):
        staged = aside / str(number)
        with staged.open("xb") as file:
            file.write(change.after)
            file.flush()
            os.fsync(file.fileno())
        if change.before is not None:
            shutil.copymode(folder / change.path, staged)


def _make(folder: Path, aside: Path, changes: list[Change]) -> None:
    made: list[tuple[Path, bytes | None]] = []
    folders: list[Path] = []
    try:
        for number, change in enumerate(changes):
            target = folder / change.path
            folders += _make_folders(target.parent)
            _refuse_changed(folder, change)
            made.append((target, change.before))
            (aside / str(number)).replace(target)
    except BaseException:  # also when interrupted
        for target, before in reversed(made):
            _restore(target, before, aside)
        for each in reversed(folders):
            with suppress(OSError):  # somebody else has put something into it
                each.rmdir()
        raise


def _refuse_changed(folder: Path, change: Change) -> None:
    if read(folder, change.path) != change.before:
        raise ScaffoldError(f"{shown(change.path)} was changed meanwhile; nothing of ours was kept, try again")


def _restore(target: Path, before: bytes | None, aside: Path) -> None:
    if before is None:
        target.unlink(missing_ok=True)
        return
    kept = aside / "before"
    kept.write_bytes(before)
    shutil.copymode(target, kept)
    kept.replace(target)


def _make_folders(folder: Path) -> list[Path]:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir()
    return missing[::-1]
