"""Making a package: check everything, render, write."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack, cast

from tools_scaffold._answers import Answers, PackageOptions, check
from tools_scaffold._errors import ScaffoldError
from tools_scaffold._git import ask_git
from tools_scaffold._names import PackageName, propose, read_name
from tools_scaffold._place import check_free, choose_parent
from tools_scaffold._plan import Plan
from tools_scaffold._template import render

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike


def new_package(
    name: str,
    *,
    into: str | PathLike[str] | None = None,
    year: int | None = None,
    dry_run: bool = False,
    installed: Mapping[str, str] | Iterable[str] = (),
    **options: Unpack[PackageOptions],
) -> Plan:
    """Make a tool package called `name`, and return what was made; with `dry_run` nothing is written.

    `into` is the folder to make it in: by default the repository's folder for packages, else the current
    one. `style` is function, class or toolset; `params` the tool's parameters, such as `city:str, days:int=3`, else
    it is a sample that looks temperatures up; with `pydantic` it is written with that. `author` may be
    `Name <address>`, and is git's user by default; `url` is what git says, too. `license` is an SPDX identifier,
    proprietary or none, `python` the lowest version, and without `ci` there are no workflows. `installed` are the
    tool names that are taken, best with the distribution of each, which an error can then name.

    Raises:
        ScaffoldError: the name, an option or the place cannot be used; nothing was written.
    """
    names = read_name(name)
    refuse_installed(names, installed)
    year = time.localtime().tm_year if year is None else year
    answers = check(Answers(names, year, **options))
    parent = choose_parent(into)
    folder = parent / names.distribution
    check_free(folder)
    if answers.author is None or answers.url is None:
        known = ask_git(parent, names.distribution)
        answers = answers._replace(author=answers.author or known.author, url=answers.url or known.url)
    plan = Plan(answers, folder, render(answers))
    if not dry_run:
        plan.write()
    return plan


def refuse_installed(names: PackageName, installed: Mapping[str, str] | Iterable[str]) -> None:
    """Refuse a name that an installed tool, or package, has already."""
    origins = cast("Mapping[str, str]", installed if isinstance(installed, Mapping) else dict.fromkeys(installed, ""))
    taken = {tool.rpartition(":")[2].lower().replace("-", "_"): origin for tool, origin in origins.items()}
    if names.tool in taken:
        origin = f" from {taken[names.tool]}" if taken[names.tool] else ""
        problem = f"a tool called {names.tool} is installed already{origin}"
    elif names.distribution in (origin.partition(" ")[0] for origin in taken.values()):
        problem = f"a package called {names.distribution} is installed already"
    else:
        return
    proposal = propose(f"my_{names.tool}", taken)
    raise ScaffoldError(f"{problem}; try {proposal or 'another name'}, or uninstall it first", proposal)
