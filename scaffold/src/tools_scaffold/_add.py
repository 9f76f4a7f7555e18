"""Adding a tool to a package: a module, its export, its entry point and its test, all of them or none."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from tools_scaffold._answers import Answers, ToolOptions, check
from tools_scaffold._changes import Change, apply, read
from tools_scaffold._errors import ScaffoldError, shown
from tools_scaffold._init_file import with_export
from tools_scaffold._lines import decode, encode
from tools_scaffold._names import read_name
from tools_scaffold._new import refuse_installed
from tools_scaffold._project import FILE, Project, read_project
from tools_scaffold._pyproject import with_dependency, with_entry_point
from tools_scaffold._template import TOOL, object_name, render_tool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from pathlib import Path


class Addition(NamedTuple):
    """What adding a tool does to the package in `folder`."""

    tool: str
    folder: Path
    distribution: str
    changes: list[Change]
    answers: Answers

    def write(self) -> None:
        """Make the changes; ScaffoldError if that fails, and then all is as it was."""
        apply(self.folder, self.changes)


def add_tool(
    name: str,
    *,
    into: str | PathLike[str] | None = None,
    dry_run: bool = False,
    installed: Mapping[str, str] | None = None,
    **options: Unpack[ToolOptions],
) -> Addition:
    """Add a tool called `name` to the package in `into`, by default where we are; with `dry_run` nothing is written.

    The options are those of `new_package` that say what a tool is.

    Raises:
        ScaffoldError: the name, an option or the package cannot be used; nothing was written.
    """
    project = read_project(into)
    package, place = project.package()
    names = read_name(name)
    others = {tool: origin for tool, origin in (installed or {}).items() if not _is_of(origin, project.distribution)}
    if names.tool in project.entry_points:
        raise ScaffoldError(f"{project.distribution} has a tool called {names.tool} already; nothing was changed")
    refuse_installed(names, others)
    names.package, names.distribution = package, project.distribution
    answers = check(Answers(names, time.localtime().tm_year, **options))
    found = Addition(names.tool, project.folder, project.distribution, _changes(project, answers, place), answers)
    if not dry_run:
        found.write()
    return found


def _changes(project: Project, answers: Answers, place: str) -> list[Change]:
    """In an order in which the package works after each of them, should force prevent the last ones.

    The entry point comes last, so that whoever tries again does the rest.
    """
    tool = answers.name.tool
    rendered = render_tool(answers)
    module, test = (rendered[path] for path in _paths(answers, f"src/{answers.name.package}"))
    path, test_path = _paths(answers, place)
    init = f"{place}/__init__.py"
    exported = object_name(answers)
    text, ending = decode(read(project.folder, init) or b"", init)
    exports = with_export(text, answers.name.package, f"_{tool}", exported)
    described = with_entry_point(project.text, tool, f"{answers.name.package}:{exported}")
    if answers.pydantic and not _needs(project.table, "pydantic"):
        described = with_dependency(described, "pydantic>=2.10")
    wanted = {
        path: module.encode("utf-8"),
        init: encode(exports, ending),
        test_path: test.encode("utf-8"),
        FILE: encode(described, project.ending),
    }
    changes = [Change(path, read(project.folder, path), data) for path, data in wanted.items()]
    for change in changes:
        if change.path in (path, test_path) and change.before not in (None, change.after):
            raise ScaffoldError(f"{shown(change.path)} exists already; nothing was changed")
    return [change for change in changes if change.before != change.after]


def _paths(answers: Answers, place: str) -> tuple[str, str]:
    tool = answers.name.tool
    module, test = (path.rpartition("/")[2].replace("example", tool) for path in TOOL)
    return f"{place}/{module}", f"tests/{test}"


def _needs(table: Mapping[str, Any], name: str) -> bool:
    import re

    needs = table["project"].get("dependencies", [])
    return any(re.split(r"[^A-Za-z0-9._-]", str(need).strip())[0].lower() == name for need in needs)


def _is_of(origin: str, distribution: str) -> bool:
    return origin.partition(" ")[0].lower().replace("_", "-") == distribution.lower().replace("_", "-")
