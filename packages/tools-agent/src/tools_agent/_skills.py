"""`Skills`: instructions that the model loads when it needs them, each from a folder with a `SKILL.md`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]  # it has no types

from tools_agent._messages import System
from tools_core import Tool, ToolError, tool

_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)(.*)", re.DOTALL)


class Skill(NamedTuple):
    """A skill: its name, when to use it, and the folder with its `SKILL.md` and further files."""

    name: str
    description: str
    folder: Path

    @property
    def instructions(self) -> str:
        """The text of `SKILL.md` below its front matter."""
        return _read(self.folder / "SKILL.md")[1].strip()


class Skills(Mapping[str, Skill]):
    """The skills in some folders, by name.

    Each folder is a skill, or contains folders that are. `SKILL.md` begins with YAML that has `name` and `description`,
    between two lines `---`. The model sees names and descriptions, and calls `load_skill` for the rest. Raises
    ValueError for a folder without skills, a file without name or description, and two skills with the same name.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]]) -> None:
        self._skills: dict[str, Skill] = {}
        for skill in (skill for folder in folders for skill in _skills_in(Path(folder))):
            if skill.name in self._skills:
                raise ValueError(f"two skills are called {skill.name!r}: {self[skill.name].folder} and {skill.folder}")
            self._skills[skill.name] = skill

    def __getitem__(self, name: str) -> Skill:
        return self._skills[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._skills)

    def __len__(self) -> int:
        return len(self._skills)

    @cached_property
    def message(self) -> System | None:
        """The message that tells the model about the skills."""
        if not self._skills:
            return None
        lines = [f"- {skill.name}: {skill.description}" for skill in self.values()]
        text = "These skills are available. Call load_skill for the instructions of one before you use it.\n"
        return System(content=text + "\n".join(lines))

    @cached_property
    def tool(self) -> Tool:
        """The tool that loads a skill."""

        @tool(read_only=True)
        def load_skill(name: str, file: str = "SKILL.md") -> str:
            """Load the instructions of a skill, or another file of its folder.

            Args:
                name: The name of the skill.
                file: A file that the instructions mention, relative to the skill's folder.
            """
            skill = self.get(name)
            if skill is None:
                raise ToolError(f"no skill is called {name!r}; there are {', '.join(self)}", type="not_found")
            if file == "SKILL.md":
                return skill.instructions
            path = (skill.folder / file).resolve()
            if not path.is_relative_to(skill.folder.resolve()) or not path.is_file():
                raise ToolError(f"the skill {name!r} has no file {file!r}", type="not_found")
            return path.read_text(encoding="utf-8", errors="replace")

        return load_skill


def _skills_in(folder: Path) -> list[Skill]:
    files = [folder / "SKILL.md"] if (folder / "SKILL.md").is_file() else sorted(folder.glob("*/SKILL.md"))
    if not files:
        raise ValueError(f"{folder}: no skill here; a skill is a folder with a SKILL.md")
    return [_skill(file) for file in files]


def _skill(file: Path) -> Skill:
    fields, _ = _read(file)
    for name in ("name", "description"):
        if not fields.get(name):
            raise ValueError(f"{file}: it has no {name}; begin it with --- and the lines name: and description:")
    return Skill(fields["name"], fields["description"], file.parent)


def _read(file: Path) -> tuple[dict[str, str], str]:
    """Return the fields of a file's front matter, and the text below it."""
    try:
        text = file.read_text(encoding="utf-8-sig")  # editors of Windows write a mark first
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: it is not UTF-8: {error}") from error
    match = _FRONT.match(text)
    if match is None:
        return {}, text
    try:
        fields = yaml.safe_load(match[1])
    except yaml.YAMLError as error:
        raise ValueError(f"{file}: its front matter is not YAML: {error}") from error
    if not isinstance(fields, dict):
        raise ValueError(f"{file}: its front matter is not a mapping of names to values")  # noqa: TRY004  (a ValueError, as other mistakes of a file)
    return {str(name): str(value).strip() for name, value in fields.items() if value is not None}, match[2]


def skills_of(folders: Any) -> Skills | None:
    """Return the skills of an agent's option."""
    if folders is None or isinstance(folders, Skills):
        return folders
    return Skills([folders] if isinstance(folders, str | os.PathLike) else folders)
