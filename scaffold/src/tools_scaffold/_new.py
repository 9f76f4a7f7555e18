"""Making a package: check everything, render, write."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from tools_scaffold._author import git_author
from tools_scaffold._errors import ScaffoldError, shown
from tools_scaffold._names import PackageName, propose, read_name
from tools_scaffold._place import check_free, choose_parent
from tools_scaffold._plan import Plan
from tools_scaffold._template import render

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

_LINE_LIMIT = {"description": 300, "author": 100}


def new_package(
    name: str,
    *,
    into: str | PathLike[str] | None = None,
    description: str | None = None,
    author: str | None = None,
    year: int | None = None,
    dry_run: bool = False,
    installed: Mapping[str, str] | Iterable[str] = (),
) -> Plan:
    """Make a tool package called `name`, and return what was made; with `dry_run` nothing is written.

    `into` is the folder to make it in: by default the repository's folder for packages, else the current
    one. `author` is git's user by default. `installed` are the tool names that are taken, best with the
    distribution of each, which an error can then name.

    Raises:
        ScaffoldError: the name, an option or the place cannot be used; nothing was written.
    """
    names = read_name(name)
    _refuse_installed(names, installed)
    for option, text in (("description", description), ("author", author)):
        if text is not None:
            _check_line(option, text)
    folder = choose_parent(into) / names.distribution
    check_free(folder)
    if author is None:
        author = git_author()
    if year is None:
        year = time.localtime().tm_year
    plan = Plan(names, folder, render(names, description=description, author=author, year=year))
    if not dry_run:
        plan.write()
    return plan


def _refuse_installed(names: PackageName, installed: Mapping[str, str] | Iterable[str]) -> None:
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


def _check_line(option: str, text: str) -> None:
    limit = _LINE_LIMIT[option]
    if not text.strip() or not text.isprintable() or len(text) > limit:
        raise ScaffoldError(f"the {option} must be a line of 1 to {limit} printable characters, not {shown(text, 60)}")
