"""`ask-tools new`: generate a package with one tool."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

from tools_scaffold._names import package_names
from tools_scaffold._plan import Plan, add_options, run, tool_options
from tools_scaffold._project import parse_toml, read
from tools_scaffold._text import ScaffoldError, check_line, quote, show
from tools_scaffold._tool import Tool, ToolOptions, make_tool, render

if TYPE_CHECKING:
    import argparse
    from os import PathLike

EPILOG = """\
examples:
  ask-tools new weather
  ask-tools new weather --params 'city:str "Name of the city", days:int=3, units:C|F' --dry-run
  ask-tools new tides --style toolset --license Apache-2.0
"""
# The sources of the generated files, in the folder `template`.
PACKAGE = {
    ".gitignore": "gitignore",
    "CHANGELOG.md": "CHANGELOG.md.tmpl",
    "README.md": "README.md.tmpl",
    "pyproject.toml": "pyproject.toml.tmpl",
    "src/$package/__init__.py": "__init__.py.tmpl",
    "src/$package/py.typed": "py.typed",
    "tests/test_contract.py": "test_contract.py.tmpl",
}
# For a package that is the root of its repository.
REPOSITORY = {
    ".github/dependabot.yml": "dependabot.yml",
    ".github/workflows/ci.yml": "ci.yml",
    ".github/workflows/publish.yml": "publish.yml",
    ".pre-commit-config.yaml": "pre-commit-config.yaml",
    "docs/publish.md": "publish.md.tmpl",
}
LICENSES = ("MIT", "Apache-2.0", "BSD-3-Clause", "GPL-3.0-or-later", "ISC", "MPL-2.0")
RELEASES = """
The workflows for GitHub install tools-core from the package index, so they work once it is published. To release a
version, see [docs/publish.md](docs/publish.md).
"""

_with_address = re.compile(r"(.*\S)\s*<([^<>@\s]+@[^<>@\s]+)>").fullmatch
# Omits a user name, password or token before the host.
_remote = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^/@]*@)?|[^/@:]+@)([A-Za-z0-9.-]+)(?::\d+)?[/:]([\w./~-]+?)(?:\.git)?/?"
).fullmatch
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
    """Plan a package with a tool called `name`; `Plan.write()` writes it.

    The folder of the package is created in `into`: by default the folder that the repository configures with
    `[tool.ask-tools] packages = "..."`, or the current one. `author` is `Name` or `Name <address>`; author and `url`
    default to git's settings. `license` is an SPDX identifier or `none`. The package gets workflows for GitHub,
    unless it is inside a git repository or `ci` is false.

    Raises:
        ScaffoldError: the name, an option or the folder is invalid.
    """
    tool = make_tool(package_names(name), options)
    here = Path.cwd()
    parent = _packages_folder(here) if into is None else Path(into).resolve()
    if into is not None and not parent.is_dir():
        raise ScaffoldError(f"{show(into)} is not a folder")
    note = "" if into is not None or parent == here else " (set in pyproject.toml; --dir writes elsewhere)"
    folder = parent / tool.names.distribution
    if folder.exists() or folder.is_symlink():
        raise ScaffoldError(f"{show(folder)} exists; choose another name or --dir")
    git = _read_git_config(parent)
    author = author or git.author or f"The {tool.names.distribution} authors"
    check_line("author", author)
    url = url or git.url
    if url is not None and not _is_url(url):
        raise ScaffoldError(f"--url {show(url)} is not an address such as https://example.org/tools-weather")
    if license not in (*LICENSES, "none"):
        raise ScaffoldError(f"--license {show(license)} is not one of {', '.join(LICENSES)}, none")
    ci = ci and not any((ancestor / ".git").exists() for ancestor in (parent, *parent.parents))
    values = tool.values | _package_values(tool, author, url, license, ci=ci)
    sources = PACKAGE | (REPOSITORY if ci else {})
    if license != "none":
        sources |= {"LICENSE": f"licenses/{license}.tmpl"}
    return Plan(tool, folder, dict(sorted((render(sources, values) | tool.files).items())), note)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `ask-tools new` to `parser`, and the function that runs it."""
    parser.description = "Generate a package with a tool, tests, configuration and workflows for GitHub."
    parser.epilog = EPILOG
    add_options(parser)
    parser.add_argument("--author", help='such as "Ada <ada@example.org>" (default: from git)')
    parser.add_argument("--url", help="web address of the code (default: from git)")
    parser.add_argument("--license", choices=[*LICENSES, "none"], default="MIT", help="(default: MIT)")
    parser.add_argument("--no-ci", action="store_true", help="leave out the workflows for GitHub")
    parser.add_argument("--dir", help="where to create the folder (default: here, or as the repository configures)")
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
    """Return the folder that the repository around `start` configures for packages, or `start`."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file() and "ask-tools" in (text := read(path)):
            setting = parse_toml(path, text).get("tool", {}).get("ask-tools", {}).get("packages")
            if isinstance(setting, str):
                return folder / setting
        if (folder / ".git").exists():
            break
    return start


def _package_values(tool: Tool, author: str, url: str | None, license: str, *, ci: bool) -> dict[str, str]:  # noqa: A002  (the name of the option)
    """Return the text for each placeholder in the files of the package."""
    address = _with_address(author)
    name = address[1] if address else author
    has_license = license != "none"
    return {
        "author": name,
        "authors": f"{{ name = {quote(name)}{f', email = {quote(address[2])}' if address else ''} }}",
        "description_toml": quote(tool.values["description"]),
        "entry_points": "\n".join(f'{key} = "{reference}"' for key, reference in tool.entry_points.items()),
        "license_toml": f'license = "{license}"\nlicense-files = ["LICENSE"]\n' if has_license else "",
        "license_readme": f"{license}, see [LICENSE](LICENSE)." if has_license else "All rights reserved.",
        # The package index rejects a distribution with this classifier.
        "private": "" if has_license else '  "Private :: Do Not Upload",\n',
        "releases": RELEASES if ci else "",
        "urls": f"\n[project.urls]\nHomepage = {quote(url)}\n" if url else "",
        "year": str(time.localtime().tm_year),
    }


class _GitConfig(NamedTuple):
    author: str | None = None  # `Name <address>` or `Name`
    url: str | None = None  # the web address of the repository


def _read_git_config(folder: Path) -> _GitConfig:
    """Read git's settings for `folder`; they are empty without git."""
    command = ["git", "config", "--get-regexp", r"^(user\.(name|email)|remote\.origin\.url)$"]
    try:
        process = subprocess.run(command, cwd=folder, capture_output=True, timeout=5, check=True)
        lines = process.stdout.decode("utf-8").splitlines()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return _GitConfig()
    values = dict(line.split(" ", 1) for line in lines if " " in line)
    name, email = values.get("user.name"), values.get("user.email")
    author = f"{name} <{email}>" if name and email else name
    remote = _remote(values.get("remote.origin.url", ""))
    return _GitConfig(author, f"https://{remote[1]}/{remote[2]}" if remote else None)
