"""A package that can be written, and how it is: whole or not at all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tools_scaffold._aside import aside_of
from tools_scaffold._errors import ScaffoldError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tools_scaffold._answers import Answers


class Plan:
    """What a new package will be: its `folder`, and the text of its `files` by their path in it.

    `tool`, `distribution` and `package` are its three names, `answers` is what it is made from.
    """

    __slots__ = ("answers", "distribution", "files", "folder", "package", "tool")

    def __init__(self, answers: Answers, folder: Path, files: dict[str, str]) -> None:
        self.answers = answers
        self.tool = answers.name.tool
        self.distribution = answers.name.distribution
        self.package = answers.name.package
        self.folder = folder
        self.files = files

    def __repr__(self) -> str:
        return f"Plan({self.distribution!r}, {str(self.folder)!r}, {len(self.files)} files)"

    def write(self) -> None:
        """Make the folder; ScaffoldError if it cannot be made, and then nothing is left behind."""
        parent = self.folder.parent
        try:
            # A fresh clone lacks the folder for packages while none is in it; any deeper gap is a mistake.
            made_parent = not parent.exists()
            if made_parent:
                parent.mkdir()
            try:
                _write_aside(self.files, self.folder)
            except BaseException:
                if made_parent:
                    parent.rmdir()
                raise
        except OSError as error:
            place = error.filename or self.folder
            raise ScaffoldError(f"nothing was made: {shown(place)}: {error.strerror or error}") from error


def _write_aside(files: Mapping[str, str], folder: Path) -> None:
    """Write everything under a temporary name beside `folder`, then rename: nobody sees half a package."""
    with aside_of(folder) as aside:
        for path, text in files.items():
            target = aside / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        with suppress(FileNotFoundError):
            folder.rmdir()  # fails on all but an empty folder, so on whatever came since the plan was made
        aside.rename(folder)
