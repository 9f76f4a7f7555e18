"""`ask-tools new`: generate a package with one tool."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tools_scaffold._errors import ScaffoldError, check_line, show
from tools_scaffold._git import read_config, repository_root
from tools_scaffold._names import package_names
from tools_scaffold._params import json_text
from tools_scaffold._plan import Plan
from tools_scaffold._project import parse_toml, read
from tools_scaffold._template import LICENSES, PACKAGE, REPOSITORY, render
from tools_scaffold._terminal import add_options, run, tool_options
from tools_scaffold._tool import Tool, ToolOptions, make_tool

if TYPE_CHECKING:
    import argparse
    from os import PathLike

EPILOG = """\
examples:
  ask-tools new weather
  ask-tools new weather --params 'city:str "Name of the city", days:int=3, units:C|F' --dry-run
  ask-tools new tides --style toolset --license Apache-2.0
"""
RELEASES = """
The workflows for GitHub install tools-core from the package index, so they work once it is published. To release a
version, see [docs/publish.md](docs/publish.md).
"""

_with_address = re.compile(r"(.*\S)\s*<([^<>@\s]+@[^<>@\s]+)>").fullmatch
_is_url = re.compile(r"https?://[\w.-]+(?:[/?#][^\s\"\\]*)?").fullmatch


def plan_package(
    name: str,
    *,
    into: str | PathLike[str] | None = None,
    author: str | None = None,
    url: str | None = None,
    license: str = "MIT",  # noqa: A002 - the name of the option
    ci: bool = True,
    **options: Unpack[ToolOptions],
) -> Plan:
    """Plan a package with a tool called `name`; `write()` on the result writes it.

    `into` is the folder for the new folder: by default the one that the surrounding repository configures with
    `[tool.ask-tools] packages = "..."`, or the current one. `author` is `Name` or `Name <address>`; author and `url`
    default to git's settings. `license` is an SPDX identifier or `none`. Workflows for GitHub are left out inside
    a git repository, and with `ci=False`.

    Raises:
        ScaffoldError: the name, an option or the folder is not usable.
    """
    tool = make_tool(package_names(name), options)
    parent = _packages_folder(Path.cwd()) if into is None else Path(into).resolve()
    if into is not None and not parent.is_dir():
        raise ScaffoldError(f"{show(into)} is not a folder")
    folder = parent / tool.names.distribution
    if folder.exists() or folder.is_symlink():
        raise ScaffoldError(f"{show(folder)} exists; choose another name or --dir")
    git = read_config(parent)
    author = author or git.author or f"The {tool.names.distribution} authors"
    check_line("author", author)
    url = url or git.url
    if url is not None and not _is_url(url):
        raise ScaffoldError(f"--url {show(url)} is not an address such as https://example.org/tools-weather")
    if license not in (*LICENSES, "none"):
        raise ScaffoldError(f"--license {show(license)} is not one of {', '.join(LICENSES)}, none")
    ci = ci and repository_root(parent) is None
    values = tool.values | _package_values(tool, author, url, license, ci=ci)
    sources = PACKAGE | (REPOSITORY if ci else {})
    if license != "none":
        sources |= {"LICENSE": f"licenses/{license}.tmpl"}
    return Plan(tool, folder, dict(sorted((render(sources, values) | tool.files).items())))


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `ask-tools new` to `parser`, and the function that runs it."""
    parser.description = "Generate a package with a tool, tests, configuration and workflows for GitHub."
    parser.epilog = EPILOG
    add_options(parser)
    parser.add_argument("--author", help='such as "Ada <ada@example.org>" (default: from git)')
    parser.add_argument("--url", help="where the code is published (default: from git)")
    parser.add_argument("--license", choices=[*LICENSES, "none"], default="MIT", help="(default: MIT)")
    parser.add_argument("--no-ci", action="store_true", help="leave out the workflows for GitHub")
    parser.add_argument("--dir", help="where to create its folder (default: here, or as the repository configures)")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    def make_plan() -> Plan:
        return plan_package(
            arguments.name,
            into=arguments.dir,
            author=arguments.author,
            url=arguments.url,
            license=arguments.license,
            ci=not arguments.no_ci,
            **tool_options(arguments),
        )

    return run(arguments, make_plan, first_step="cd {folder} && python -m pip install --editable . pytest")


def _packages_folder(start: Path) -> Path:
    """Return the folder for packages that the surrounding repository configures, or `start`."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file() and "ask-tools" in (text := read(path)):
            setting = parse_toml(path, text).get("tool", {}).get("ask-tools", {}).get("packages")
            if isinstance(setting, str):
                return folder / setting
        if (folder / ".git").exists():
            break
    return start


def _package_values(tool: Tool, author: str, url: str | None, license: str, *, ci: bool) -> dict[str, str]:  # noqa: A002
    """Return the texts for the placeholders in files of the package."""
    address = _with_address(author)
    name = address[1] if address else author
    has_license = license != "none"
    return {
        "author": name,
        "authors": f"{{ name = {json_text(name)}{f', email = {json_text(address[2])}' if address else ''} }}",
        "description_toml": json_text(tool.values["description"]),
        "entry_points": "\n".join(f'{key} = "{reference}"' for key, reference in tool.entry_points.items()),
        "license_toml": f'license = "{license}"\nlicense-files = ["LICENSE"]\n' if has_license else "",
        "license_readme": f"{license}, see [LICENSE](LICENSE)." if has_license else "All rights reserved.",
        # The package index rejects a distribution with this classifier.
        "private": "" if has_license else '  "Private :: Do Not Upload",\n',
        "releases": RELEASES if ci else "",
        "urls": f"\n[project.urls]\nHomepage = {json_text(url)}\n" if url else "",
        "year": str(time.localtime().tm_year),
    }
