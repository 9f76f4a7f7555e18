"""Bringing a package to the present template, without losing anything of its author's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tools_scaffold._answers import from_record
from tools_scaffold._changes import Change, apply, read
from tools_scaffold._errors import ScaffoldError, shown
from tools_scaffold._lines import decode, encode
from tools_scaffold._merge import merge
from tools_scaffold._project import parse, read_project
from tools_scaffold._template import VERSION, folder_of, render

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

BESIDE = ".new"


class Step(NamedTuple):
    """What becomes of one file.

    `fate` is created, replaced (its author had not changed it), merged (with what its author changed), beside (the
    new version lies beside it, under a name that ends in `.new`), removed (by its author, and it stays so) or dropped
    (the template has it no more, and it stays).
    """

    path: str
    fate: str
    change: Change | None = None


class Update(NamedTuple):
    """What an update does to the package in `folder`."""

    folder: Path
    old: int
    new: int
    steps: list[Step]

    @property
    def changes(self) -> list[Change]:
        """The changes of files."""
        return [step.change for step in self.steps if step.change is not None]

    def write(self) -> None:
        """Make the changes; ScaffoldError if that fails, and then all is as it was."""
        apply(self.folder, self.changes)


def plan_update(into: str | PathLike[str] | None = None) -> Update:
    """Compare a package with the present template; nothing is written before `write`.

    Raises:
        ScaffoldError: there is no package, or none that `ask-tools new` made.
    """
    project = read_project(into)
    table = project.table.get("tool", {}).get("ask-tools", {}).get("template")
    if not isinstance(table, dict) or type(table.get("version")) is not int:
        problem = "has no [tool.ask-tools.template] with a version"
        raise ScaffoldError(f"{shown(project.folder / 'pyproject.toml')} {problem}: ask-tools new did not make it")
    version: int = table["version"]
    answers = from_record(table)
    before, after = render(answers, folder_of(version), version), render(answers)
    if version == VERSION:
        return Update(project.folder, version, version, [])
    steps = [_step(project.folder, path, before.get(path), text) for path, text in after.items()]
    steps += [Step(path, "dropped") for path in before if path not in after and (project.folder / path).exists()]
    return Update(project.folder, version, VERSION, [step for step in steps if step.fate != "same"])


def _step(folder: Path, path: str, base: str | None, new: str) -> Step:
    data = read(folder, path)
    if data is None:
        return Step(path, "removed") if base is not None else Step(path, "created", Change(path, None, new.encode()))
    try:
        ours, ending = decode(data, path)
    except ScaffoldError:  # nothing that a line could be put into
        return _beside(folder, path, new)
    if new in (ours, base):
        return Step(path, "same")
    if base is None:
        return _beside(folder, path, new)
    result = new if ours == base else merge(base, ours, new)
    if result is None or not _is_sound(path, result):
        return _beside(folder, path, new)
    if result == ours:
        return Step(path, "same")
    fate = "replaced" if ours == base else "merged"
    return Step(path, fate, Change(path, data, encode(result, ending)))


def _beside(folder: Path, path: str, new: str) -> Step:
    place = path + BESIDE
    there = read(folder, place)
    if there is not None and there != new.encode():
        raise ScaffoldError(f"{shown(place)} is there from an earlier update; settle it and remove it first")
    return Step(path, "beside", Change(place, None, new.encode()) if there is None else None)


def _is_sound(path: str, text: str) -> bool:
    """Whether a merged file still is what its name says."""
    try:
        if path.endswith(".py"):
            ast.parse(text)
        elif path.endswith(".toml"):
            parse(text)
    except (SyntaxError, ScaffoldError):
        return False
    return True


def differences(update: Update) -> str:
    """All that an update would do, as unified differences."""
    return "".join(change.difference() for change in update.changes)
